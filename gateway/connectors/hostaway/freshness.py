"""How fresh the stored copy of the account is. Calls read this from a cache in the process, which is reloaded after
each sync run and any other change of the contents."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from context_protection.configuration.live import Live
from context_protection.configuration.revisions import contents
from context_protection.orm.querysets import ColumnRows
from gateway.connectors.hostaway import live
from gateway.connectors.hostaway.models import SyncState, UpstreamObject
from gateway.connectors.hostaway.sync_states import COPIED, NOT_AVAILABLE, Copied

STALE_AFTER = 3  # multiples of the allowed age


@dataclass(frozen=True)
class Freshness:
    """The freshness of one resource. `as_of`: the time of the upstream data in the copy; None until the copy is
    complete. `error`: why the last attempt failed; empty if it succeeded."""

    resource: str
    as_of: datetime | None
    error: str
    age_allowed: timedelta
    rows: int = 0  # read so far by the current run

    def is_stale(self, now: datetime) -> bool:
        return self.as_of is None or now - self.as_of > STALE_AFTER * self.age_allowed

    def note(self, now: datetime) -> dict[str, Any]:
        """Entries for a response's `meta`."""
        if self.error == NOT_AVAILABLE and self.as_of is None:
            return {"notes": [f"Hostaway does not provide {self.resource} for this account."]}
        as_of = {"asOf": _iso(self.as_of)} if self.as_of else {}
        return {**as_of, "stale": True} if self.is_stale(now) else as_of


def state() -> tuple[Freshness, ...]:
    """The freshness of each resource of the live account; empty for the sample account. Queries the database."""
    states = {each.resource: each for each in SyncState.objects.filter(is_adopted=True)}
    return tuple(_freshness(copied, states[copied.name]) for copied in COPIED if copied.name in states)


def _freshness(copied: Copied, state: SyncState) -> Freshness:
    return Freshness(copied.name, state.as_of, state.error, copied.age_allowed(live.interval()), state.rows)


# -- The cache in the process -----------------------------------------------------------------------


def _by_model() -> Mapping[type[UpstreamObject], Freshness]:
    known = {each.resource: each for each in state()}
    return {copied.table.model: known[copied.name] for copied in COPIED if copied.name in known}


loaded = Live(_by_model, contents)


def note(model: type[UpstreamObject]) -> dict[str, Any]:
    """Entries for `meta`: `asOf`, and `stale` if that time is unknown or too long ago. Instead, a note if Hostaway does
    not provide the data. Empty for the sample account."""
    freshness = loaded.get().get(model)
    return freshness.note(timezone.now()) if freshness else {}


class DatedRows(ColumnRows):
    """Rows of upstream's objects, with a note on their freshness. `notes`: further lines for `meta.notes`."""

    def __init__(self, queryset: QuerySet[Any], *, notes: tuple[str, ...] = (), **options: Any) -> None:
        super().__init__(queryset, **options)
        self.notes = notes

    def note(self) -> Mapping[str, Any]:
        dated = note(self.queryset.model)
        return {**dated, "notes": [*dated.get("notes", ()), *self.notes]} if self.notes else dated


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
