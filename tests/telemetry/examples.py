"""Calls to test with."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from telemetry.measurement import Measurement
from telemetry.storage import store

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

PLAIN = Measurement.with_defaults(
    request_id="req-1",
    operation="list_bookings",
    endpoint="/api/v1/bookings",
    transport="rest",
    caller="ops-bot",
    at=NOON,
    latency_ms=12.5,
    estimated_tokens=900,
    claude_tokens=1000,
    original_tokens=900,
    threshold=4000,
    response_bytes=3000,
    item_count=10,
    outcome="plain",
    pagination_used=False,
    summarization_used=False,
    chunking_used=False,
    kind="list",
)


def a_call(**changes: Any) -> Measurement:
    call = PLAIN._replace(**{"baseline_tokens": changes.get("original_tokens", PLAIN.original_tokens), **changes})
    return call._replace(oversized=changes.get("oversized", call.original_tokens > call.threshold))


def a_summary(**changes: Any) -> Measurement:
    """A booking of 6,000 tokens, sent as a preview of 2,400."""
    reduced = {
        "operation": "get_booking",
        "kind": "record",
        "outcome": "summarized",
        "summarization_used": True,
        "original_tokens": 6000,
        "estimated_tokens": 2400,
    }
    return a_call(**(reduced | changes))


def stored(*calls: Measurement) -> None:
    store(calls)


def calls_of_all_sorts(count: int, *, seed: int = 7, span: timedelta = timedelta(hours=6)) -> Iterator[Measurement]:
    """Calls of every outcome and transport, at any time in the `span` before noon."""
    chance = random.Random(seed)
    for n in range(count):
        outcome = chance.choice(("plain", "paginated", "summarized", "chunked", "error"))
        estimated = chance.randrange(0, 5000)
        yield a_call(
            request_id=f"req-{n}",
            operation=chance.choice(("list_bookings", "get_booking", "read_document")),
            transport=chance.choice(("rest", "websocket", "http", "stdio")),
            at=NOON - chance.random() * span,
            latency_ms=chance.lognormvariate(3, 1),
            estimated_tokens=estimated,
            claude_tokens=chance.choice((0, int(estimated * chance.uniform(0.7, 1.5)))),
            original_tokens=chance.randrange(0, 12_000),
            baseline_tokens=chance.choice((0, chance.randrange(0, 12_000))),
            response_bytes=chance.randrange(0, 20_000),
            outcome=outcome,
            kind=chance.choice(("list", "record", "text")),
            pagination_used=outcome == "paginated",
            summarization_used=outcome == "summarized",
            chunking_used=outcome == "chunked",
            error_reason=chance.choice(("upstream_timeout", "not_found")) if outcome == "error" else "",
            origin=chance.choice(("upstream", "caller", "sluice", "policy")) if outcome == "error" else "",
            caller=chance.choice(("ops-bot", "desk")),
            client=chance.choice(("claude-code", "claude-desktop", "curl")),
            revision=chance.choice(("r1", "r2")),
            is_cached=chance.random() < 0.2,
            upstream=(upstream := chance.choice(("", "acme", "hostaway"))),
            upstream_status=chance.choice((200, 503, 0)) if upstream else 0,
            upstream_ms=chance.lognormvariate(2, 1) if upstream else 0.0,
            attempts=chance.randrange(1, 4) if upstream else 0,
        )
