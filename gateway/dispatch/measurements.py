"""Records each call in telemetry: its figures if it was answered, the reason if it failed."""

from datetime import UTC, datetime

from context_protection.core.errors import CallError
from context_protection.core.masks import Counts
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.dispatch.call import Call
from gateway.dispatch.response_cache import CachedResponse
from telemetry import recorder
from telemetry.measurement import Measurement, WithheldCount


def record(call: Call, operation: Operation, response: CachedResponse) -> None:
    """Records an answered call. Does not block or raise."""
    envelope = response.envelope
    recorder.record(
        Measurement(
            request_id=call.id,
            at=datetime.now(UTC),
            caller=call.caller.name,
            client="",
            client_version="",
            protocol="",
            arm="",
            revision="",
            trace_id=call.trace_id,
            transport=call.transport,
            operation=operation.name,
            connector="",
            argument_names="",
            endpoint=operation.endpoint,
            kind=operation.kind,
            outcome="error" if envelope.failure else envelope.outcome,
            origin="upstream" if envelope.failure else "",
            error_reason=envelope.failure.reason if envelope.failure else "",
            error_message="",
            is_cached=False,
            latency_ms=call.milliseconds,
            upstream="",
            upstream_status=0,
            attempts=0,
            upstream_ms=0.0,
            response_bytes=len(envelope.body),
            item_count=envelope.items,
            total_rows=0,
            largest_row_tokens=0,
            chain="",
            page=0,
            original_tokens=envelope.original_tokens,
            estimated_tokens=envelope.estimated_tokens,
            claude_tokens=envelope.claude_tokens,
            baseline_tokens=envelope.baseline,
            threshold=response.threshold,
            oversized=envelope.oversized,
            pagination_used=envelope.paginated,
            summarization_used=envelope.summarized,
            chunking_used=envelope.chunked,
            missing_fields=", ".join(envelope.missing_fields),
            withheld=_counts(envelope.withheld),
        )
    )


def record_error(call: Call, error: CallError) -> None:
    """Records a failed call, or one that its transport rejected before dispatching it. Does not block or raise."""
    _record_failure(call, error.reason)


def record_cancelled(call: Call) -> None:
    _record_failure(call, "cancelled")


def _record_failure(call: Call, reason: str) -> None:
    operation = catalogue.find(call.operation)
    recorder.record(
        Measurement.with_defaults(
            request_id=call.id,
            at=datetime.now(UTC),
            caller=call.caller.name,
            transport=call.transport,
            trace_id=call.trace_id,
            operation=operation.name if operation else "(unknown)",
            endpoint=operation.endpoint if operation else "",
            kind=operation.kind if operation else "",
            outcome="error",
            error_reason=reason,
            latency_ms=call.milliseconds,
        )
    )


def _counts(found: Counts) -> tuple[WithheldCount, ...]:
    return tuple(WithheldCount(each.path, each.kind, each.how, count) for each, count in found.items()) if found else ()
