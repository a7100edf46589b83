"""Builds the rollups of marked buckets anew from the calls, so that doing it twice changes nothing.

One runner at a time: on Postgres under an advisory lock. SQLite lets one transaction write at a time, so that a second
runner finds nothing to do.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from telemetry.models.calls import TelemetryRecord
from telemetry.models.rollups import Level, Rollup, StaleBucket
from telemetry.rollups import histogram
from telemetry.rollups.marks import floor, mark
from telemetry.rollups.measures import MEASURES

LOCK = 0x51_0C_E0_01  # of this runner, among advisory locks
COARSER = {Level.MINUTE: Level.HOUR, Level.HOUR: Level.DAY}
BATCH = 500  # rows of one INSERT
HISTOGRAMS = {"latency": "latency_bucket", "upstream_latency": "upstream_bucket"}

logger = logging.getLogger(__name__)


def build_stale(*, now: datetime | None = None) -> int:
    """Builds all marked buckets that have ended, the shortest first; returns how many. 0 if another process does it."""
    now = now or timezone.now()
    with _only_runner() as is_mine:
        return sum(_build_level(level, now) for level in sorted(Level)) if is_mine else 0


def _build_level(level: Level, now: datetime) -> int:
    starts = StaleBucket.objects.filter(level=level, start__lte=now - timedelta(seconds=level))
    built = 0
    for start in starts.order_by("start").values_list("start", flat=True):
        with transaction.atomic():
            deleted, _ = StaleBucket.objects.filter(level=level, start=start).delete()
            if not deleted:
                continue
            if _has_all_calls(start, now):
                _build(level, start)
            if level in COARSER:
                mark([start], COARSER[level])
        built += 1
    return built


def _has_all_calls(start: datetime, now: datetime) -> bool:
    """Whether the calls of a bucket are still stored: a late call must not replace the sums of deleted ones."""
    return start >= floor(now - timedelta(days=settings.TELEMETRY_RETENTION_DAYS), Level.DAY) + timedelta(days=1)


def _build(level: Level, start: datetime) -> None:
    Rollup.objects.filter(level=level, start=start).delete()
    for scope, dimensions in Rollup.SCOPES.items():
        if level in Rollup.LEVELS_OF_SCOPE[scope]:
            Rollup.objects.bulk_create(_rows(level, scope, dimensions, start), batch_size=BATCH)


def _rows(level: Level, scope: str, dimensions: tuple[str, ...], start: datetime) -> Iterator[Rollup]:
    end = start + timedelta(seconds=level)
    calls = TelemetryRecord.objects.filter(created_at__gte=start, created_at__lt=end).order_by()
    histograms = {name: _histograms(calls, dimensions, column) for name, column in HISTOGRAMS.items()}
    for row in calls.values(*dimensions).annotate(**MEASURES):
        key = tuple(row[name] for name in dimensions)
        texts = {name: histogram.dumps(found.get(key, {})) for name, found in histograms.items()}
        yield Rollup(level=level, scope=scope, start=start, **row, **texts)


def _histograms(calls: Any, dimensions: tuple[str, ...], column: str) -> dict[tuple[Any, ...], dict[int, int]]:
    found: dict[tuple[Any, ...], dict[int, int]] = {}
    if column == "upstream_bucket":
        calls = calls.exclude(upstream="")
    for *key, bucket, count in calls.values_list(*dimensions, column).annotate(n=Count("pk")):
        found.setdefault(tuple(key), {})[bucket] = count
    return found


@contextmanager
def _only_runner() -> Iterator[bool]:
    """Whether this process may build. The lock belongs to the connection, so it ends with the process."""
    if connection.vendor != "postgresql":
        yield True
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        is_mine = bool(cursor.fetchone()[0])
        try:
            yield is_mine
        finally:
            if is_mine:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
