"""One INFO line for each response that was reduced, with its size before and after (FR-030, O1)."""

import logging

from telemetry import log_lines
from telemetry.measurement import Measurement

logger = logging.getLogger(__name__)


def log_decision(call: Measurement) -> None:
    """Logs a response only if it is oversized, paginated, summarized or chunked."""
    if not logger.isEnabledFor(logging.INFO):
        return
    if call.oversized:
        log_lines.info(logger, "oversized answer reduced", _fields(call))
    elif call.pagination_used or call.summarization_used or call.chunking_used:
        log_lines.info(logger, f"answer {call.outcome}", _fields(call))


def _fields(call: Measurement) -> dict[str, object]:
    return {
        "request_id": call.request_id,
        **({"trace_id": call.trace_id} if call.trace_id else {}),
        "caller": call.caller,
        "transport": str(call.transport),
        "operation": call.operation,
        "outcome": str(call.outcome),
        "oversized": call.oversized,
        "items": call.item_count,
        "bytes": call.response_bytes,
        "original_tokens": call.original_tokens,
        "final_tokens": call.estimated_tokens,
        "reduction_percent": round(100 * call.reduction, 1),
        "threshold": call.threshold,
    }
