"""Rejected API keys: one row per address and minute, however many keys were rejected.

    record(rejection)  ─►  queue (10,000)  ─►  writer thread  ─►  store(): adds up the counts

Queue and writer thread work as for calls (telemetry/recorder.py), so a rejection neither blocks nor writes. A flood
from one address makes one row a minute; a flood from many makes at most MAX_ADDRESSES rows, and one for all others.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from telemetry import counters
from telemetry.models import RejectedKey
from telemetry.recorder import ProcessRecorder
from telemetry.storage import StoreResult, release_connection

MAX_ADDRESSES = 1_000  # addresses per minute that get their own row
OTHERS = "others"  # stands for all further addresses of the minute
UNKNOWN = "unknown"

TABLE = RejectedKey._meta.db_table
ADD = (
    f"INSERT INTO {TABLE} (minute, address, door, hint, attempts, last_at) VALUES (%s, %s, %s, %s, %s, %s) "  # noqa: S608 (names of our own)
    f"ON CONFLICT (minute, address) DO UPDATE SET attempts = {TABLE}.attempts + excluded.attempts, "
    f"door = excluded.door, last_at = excluded.last_at, "
    f"hint = CASE WHEN excluded.hint = '' THEN {TABLE}.hint ELSE excluded.hint END"
)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected key. `hint` is the part of the key that may be shown; nobody can log in with it."""

    at: datetime  # aware, UTC
    transport: str
    address: str
    hint: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The rejections of one address in one minute; `last` is the latest, `hint` the latest that is not empty."""

    minute: datetime
    address: str
    last: Rejection
    attempts: int
    hint: str


def store(rejections: Sequence[Rejection]) -> StoreResult:
    """Adds a batch to the rows, in one transaction. If it raises DatabaseError, nothing is stored."""
    try:
        with transaction.atomic():
            rows = list(_within_bounds(_tallies((_minute(each), _address(each.address), each) for each in rejections)))
            with connection.cursor() as cursor:
                cursor.executemany(ADD, [_row(tally) for tally in rows])
    finally:
        release_connection()
    for each in rejections:
        counters.REJECTED_KEYS.labels(each.transport).inc()
    return StoreResult(stored=len(rejections))


def _tallies(rejections: Iterable[tuple[datetime, str, Rejection]]) -> list[Tally]:
    """The rejections by minute and address, sorted so that two processes cannot deadlock."""
    found: dict[tuple[datetime, str], Tally] = {}
    for minute, address, each in rejections:
        before = found.get((minute, address))
        found[minute, address] = Tally(
            minute=minute,
            address=address,
            last=each,
            attempts=1 + (before.attempts if before else 0),
            hint=each.hint or (before.hint if before else ""),
        )
    return [found[key] for key in sorted(found)]


def _within_bounds(tallies: Sequence[Tally]) -> Iterator[Tally]:
    for minute in sorted({tally.minute for tally in tallies}):
        of_minute = [tally for tally in tallies if tally.minute == minute]
        rows = RejectedKey.objects.filter(minute=minute)
        known = set(rows.filter(address__in=[tally.address for tally in of_minute]).values_list("address", flat=True))
        room = MAX_ADDRESSES - rows.exclude(address=OTHERS).count()
        new = [tally for tally in of_minute if tally.address not in known]
        beyond = {tally.address for tally in new[max(0, room) :]}
        yield from (tally for tally in of_minute if tally.address not in beyond)
        if others := [tally for tally in of_minute if tally.address in beyond]:
            yield replace(others[-1], address=OTHERS, attempts=sum(tally.attempts for tally in others))


def _minute(rejection: Rejection) -> datetime:
    return rejection.at.replace(second=0, microsecond=0)


def _address(text: str) -> str:
    """The address in its normal form; UNKNOWN if a proxy passed on a text that is not an IP address."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return UNKNOWN
    return str(getattr(address, "ipv4_mapped", None) or address).partition("%")[0]


def _row(tally: Tally) -> tuple[Any, ...]:
    moment = connection.ops.adapt_datetimefield_value
    last = tally.last
    return moment(tally.minute), tally.address, last.transport, tally.hint, tally.attempts, moment(last.at)


_rejections: ProcessRecorder[Rejection] = ProcessRecorder(store, name="rejected-keys")
record = _rejections.record
flush = _rejections.flush
stop = _rejections.stop
state = _rejections.state
on_callers_thread = _rejections.on_callers_thread
