"""Applies the events of Hostaway's webhooks. Stored rows that are newer are not overwritten, so that events may arrive
late, twice, or out of order.

If an event does not contain the whole reservation, the reservation is requested from upstream.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import orjson
from django.utils import timezone

from gateway.connectors.hostaway import leases, sync_writes, values
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.client import RESERVATIONS, HostawayClient, Row
from gateway.connectors.hostaway.models import SyncState, WebhookEvent
from gateway.upstreams.auth.vault import vault
from gateway.upstreams.errors import UpstreamError, UpstreamTooSlow, UpstreamUnavailable

LEASE = "hostaway.webhooks"
AT_ONCE = 200  # events per sweep
ATTEMPTS = 3
RETENTION = timedelta(days=7)
RESERVATION = "reservation."
WHOLE = ("listingMapId", "arrivalDate", "departureDate", "status", "updatedOn")  # every complete reservation has these
UNAVAILABLE = (UpstreamUnavailable, UpstreamTooSlow)
OUTCOME = WebhookEvent.EventOutcome
logger = logging.getLogger(__name__)


def apply_waiting(account_id: str, client: HostawayClient) -> int:
    """Applies up to AT_ONCE waiting events, oldest first; returns how many. Does nothing until the store holds this
    account."""
    if not SyncState.objects.filter(account=account_id, is_adopted=True).exists():
        return 0
    with leases.held(LEASE) as lease, asyncio.Runner() as loop:
        if lease is None:
            return 0
        lookup = ReservationLookup(lambda identifier: loop.run(client.one(RESERVATIONS, identifier)))
        waiting = list(WebhookEvent.objects.filter(outcome=OUTCOME.WAITING).order_by("received_at", "pk")[:AT_ONCE])
        for event in waiting:
            lease.renew()
            _try(event, lookup, account_id)
        return len(waiting)


class ReservationLookup:
    """Requests reservations from upstream within one sweep: each at most once unless upstream refuses it, and none
    after upstream was unavailable or slow."""

    def __init__(self, ask: Callable[[int], Row | None]) -> None:
        self._request = ask
        self._known: dict[int, Row | None] = {}
        self._unavailable: UpstreamError | None = None

    def __call__(self, identifier: int) -> Row | None:
        """None if upstream does not have the reservation. Raises UpstreamError."""
        if self._unavailable is not None:
            raise self._unavailable
        if identifier not in self._known:
            try:
                self._known[identifier] = self._request(identifier)
            except UNAVAILABLE as error:
                self._unavailable = error
                raise
        return self._known[identifier]


def purge() -> int:
    """Removes events that arrived more than RETENTION ago; returns how many."""
    return WebhookEvent.objects.filter(received_at__lt=timezone.now() - RETENTION).delete()[0]


def _try(event: WebhookEvent, lookup: ReservationLookup, account_id: str) -> None:
    """Counts the attempt before it begins, so that an event that kills its worker also counts as failed after ATTEMPTS.
    If upstream is unavailable, the event waits, and the attempt does not count."""
    if event.attempts >= ATTEMPTS:
        _note(event, outcome=OUTCOME.FAILED)
        return
    _note(event, attempts=event.attempts + 1)
    try:
        outcome = _apply(orjson.loads(vault().open(event.body, upstream="Hostaway")), lookup, account_id)
    except UNAVAILABLE as error:
        _note(event, attempts=event.attempts - 1, error=error.reason)
    except Exception as error:
        word = error.reason if isinstance(error, UpstreamError) else type(error).__name__
        logger.warning("hostaway event not applied", extra={"event_id": event.pk, "error": word})
        _note(event, error=word, outcome=OUTCOME.FAILED if event.attempts >= ATTEMPTS else OUTCOME.WAITING)
    else:
        _note(event, error="", outcome=outcome, body=event.body if outcome is OUTCOME.KEPT else "")


def _apply(event: Mapping[str, Any], lookup: ReservationLookup, account_id: str) -> WebhookEvent.EventOutcome:
    held = event.get("data")
    data: Row = held if isinstance(held, dict) else {}
    identifier = values.integer(data.get("id"))
    is_ours = str(event.get("accountId", account_id)) == account_id
    if not identifier or not is_ours or not event["event"].startswith(RESERVATION):
        return OUTCOME.KEPT
    row = data if _is_whole(data) else lookup(identifier)
    if row is None:
        sync_writes.remove(BOOKINGS, [identifier])
        return OUTCOME.APPLIED
    return OUTCOME.OLDER if sync_writes.save_newer(BOOKINGS, [row]).older else OUTCOME.APPLIED


def _is_whole(data: Row) -> bool:
    return all(data.get(name) for name in WHOLE)


def _note(event: WebhookEvent, **changed: Any) -> None:
    WebhookEvent.objects.filter(pk=event.pk).update(**changed)
    for name, value in changed.items():
        setattr(event, name, value)
