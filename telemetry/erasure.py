"""Deletes the telemetry of a caller, or what telemetry mentions of somebody."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction

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


def forget_mentions(is_mention: Callable[[str], bool]) -> Forgotten:
    """Deletes the arguments for whose text `is_mention` is true. Clears the error message and argument names of calls
    with a mention there; their figures stay. Reads every stored text, because a database compares letters beyond
    ASCII by rules of its own."""
    arguments = CallArguments.objects.iterator(chunk_size=500)
    found = [each.pk for each in arguments if is_mention(_written(each))]
    for some in _batches(found):
        CallArguments.objects.filter(pk__in=some).delete()
    records = _with_mention(is_mention)
    for some in _batches(records):
        TelemetryRecord.objects.filter(pk__in=some).update(error_message="", argument_names="")
    return Forgotten(len(records), len(found))


def _written(row: CallArguments) -> str:
    return f"{json.dumps([row.names, row.values, row.hidden], ensure_ascii=False)} {row.answer}"


def _with_mention(is_mention: Callable[[str], bool]) -> list[int]:
    texts = TelemetryRecord.objects.exclude(error_message="", argument_names="").order_by()
    rows = texts.values_list("pk", "error_message", "argument_names").iterator(chunk_size=BATCH)
    return [pk for pk, message, names in rows if is_mention(message) or is_mention(names)]


def _batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    return (numbers[start : start + BATCH] for start in range(0, len(numbers), BATCH))
