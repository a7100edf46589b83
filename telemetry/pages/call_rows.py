"""One call as a row: in the list of calls, in the live tail, and among the neighbours of a call."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from telemetry import wording
from telemetry.measurement import CallOutcome, Measurement
from telemetry.pages.address import Address
from telemetry.pages.words import NAMELESS, ORIGINS
from telemetry.states import State

RESULTS = {
    CallOutcome.PLAIN: "whole",
    CallOutcome.PAGINATED: "paged",
    CallOutcome.SUMMARIZED: "summarised",
    CallOutcome.CHUNKED: "chunked",
}


@dataclass(frozen=True, slots=True)
class CallRow:
    """`link`: the page of the call. `tokens`: the tokens sent, preceded by those of the unprotected answer if they
    differ. `message`: the error that a failed call's client got."""

    request_id: str
    link: str
    at: datetime
    time: str
    tool: str
    state: State
    result: str
    origin: str  # the word for it; "" if the call was answered
    took: str
    tokens: str
    key: str
    client: str
    message: str

    @classmethod
    def of(cls, call: Measurement, address: Address) -> "CallRow":
        is_failed = call.outcome == CallOutcome.ERROR
        return cls(
            request_id=call.request_id,
            link=address.to("call", call.request_id) if call.request_id else "",
            at=call.at,
            time=clock_with_seconds(call.at, address.now),
            tool=call.operation or "(none)",
            state=State.DOWN if is_failed else State.OK,
            result=result(call),
            origin=ORIGINS.get(call.origin, "unknown") if is_failed else "",
            took=wording.milliseconds(call.latency_ms),
            tokens=tokens(call),
            key=call.caller or NAMELESS["key"],
            client=call.client,
            message=call.error_message if is_failed else "",
        )


def clock_with_seconds(at: datetime, now: datetime) -> str:
    """14:02:37, or 2026-11-22 14:02:37 if that is not today."""
    local = timezone.localtime(at)
    return f"{local:%H:%M:%S}" if local.date() == timezone.localtime(now).date() else wording.moment(at)


def result(call: Measurement) -> str:
    """The reason why the call failed; else what protection did to the answer."""
    if call.outcome == CallOutcome.ERROR:
        return call.error_reason or "error"
    return "from cache" if call.is_cached else RESULTS.get(CallOutcome(call.outcome), call.outcome)


def tokens(call: Measurement) -> str:
    """18,400 → 1,120, by Claude's count. Without that, the formula's count, marked as such."""
    sent, original = sent_and_original(call)
    by = "" if call.claude_tokens or not sent else " (formula)"
    if call.outcome == CallOutcome.ERROR:
        return f"{wording.whole(sent)} (error)" if sent else wording.NOTHING
    if not call.oversized or original == sent:
        return f"{wording.whole(sent)}{by}"
    return f"{wording.whole(original)} → {wording.whole(sent)}{by}"


def sent_and_original(call: Measurement) -> tuple[int, int]:
    """The tokens of the sent answer and of the unprotected answer, both by the same count."""
    factor = call.claude_factor
    if factor is None:
        return call.estimated_tokens, call.original_tokens
    return call.claude_tokens, round(call.original_tokens * factor)
