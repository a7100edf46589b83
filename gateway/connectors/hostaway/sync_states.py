"""The sync state of each resource: what is due next, and what a run stores for the run that continues it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db import transaction

from gateway.connectors.hostaway import client
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.client import Resource, ResourcePage
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.models import SyncState
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from gateway.upstreams.json_depth import TOO_DEEP

ATTEMPTS = 3  # per page
PAUSE_AFTER_FAILURE = timedelta(hours=1)
PAUSE_WHERE_NOT_AVAILABLE = timedelta(days=1)
OVERLAP = timedelta(minutes=10)  # since clocks differ, and changes become visible late
NOT_AVAILABLE = "not_available"  # error of a resource that this account does not have
MAX_NAMED = 1000  # left-out records that the state of a resource lists
MODE = SyncState.Mode


@dataclass(frozen=True)
class Copied:
    """A resource and its table. `full_every`: the time between two full reads, which detect deleted rows.
    `is_optional`: some accounts do not have it."""

    resource: Resource
    table: FieldTable
    full_every: timedelta = timedelta(days=1)
    is_optional: bool = False

    @property
    def name(self) -> str:
        return self.resource.name

    def age_allowed(self, interval: timedelta) -> timedelta:
        """The maximum age of a copy whose syncs succeed on schedule."""
        return interval if self.resource.changes else max(interval, self.full_every)


COPIED = (
    Copied(client.LISTINGS, LISTINGS),
    Copied(client.RESERVATIONS, BOOKINGS),
    Copied(client.CHARGES, TRANSACTIONS, full_every=timedelta(hours=1), is_optional=True),
)


class Interrupted(Exception):
    """The state no longer exists, as the store was filled with other data during the run."""


def prepare(account_id: str, *, full: bool = False, without_pauses: bool = False) -> None:
    """Creates the states for this account, and removes those of another account. `full`: a full read is due now.
    `without_pauses`: ends the pauses after failures."""
    with transaction.atomic():
        if SyncState.objects.exclude(account=account_id).exists():
            SyncState.objects.all().delete()
        for copied in COPIED:
            SyncState.objects.get_or_create(resource=copied.name, defaults={"account": account_id})
        if full:
            reset = {"full_at": None, "retry_at": None, **begun(MODE.NONE, None)}
            SyncState.objects.all().update(**reset)
        elif without_pauses:
            SyncState.objects.all().update(retry_at=None)


def begun(mode: SyncState.Mode, now: datetime | None) -> dict[str, Any]:
    values = {"mode": mode, "started_at": now, "position": 0, "rows": 0, "refused_rows": 0, "attempts": 0}
    return {**values, "left_out": {}} if mode is MODE.FULL else values  # a full read finds left-out records again


def left_out(before: Mapping[str, str], page: ResourcePage) -> dict[str, str]:
    """The left-out records after a page: those of the page, and those of `before` that are not among its readable rows.
    At most MAX_NAMED; the log has all."""
    readable = {str(row.get("id")) for row in page.rows if isinstance(row, Mapping)}
    still = {identifier: why for identifier, why in before.items() if identifier not in readable}
    return dict(islice((still | {str(each): TOO_DEEP for each in page.too_deep}).items(), MAX_NAMED))


def due(copied: Copied, state: SyncState, now: datetime) -> SyncState.Mode:
    """The mode of the current run, or of the run that is due; NONE if none is."""
    if state.mode:
        return SyncState.Mode(state.mode)
    if state.full_at is None or now - state.full_at >= copied.full_every:
        return MODE.FULL
    return MODE.CHANGES if copied.resource.changes else MODE.NONE


def ended(copied: Copied, state: SyncState, total: int | None) -> dict[str, Any]:
    """The values to save after the last page. Only a run that read all rows can detect deleted ones. If rows cannot be
    requested one by one, a row counts as deleted when two full reads have missed it."""
    values = {**begun(MODE.NONE, None), "refused_rows": state.refused_rows, "as_of": state.started_at}
    if state.mode == MODE.FULL:
        is_whole = total is not None and state.rows >= total
        since = state.started_at if copied.resource.one_by_one else state.full_at
        values |= {"full_at": state.started_at, "gone_before": since if is_whole else None}
    return values


def save(state: SyncState, **values: Any) -> None:
    """Raises Interrupted if the state no longer exists."""
    if not SyncState.objects.filter(pk=state.pk, account=state.account).update(**values):
        raise Interrupted
    for name, value in values.items():
        setattr(state, name, value)
