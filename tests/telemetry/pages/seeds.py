"""Calls of one story: acme dies eleven minutes before now, and hostaway goes on."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from telemetry.measurement import Measurement
from tests.telemetry.examples import a_call, stored

DEATH = timedelta(minutes=11)


def an_answer(at: datetime, **changes: Any) -> Measurement:
    known = {
        "operation": "acme_get_order",
        "upstream": "acme",
        "upstream_status": 200,
        "attempts": 1,
        "upstream_ms": 10.0,
        "latency_ms": 12.0,
        "caller": "ci-bot",
        "client": "claude-code",
        "client_version": "2.1.330",
        "protocol": "2025-11-25",
        "transport": "websocket",
    }
    return a_call(at=at, **{**known, **changes})


def a_failure(at: datetime, **changes: Any) -> Measurement:
    known = {
        "outcome": "error",
        "origin": "upstream",
        "error_reason": "upstream_unavailable",
        "error_message": "acme does not accept connections.",
        "upstream_status": 0,
        "attempts": 3,
        "original_tokens": 0,
        "kind": "record",
    }
    return an_answer(at, **{**known, **changes})


def the_story(now: datetime | None = None) -> int:
    """Stores 40 answers of acme, 22 failures, and 30 answers of hostaway within the last hour. Returns their number."""
    calls = list(_story(now or timezone.now()))
    stored(*calls)
    return len(calls)


def _story(now: datetime) -> Iterator[Measurement]:
    for n in range(40):
        yield an_answer(now - DEATH - timedelta(minutes=1, seconds=60 * n), request_id=f"ok-{n}")
    for n in range(22):
        yield a_failure(now - timedelta(seconds=5 + 29 * n), request_id=f"bad-{n}")
    for n in range(30):
        yield an_answer(
            now - timedelta(seconds=3 + 100 * n),
            request_id=f"other-{n}",
            operation="hostaway_list_bookings",
            upstream="hostaway",
            caller="desk",
            client="cursor",
            kind="list",
            page=1 + n % 5,
            pagination_used=True,
            outcome="paginated",
        )
