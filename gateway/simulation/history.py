"""Creates a past for the dashboards: measured calls of the simulated clients, stored again with earlier times.

Only the times and the ids of requests, snapshots and traces change. All other figures are measured.
"""

import logging
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice

from gateway.simulation import polling
from gateway.simulation.traffic import MARK
from telemetry import storage
from telemetry.measurement import Measurement
from telemetry.models import TelemetryRecord

REPLAYED = "replayed-"  # the prefix of the request ids of stored copies
STORED_SECONDS = 15.0  # the longest wait until the server has stored its calls
BUSY_SECONDS = 120.0  # the longest wait until the database accepts a batch
BATCH = 1_000
# How busy each hour of the day is, UTC, in percent of the busiest hour.
BUSY = (4, 3, 2, 2, 3, 5, 12, 30, 60, 85, 95, 90, 70, 80, 100, 95, 80, 60, 40, 28, 20, 14, 9, 6)
WEEKEND = 0.4  # calls, as a share of a working day's
CALLS_AT_BUSIEST = 80  # in the busiest hour


class NothingMeasured(Exception):
    """The message is a sentence to show to the user."""


def measured(since: datetime, expected: int) -> list[Measurement]:
    """The calls of simulated clients since a time, in order. Waits at most STORED_SECONDS until the server has stored
    `expected` of them. Raises NothingMeasured if it has stored none."""
    records = TelemetryRecord.objects.filter(caller__startswith=MARK, created_at__gte=since)
    polling.until(lambda: records.count() >= expected, STORED_SECONDS)
    if not records.exists():
        raise NothingMeasured(
            "The server has stored no call of the simulated clients, so there is nothing to replay. Does it use the "
            "same database as this command? See `telemetry` in /health."
        )
    return [each.measurement for each in records.order_by("created_at", "pk")]


def replay(calls: Sequence[Measurement], since: datetime, until: datetime, seed: int, most: int | None = None) -> int:
    """Stores copies of `calls` between two times, more by day than by night. `most`: the approximate number of copies,
    in place of the usual number per hour. Returns the number of copies."""
    decisions = logging.getLogger("telemetry.decisions")
    level = decisions.level
    decisions.setLevel(logging.WARNING)  # these decisions were logged when they were made
    copies, stored = _copies(calls, since, until, random.Random(seed), most), 0  # noqa: S311 (not a secret)
    try:
        while batch := list(islice(copies, BATCH)):
            stored += _store(batch)
    finally:
        decisions.setLevel(level)
    return stored


def _store(batch: Sequence[Measurement]) -> int:
    """Returns how many were stored. Waits while another process writes to SQLite."""
    results: list[storage.StoreResult] = []

    def is_stored() -> bool:
        with suppress(storage.StoreUnavailableError):
            results.append(storage.store(batch))
        return bool(results)

    if not polling.until(is_stored, BUSY_SECONDS):
        raise NothingMeasured(f"The database has accepted no calls for {BUSY_SECONDS:g} seconds.")
    return results[0].stored


def _copies(
    calls: Sequence[Measurement], since: datetime, until: datetime, chance: random.Random, most: int | None
) -> Iterator[Measurement]:
    by_client: defaultdict[str, list[Measurement]] = defaultdict(list)
    for call in calls:
        by_client[call.caller].append(call)
    clients = list(by_client.values())
    hours = list(_hours(since, until))
    scale = most / sum(map(_expected, hours)) if most else 1.0
    for hour in hours:
        left = _expected(hour) * scale
        while left > chance.random():
            chosen = _some_of(chance.choice(clients), chance)
            begin = hour + timedelta(seconds=chance.uniform(0, 3600))
            yield from _moved(chosen, begin, until, f"{chance.getrandbits(64):016x}")
            left -= len(chosen)


def _hours(since: datetime, until: datetime) -> Iterator[datetime]:
    hour = since.replace(minute=0, second=0, microsecond=0)
    while hour < until:
        yield hour
        hour += timedelta(hours=1)


def _expected(hour: datetime) -> float:
    """Calls in this hour."""
    share = BUSY[hour.hour] / 100 * (WEEKEND if hour.weekday() >= 5 else 1)
    return CALLS_AT_BUSIEST * share


def _some_of(calls: Sequence[Measurement], chance: random.Random) -> Sequence[Measurement]:
    """Consecutive calls of one client, so that the pages of a list stay together."""
    first = chance.randrange(len(calls))
    return calls[first : first + chance.randint(1, 8)]


def _moved(calls: Sequence[Measurement], begin: datetime, until: datetime, name: str) -> Iterator[Measurement]:
    """The same calls, the first of them at `begin`."""
    moved = begin - calls[0].at
    for number, call in enumerate(calls):
        if call.at + moved < until:
            chain = f"{call.chain[:16]}{name}" if call.chain else ""
            yield call._replace(at=call.at + moved, request_id=f"{REPLAYED}{name}-{number}", chain=chain, trace_id="")
