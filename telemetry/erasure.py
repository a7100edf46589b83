"""Deletes the telemetry of a caller, or removes a text from all telemetry."""

import json
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from telemetry.models import CallArguments, Rollup, TelemetryRecord
from telemetry.rollups import marks

BATCH = 5_000  # rows per transaction


@dataclass(frozen=True, slots=True)
class Forgotten:
    """`records`: calls that were deleted, or whose error message and argument names were cleared."""

    records: int
    arguments: int


def forget_caller(name: str) -> Forgotten:
    """Deletes all records, arguments and rollups of a caller. Rollups over all callers are rebuilt for the days whose
    records are still stored."""
    arguments, _ = CallArguments.objects.filter(caller=name).delete()
    records = 0
    while times := _delete_some(name):
        records += len(times)
    Rollup.objects.filter(caller=name).delete()
    return Forgotten(records, arguments)


def _delete_some(caller: str) -> list[object]:
    with transaction.atomic():
        found = list(TelemetryRecord.objects.filter(caller=caller).values_list("pk", "created_at")[:BATCH])
        TelemetryRecord.objects.filter(pk__in=[pk for pk, _ in found]).delete()
        marks.mark(at for _, at in found)
    return list(found)


def forget_text(text: str) -> Forgotten:
    """Deletes all arguments that mention the text in any case. Clears the error message and argument names of calls
    that mention it there; their figures stay."""
    wanted = text.casefold()
    found = [each.pk for each in CallArguments.objects.iterator(chunk_size=500) if wanted in _written(each).casefold()]
    for start in range(0, len(found), BATCH):
        CallArguments.objects.filter(pk__in=found[start : start + BATCH]).delete()
    mentioned = Q(error_message__icontains=text) | Q(argument_names__icontains=text)
    records = TelemetryRecord.objects.filter(mentioned).update(error_message="", argument_names="")
    return Forgotten(records, len(found))


def _written(row: CallArguments) -> str:
    return f"{json.dumps([row.names, row.values, row.hidden], ensure_ascii=False)} {row.answer}"
