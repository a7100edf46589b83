"""The recorded calls of a tool that a preview can answer again: those whose snapshot or arguments are still stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from context_protection.core.cursors import Snapshot
from context_protection.core.errors import StoreUnavailable
from gateway.argument_masks import masked
from gateway.catalog.operation import Operation
from gateway.replay import caller_for_staff
from gateway.staff.preview import sources
from gateway.staff.preview.answers import PreviewSource
from telemetry.measurement import CallOutcome, Measurement
from telemetry.models import CallArguments, TelemetryRecord
from telemetry.queries import Selection, Span, select

MONTH = timedelta(days=30)
NEWEST = 60  # calls that are read
OFFERED = 12
CURSOR = "cursor"


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that can be answered again. `shown`: its arguments, masked; empty if they may not be seen.
    `needs_upstream`: answering it reads from the upstream again."""

    request_id: str
    at: datetime
    caller: str
    names: tuple[str, ...]
    arguments: Mapping[str, Any] = field(repr=False)
    shown: Mapping[str, Any]
    snapshot: Snapshot | None
    needs_upstream: bool


def recorded_calls(operation: Operation, *, may_see_values: bool) -> Sequence[RecordedCall]:
    """The newest calls of the tool that can be answered again, newest first."""
    now = timezone.now()
    calls = select(Span.of(now - MONTH, now), Selection().and_also(tool=operation.name))
    records = calls.exclude(outcome=CallOutcome.ERROR).order_by("-created_at", "-pk")[:NEWEST]
    measured = [record.measurement for record in records if CURSOR not in _names(record.measurement)]
    kept = _kept([each.request_id for each in measured])
    found = [call for each in measured if (call := _call(operation, each, kept, may_see_values=may_see_values))]
    return _distinct(found)[:OFFERED]


def recorded_call(operation: Operation, request_id: str, *, may_see_values: bool) -> RecordedCall | None:
    """The newest call of the tool with this id, if it can be answered again."""
    record = TelemetryRecord.objects.filter(request_id=request_id, operation=operation.name).order_by("-pk").first()
    if record is None or CURSOR in _names(record.measurement):
        return None
    return _call(operation, record.measurement, _kept([request_id]), may_see_values=may_see_values)


def source_of(operation: Operation, call: RecordedCall) -> PreviewSource | None:
    """The call's data; None if it is no longer stored. Blocks; reads from the upstream if that is needed. Raises
    CallError."""
    caller = caller_for_staff(call.caller)
    if operation.is_async and call.snapshot is not None:
        return sources.from_snapshot(operation, call.snapshot, caller)
    return sources.read_again(operation, call.arguments, caller)


def _call(
    operation: Operation, call: Measurement, kept: Mapping[str, Mapping[str, Any]], *, may_see_values: bool
) -> RecordedCall | None:
    snapshot = _snapshot(call.chain)
    arguments = kept.get(call.request_id, None if call.argument_names else {})
    if arguments is None and snapshot is not None:
        arguments = sources.given_in(snapshot, operation)
    if arguments is None:
        return None
    return RecordedCall(
        request_id=call.request_id,
        at=call.at,
        caller=call.caller,
        names=_names(call),
        arguments=arguments,
        shown=masked(operation.name, arguments).value if may_see_values else {},
        snapshot=snapshot,
        needs_upstream=operation.is_async and snapshot is None,
    )


def _snapshot(chain: str) -> Snapshot | None:
    try:
        return sources.snapshot_behind(chain)
    except StoreUnavailable:
        return None


def _names(call: Measurement) -> tuple[str, ...]:
    return tuple(name for name in call.argument_names.replace(" ", "").split(",") if name)


def _kept(request_ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """The stored arguments by request id, without those that have a masked value: these would make another call."""
    rows = CallArguments.objects.filter(request_id__in=request_ids).values_list("request_id", "values", "hidden")
    return {request_id: values for request_id, values, hidden in rows if isinstance(values, dict) and not hidden}


def _distinct(calls: Sequence[RecordedCall]) -> list[RecordedCall]:
    """Only the newest of equal calls."""
    seen: dict[str, RecordedCall] = {}
    for call in calls:
        seen.setdefault(f"{call.caller} {dict(sorted(call.arguments.items()))!r}", call)
    return list(seen.values())
