"""Builds the rollups of marked buckets anew from the calls, so that doing it twice changes nothing.

One runner at a time: on Postgres, of all processes.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from telemetry.locks import only_one
from telemetry.measurement import OUTSIDE_FIGURES
from telemetry.measures import MEASURES
from telemetry.models.calls import TelemetryRecord
from telemetry.models.rollups import Level, Rollup, StaleBucket
from telemetry.rollups import histogram
from telemetry.rollups.bucket_number import BucketNumber
from telemetry.rollups.marks import floor, mark

COARSER = {Level.MINUTE: Level.HOUR, Level.HOUR: Level.DAY}
BATCH = 500  # rows of one INSERT
HISTOGRAMS = {"latency": "latency_bucket", "upstream_latency": "upstream_bucket"}

logger = logging.getLogger(__name__)


def build_stale(*, now: datetime | None = None) -> int:
    """Builds all marked buckets that have ended, the shortest first; returns how many. 0 if another process does it."""
    now = now or timezone.now()
    with only_one("rollups") as is_mine:
        return sum(_build_level(level, now) for level in sorted(Level)) if is_mine else 0


def _build_level(level: Level, now: datetime) -> int:
    marked = StaleBucket.objects.filter(level=level, start__lte=now - timedelta(seconds=level)).order_by("start")
    starts = list(marked.values_list("start", flat=True))
    coarser = COARSER.get(level, level)
    for coarse, together in groupby(starts, key=lambda start: floor(start, coarser)):
        with transaction.atomic():
            mine = list(together)
            StaleBucket.objects.filter(level=level, start__in=mine).delete()  # waits for calls that are being stored
            if _has_all_calls(mine[0], now):
                _build(level, mine)
            if level in COARSER:
                mark([coarse], coarser)
    return len(starts)


def _has_all_calls(start: datetime, now: datetime) -> bool:
    """Whether the calls of a bucket are still stored: a late call must not replace the sums of deleted ones."""
    return start >= floor(now - timedelta(days=settings.TELEMETRY_RETENTION_DAYS), Level.DAY) + timedelta(days=1)


def _build(level: Level, starts: list[datetime]) -> None:
    """Builds buckets that are near each other: a few queries for all of them."""
    Rollup.objects.filter(level=level, start__in=starts).delete()
    for scope, dimensions in Rollup.SCOPES.items():
        if level in Rollup.LEVELS_OF_SCOPE[scope]:
            Rollup.objects.bulk_create(_rows(level, scope, dimensions, starts), batch_size=BATCH)


def _rows(level: Level, scope: str, dimensions: tuple[str, ...], starts: list[datetime]) -> Iterator[Rollup]:
    first = starts[0]
    until = starts[-1] + timedelta(seconds=level)
    calls = TelemetryRecord.objects.filter(created_at__gte=first, created_at__lt=until).order_by()
    calls = calls.exclude(transport__in=OUTSIDE_FIGURES)
    calls = calls.annotate(bucket=BucketNumber("created_at", start=int(first.timestamp()), seconds=level))
    histograms = {name: _histograms(calls, dimensions, column) for name, column in HISTOGRAMS.items()}
    wanted = set(starts)
    for row in calls.values("bucket", *dimensions).annotate(**MEASURES):
        bucket = row.pop("bucket")
        start = first + bucket * timedelta(seconds=level)
        if start in wanted:
            key = (bucket, *(row[name] for name in dimensions))
            texts = {name: histogram.dumps(found.get(key, {})) for name, found in histograms.items()}
            yield Rollup(level=level, scope=scope, start=start, **row, **texts)


def _histograms(calls: Any, dimensions: tuple[str, ...], column: str) -> dict[tuple[Any, ...], dict[int, int]]:
    found: dict[tuple[Any, ...], dict[int, int]] = {}
    if column == "upstream_bucket":
        calls = calls.exclude(upstream="")
    for *key, bucket, count in calls.values_list("bucket", *dimensions, column).annotate(n=Count("pk")):
        found.setdefault(tuple(key), {})[bucket] = count
    return found
