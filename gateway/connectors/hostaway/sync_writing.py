"""Writes what upstream gave: what is stored stays if it is newer, and is not touched if it is the same."""

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
    """`refused`: what is no object with an id. `older`: what is stored is newer, and stays."""

    stored: int = 0
    older: int = 0
    refused: int = 0


def save_newer(mapped: Mapped, objects: Iterable[Any]) -> Written:
    """Stores the objects in one transaction, of each id the one that was changed last."""
    given = list(objects)
    readable = [each for each in given if _has_id(each)]
    now = timezone.now()
    with transaction.atomic():
        store.take_turns()  # from the look at what is stored on
        standing = _standing(mapped, [int(each["id"]) for each in readable])
        rows: dict[int, UpstreamObject] = {}
        older = 0
        for each in readable:
            row = store.row_of(mapped, each)
            before = rows.get(row.id) or standing.get(row.id)
            if before is not None and _is_older(row, before):
                older += 1
            elif before is None or not _is_same(row, before):
                row.seen_at = now
                rows[row.id] = row
        if rows:
            store.write(mapped.model, list(rows.values()))
        unchanged = standing.keys() - rows.keys()
        mapped.model._default_manager.filter(id__in=unchanged).update(seen_at=now)
    return Written(len(rows), older, len(given) - len(readable))


def note_seen(mapped: Mapped, ids: Iterable[int]) -> None:
    """Upstream has these; what is stored of them stays as it is."""
    mapped.model._default_manager.filter(id__in=list(ids)).update(seen_at=timezone.now())


def remove(mapped: Mapped, ids: Iterable[int]) -> int:
    """Removes what upstream does not have any more; returns how many rows."""
    with transaction.atomic():
        store.take_turns()
        removed, _ = mapped.model._default_manager.filter(id__in=list(ids)).delete()
        if removed:
            contents_changed()
    return removed


def not_seen_since(mapped: Mapped, moment: datetime, margin: timedelta, most: int) -> list[int]:
    """Ids of rows that upstream was not known to have at `moment`, nor shortly before it: clocks differ."""
    rows = mapped.model._default_manager.filter(seen_at__lt=moment - margin).order_by("id")
    return list(rows.values_list("id", flat=True)[:most])


def _has_id(each: Any) -> bool:
    if not isinstance(each, Mapping):
        return False
    identifier = each.get("id")
    if isinstance(identifier, str) and identifier.isascii() and identifier.isdigit():
        identifier = int(identifier[:20])
    return isinstance(identifier, int) and not isinstance(identifier, bool) and 0 < identifier <= LARGEST_ID


def _standing(mapped: Mapped, ids: list[int]) -> dict[int, UpstreamObject]:
    rows = mapped.model._default_manager.filter(id__in=ids).only("id", "updated_on", "data", "sealed")
    return {row.id: row for row in rows}


def _is_same(row: UpstreamObject, before: UpstreamObject) -> bool:
    """The same value is sealed differently each time."""
    return row.data == before.data and originals.opened(row.sealed) == originals.opened(before.sealed)


def _is_older(row: UpstreamObject, before: UpstreamObject) -> bool:
    """What does not say when it was changed is as new as it was given."""
    return row.updated_on is not None and before.updated_on is not None and row.updated_on < before.updated_on
