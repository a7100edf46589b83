"""Stores upstream's objects, but does not overwrite stored rows that are newer or the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from context_protection.configuration.revisions import contents_changed
from gateway.connectors.hostaway import originals, store
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.models import UpstreamObject

LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SaveCounts:
    """Numbers of objects. `refused`: without a usable id. `older`: not stored, as the stored row is newer."""

    stored: int = 0
    older: int = 0
    refused: int = 0


def save_newer(table: FieldTable, objects: Iterable[Any]) -> SaveCounts:
    """Stores the objects in one transaction. If several have the same id, the last changed one is stored."""
    given = list(objects)
    readable = [each for each in given if _has_id(each)]
    now = timezone.now()
    with transaction.atomic():
        store.take_turns()  # before the comparison, so that the stored rows do not change after it
        existing = _existing(table, [int(each["id"]) for each in readable])
        rows: dict[int, UpstreamObject] = {}
        older = 0
        for each in readable:
            row = store.row_of(table, each)
            before = rows.get(row.id) or existing.get(row.id)
            if before is not None and _is_older(row, before):
                older += 1
            elif before is None or not _is_same(table, row, before):
                row.seen_at = now
                rows[row.id] = row
        if rows:
            store.write(table.model, list(rows.values()))
        unchanged = existing.keys() - rows.keys()
        table.model._default_manager.filter(id__in=unchanged).update(seen_at=now)
    return SaveCounts(len(rows), older, len(given) - len(readable))


def note_seen(table: FieldTable, ids: Iterable[int]) -> None:
    """Records that upstream still has these rows, and changes nothing else."""
    table.model._default_manager.filter(id__in=list(ids)).update(seen_at=timezone.now())


def remove(table: FieldTable, ids: Iterable[int]) -> int:
    """Removes rows that upstream no longer has; returns how many."""
    with transaction.atomic():
        store.take_turns()
        removed, _ = table.model._default_manager.filter(id__in=list(ids)).delete()
        if removed:
            contents_changed()
    return removed


def not_seen_since(table: FieldTable, moment: datetime, margin: timedelta, most: int) -> list[int]:
    """The first `most` ids of rows that were last seen before `moment`, minus a margin for clock differences."""
    rows = table.model._default_manager.filter(seen_at__lt=moment - margin).order_by("id")
    return list(rows.values_list("id", flat=True)[:most])


def _has_id(each: Any) -> bool:
    if not isinstance(each, Mapping):
        return False
    identifier = each.get("id")
    if isinstance(identifier, str) and identifier.isascii() and identifier.isdigit():
        identifier = int(identifier[:20])
    return isinstance(identifier, int) and not isinstance(identifier, bool) and 0 < identifier <= LARGEST_ID


def _existing(table: FieldTable, ids: list[int]) -> dict[int, UpstreamObject]:
    columns = ("id", "updated_on", "data", "sealed", *table.own_columns)
    rows = table.model._default_manager.filter(id__in=ids).only(*columns)
    return {row.id: row for row in rows}


def _is_same(table: FieldTable, row: UpstreamObject, before: UpstreamObject) -> bool:
    """Compares unsealed values, as sealing a value twice gives different ciphertexts. A column added since the row was
    stored makes it differ, so that the next full sync fills the column."""
    return (
        row.data == before.data
        and all(getattr(row, column) == getattr(before, column) for column in table.own_columns)
        and originals.opened(row.sealed) == originals.opened(before.sealed)
    )


def _is_older(row: UpstreamObject, before: UpstreamObject) -> bool:
    """False if either of them has no change time."""
    return row.updated_on is not None and before.updated_on is not None and row.updated_on < before.updated_on
