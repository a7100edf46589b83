"""Records each call in telemetry: its figures if it was answered, its reason if it failed."""

from datetime import UTC, datetime
from typing import Any

from context_protection.core.errors import CallError
from context_protection.core.withheld import Counts
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.dispatch.call import Call
from gateway.dispatch.response_cache import Kept
from telemetry import recorder
from telemetry.calls import WithheldCount


def record(call: Call, operation: Operation, response: Kept) -> None:
    envelope = response.envelope
    _record(
        call,
        operation,
        threshold=response.threshold,
        estimated_tokens=envelope.estimated_tokens,
        claude_tokens=envelope.claude_tokens,
        original_tokens=envelope.original_tokens,
        baseline_tokens=envelope.baseline,
        response_bytes=len(envelope.body),
        item_count=envelope.items,
        outcome=envelope.outcome,
        pagination_used=envelope.paginated,
        summarization_used=envelope.summarized,
        chunking_used=envelope.chunked,
        oversized=envelope.oversized,
        missing_fields=", ".join(envelope.missing_fields),
        withheld=_counts(envelope.withheld),
    )


def record_error(call: Call, error: CallError) -> None:
    """Records a failed call, or one that its transport rejected before dispatching it. Does not block or raise."""
    _record(call, catalogue.find(call.operation), outcome="error", error_reason=error.reason)


def record_cancelled(call: Call) -> None:
    _record(call, catalogue.find(call.operation), outcome="error", error_reason="cancelled")


def _counts(found: Counts) -> tuple[WithheldCount, ...]:
    return tuple(WithheldCount(each.path, each.kind, each.how, count) for each, count in found.items()) if found else ()


def _record(call: Call, operation: Operation | None, **figures: Any) -> None:
    recorder.record(
        recorder.Call(
            request_id=call.id,
            operation=operation.name if operation else "(unknown)",
            endpoint=operation.endpoint if operation else "",
            kind=operation.kind if operation else "",
            door=call.transport,
            caller=call.caller.name,
            at=datetime.now(UTC),
            latency_ms=call.milliseconds,
            **figures,
        )
    )
