"""Stores upstream's objects. A stored row stays if it is newer, and is not rewritten if it is the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from context_protection.configuration.revisions import contents_changed
from gateway.connectors.hostaway import originals, store
from gateway.connectors.hostaway.models import UpstreamObject
from gateway.connectors.hostaway.store import Mapped

LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Written:
    """Numbers of objects. `refused`: without a usable id. `older`: their stored row is newer, and stays."""

    stored: int = 0
    older: int = 0
    refused: int = 0


def save_newer(mapped: Mapped, objects: Iterable[Any]) -> Written:
    """Stores the objects in one transaction. Of several with the same id, the last changed one is stored."""
    given = list(objects)
    readable = [each for each in given if _has_id(each)]
    now = timezone.now()
    with transaction.atomic():
        store.take_turns()  # before the comparison, so that the stored rows do not change after it
        existing = _existing(mapped, [int(each["id"]) for each in readable])
        rows: dict[int, UpstreamObject] = {}
        older = 0
        for each in readable:
            row = store.row_of(mapped, each)
            before = rows.get(row.id) or existing.get(row.id)
            if before is not None and _is_older(row, before):
                older += 1
            elif before is None or not _is_same(row, before):
                row.seen_at = now
                rows[row.id] = row
        if rows:
            store.write(mapped.model, list(rows.values()))
        unchanged = existing.keys() - rows.keys()
        mapped.model._default_manager.filter(id__in=unchanged).update(seen_at=now)
    return Written(len(rows), older, len(given) - len(readable))


def note_seen(mapped: Mapped, ids: Iterable[int]) -> None:
    """Notes that upstream still has these rows; nothing else of them changes."""
    mapped.model._default_manager.filter(id__in=list(ids)).update(seen_at=timezone.now())


def remove(mapped: Mapped, ids: Iterable[int]) -> int:
    """Removes rows that upstream no longer has; returns how many."""
    with transaction.atomic():
        store.take_turns()
        removed, _ = mapped.model._default_manager.filter(id__in=list(ids)).delete()
        if removed:
            contents_changed()
    return removed


def not_seen_since(mapped: Mapped, moment: datetime, margin: timedelta, most: int) -> list[int]:
    """The first `most` ids of rows that were last seen before `moment`, less a margin for differing clocks."""
    rows = mapped.model._default_manager.filter(seen_at__lt=moment - margin).order_by("id")
    return list(rows.values_list("id", flat=True)[:most])


def _has_id(each: Any) -> bool:
    if not isinstance(each, Mapping):
        return False
    identifier = each.get("id")
    if isinstance(identifier, str) and identifier.isascii() and identifier.isdigit():
        identifier = int(identifier[:20])
    return isinstance(identifier, int) and not isinstance(identifier, bool) and 0 < identifier <= LARGEST_ID


def _existing(mapped: Mapped, ids: list[int]) -> dict[int, UpstreamObject]:
    rows = mapped.model._default_manager.filter(id__in=ids).only("id", "updated_on", "data", "sealed")
    return {row.id: row for row in rows}


def _is_same(row: UpstreamObject, before: UpstreamObject) -> bool:
    """Compares opened values, as sealing a value twice gives different texts."""
    return row.data == before.data and originals.opened(row.sealed) == originals.opened(before.sealed)


def _is_older(row: UpstreamObject, before: UpstreamObject) -> bool:
    """An object without a time of change is not older."""
    return row.updated_on is not None and before.updated_on is not None and row.updated_on < before.updated_on
