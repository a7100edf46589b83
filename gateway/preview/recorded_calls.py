"""The recorded calls of a tool that a preview can answer again: those whose snapshot or arguments are still stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from context_protection.core.errors import StoreUnavailable
from gateway.catalog.operation import Operation
from gateway.preview import sources
from gateway.preview.answers import PreviewSource
from gateway.replay import caller_for_staff
from telemetry.measurement import CallOutcome, Measurement
from telemetry.models import CallArguments, TelemetryRecord
from telemetry.queries import Selection, Span, select

MONTH = timedelta(days=30)
LOOKED_AT = 60  # newest calls
OFFERED = 12
CURSOR = "cursor"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that can be answered again. `arguments`: None if only its snapshot is known. `needs_upstream`: answering
    it reads from the upstream again."""

    request_id: str
    at: datetime
    caller: str
    names: tuple[str, ...]
    arguments: Mapping[str, Any] | None
    chain: str
    needs_upstream: bool


def recorded_calls(operation: Operation, *, may_see_values: bool) -> Sequence[RecordedCall]:
    """The newest ones, the newest first. Without `may_see_values`, kept arguments are not read."""
    now = timezone.now()
    calls = select(Span.of(now - MONTH, now), Selection().and_also(tool=operation.name))
    records = calls.exclude(outcome=CallOutcome.ERROR).order_by("-created_at", "-pk")[:LOOKED_AT]
    measured = [record.measurement for record in records if CURSOR not in _names(record.measurement)]
    kept = _kept([each.request_id for each in measured]) if may_see_values else {}
    found = [call for each in measured if (call := _call(operation, each, kept)) is not None]
    return _distinct(found)[:OFFERED]


def recorded_call(operation: Operation, request_id: str, *, may_see_values: bool) -> RecordedCall | None:
    """The newest call of the tool with this id, if it can be answered again."""
    record = TelemetryRecord.objects.filter(request_id=request_id, operation=operation.name).order_by("-pk").first()
    if record is None or CURSOR in _names(record.measurement):
        return None
    return _call(operation, record.measurement, _kept([request_id]) if may_see_values else {})


def source_of(operation: Operation, call: RecordedCall) -> PreviewSource | None:
    """The call's data; None if it is not stored any more. Blocks; reads from the upstream if that is needed. Raises
    CallError."""
    caller = caller_for_staff(call.caller)
    snapshot = sources.snapshot_behind(call.chain)
    if operation.is_async and snapshot is not None and (found := sources.from_snapshot(operation, snapshot, caller)):
        return found
    arguments = call.arguments
    if arguments is None and snapshot is not None:
        arguments = sources.given_in(snapshot, operation)
    return None if arguments is None else sources.read_again(operation, arguments, caller)


def _call(operation: Operation, call: Measurement, kept: Mapping[str, Mapping[str, Any]]) -> RecordedCall | None:
    arguments = kept.get(call.request_id, {} if not call.argument_names else None)
    is_stored = _is_stored(call.chain)
    if arguments is None and not is_stored:
        return None
    return RecordedCall(
        request_id=call.request_id,
        at=call.at,
        caller=call.caller,
        names=_names(call),
        arguments=arguments,
        chain=call.chain,
        needs_upstream=operation.is_async and not is_stored,
    )


def _is_stored(chain: str) -> bool:
    try:
        return sources.snapshot_behind(chain) is not None
    except StoreUnavailable:
        return False


def _names(call: Measurement) -> tuple[str, ...]:
    return tuple(name for name in call.argument_names.replace(" ", "").split(",") if name)


def _kept(request_ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The stored arguments by request id, without those that have a masked value: they would be another call."""
    rows = CallArguments.objects.filter(request_id__in=request_ids).values_list("request_id", "values", "hidden")
    return {request_id: values for request_id, values, hidden in rows if isinstance(values, dict) and not hidden}


def _distinct(calls: Sequence[RecordedCall]) -> list[RecordedCall]:
    """One of equal calls: the newest."""
    seen: dict[str, RecordedCall] = {}
    for call in calls:
        seen.setdefault(f"{call.caller} {call.arguments!r} {call.chain if call.arguments is None else ''}", call)
    return list(seen.values())
