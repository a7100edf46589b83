"""Rebuilds the rollups of marked buckets from their calls. Building a bucket twice gives the same rows.

    marks ──► sums ──► one short transaction: marks are deleted, rollups are replaced, the longer bucket is marked

The sums are computed before the transaction, so that writers of calls never wait for them. A mark that was counted up
in the meantime stays, and its bucket is rebuilt the next time. Only one builder runs at a time; on Postgres, this holds
across processes.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby, islice
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from telemetry import postgres
from telemetry.bulk_rows import BulkRows
from telemetry.locks import only_one
from telemetry.measures import MEASURES
from telemetry.models.calls import TelemetryRecord
from telemetry.models.rollups import Level, Rollup, StaleBucket
from telemetry.rollups import histogram, summation
from telemetry.rollups.bucket_number import BucketNumber
from telemetry.rollups.coverage import MARGIN, kept_for
from telemetry.rollups.marks import floor, mark
from telemetry.rollups.summation import HISTOGRAMS, MeasureSet

COARSER = {Level.MINUTE: Level.HOUR, Level.HOUR: Level.DAY}
TOGETHER = {Level.MINUTE: 60, Level.HOUR: 6, Level.DAY: 1}  # buckets whose calls are read together
SUMS, UPSTREAM_TIMES = MeasureSet(tuple(MEASURES), ("latency",)), MeasureSet((), ("upstream_latency",))
EVERYTHING = MeasureSet(tuple(MEASURES), tuple(HISTOGRAMS))
ROWS = 2_000  # the most rows that one transaction inserts, unless a single bucket has more

logger = logging.getLogger(__name__)

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Marked:
    """A marked bucket. `marks`: how often it was marked when its calls were read."""

    start: datetime
    marks: int


def build_stale(*, now: datetime | None = None) -> int:
    """Builds all marked buckets that have ended, the shortest first; returns how many. 0 if another process builds."""
    now = now or timezone.now()
    with only_one("rollups") as is_mine, postgres.settings(work_mem=postgres.ROOM):
        return sum(_build_level(level, now) for level in sorted(Level)) if is_mine else 0


def _build_level(level: Level, now: datetime) -> int:
    stale = StaleBucket.objects.filter(level=level, start__lte=now - timedelta(seconds=level)).order_by("start")
    marked = [Marked(*each) for each in stale.values_list("start", "marks")]
    built = 0
    for _, neighbours in groupby(marked, key=lambda each: floor(each.start, COARSER.get(level, level))):
        while buckets := list(islice(neighbours, TOGETHER[level])):
            rows = _rows(level, buckets, now) if _has_all_calls(buckets[0].start, now) else None
            for part in _parts(buckets, rows):
                built += _replace(level, part, rows)
    return built


def _has_all_calls(start: datetime, now: datetime) -> bool:
    """Whether the calls of a bucket are still stored: a late call must not replace the sums of deleted ones."""
    return start >= floor(now - timedelta(days=settings.TELEMETRY_RETENTION_DAYS), Level.DAY) + timedelta(days=1)


# -- The sums -----------------------------------------------------------------------------------------

Rows = Mapping[datetime, Sequence[Row]]  # rows of the table, by the start of their bucket


def _rows(level: Level, buckets: Sequence[Marked], now: datetime) -> Rows:
    """The rollups of neighbouring buckets, computed with a few queries for all of them."""
    found: dict[datetime, list[Row]] = {each.start: [] for each in buckets}
    for scope, dimensions in Rollup.SCOPES.items():
        if level in Rollup.LEVELS_OF_SCOPE[scope]:
            for start, row in _of_scope(level, scope, dimensions, buckets, now):
                if start in found:
                    found[start].append(row)
    return found


def _of_scope(
    level: Level, scope: str, dimensions: tuple[str, ...], buckets: Sequence[Marked], now: datetime
) -> Iterator[tuple[datetime, Row]]:
    first, until = buckets[0].start, buckets[-1].start + timedelta(seconds=level)
    is_of_hours = level is Level.DAY and Level.HOUR in Rollup.LEVELS_OF_SCOPE[scope] and _has_hours(first, now)
    added_up = _of_hours if is_of_hours else _of_calls
    interval = partial(BucketNumber, start=int(first.timestamp()), seconds=level)
    for (number, *values), measures, histograms in added_up(first, until, interval, scope, dimensions):
        by_name = dict(zip(dimensions, values, strict=True))
        filled = (by_name.get(name, EMPTY[name]) for name in Rollup.DIMENSIONS)
        start = first + number * timedelta(seconds=level)
        yield start, (level, scope, _adapted(start), *filled, *measures, *map(histogram.dumps, histograms))


Sum = tuple[tuple[Any, ...], Sequence[float], Sequence[histogram.Histogram]]  # key, measures, both histograms


def _has_hours(start: datetime, now: datetime) -> bool:
    """Whether the rollups of all hours of the day are surely still stored."""
    return start > now - kept_for()[Level.HOUR] + MARGIN


def _of_hours(
    first: datetime, until: datetime, interval: Callable[[str], BucketNumber], scope: str, dimensions: tuple[str, ...]
) -> Iterator[Sum]:
    """The sums of a day from its built hours. An hour that is not built yet has a mark, and marks the day again when it
    is built."""
    hours = Rollup.objects.filter(level=Level.HOUR, scope=scope, start__gte=first, start__lt=until)
    columns = ("interval", *dimensions)
    rows = summation.of_rollups(hours.annotate(interval=interval("start")), columns, EVERYTHING)
    for added in summation.added_up([rows], columns, EVERYTHING):
        yield added.key, added.measures, [histogram.joined(text) for text in added.histograms]


def _of_calls(
    first: datetime, until: datetime, interval: Callable[[str], BucketNumber], scope: str, dimensions: tuple[str, ...]
) -> Iterator[Sum]:
    """Reads the two histograms separately: grouped by both at once, there would be nearly as many groups as calls."""
    calls = TelemetryRecord.objects.in_figures().filter(created_at__gte=first, created_at__lt=until)
    calls = calls.annotate(interval=interval("created_at"))
    columns = ("interval", *dimensions)
    upstreams = summation.of_calls(calls.exclude(upstream=""), columns, UPSTREAM_TIMES)
    times = {
        added.key: histogram.joined(added.histograms[0])
        for added in summation.added_up([upstreams], columns, UPSTREAM_TIMES)
    }
    for added in summation.added_up([summation.of_calls(calls, columns, SUMS)], columns, SUMS):
        yield added.key, added.measures, (histogram.joined(added.histograms[0]), times.get(added.key, {}))


# -- Storing ------------------------------------------------------------------------------------------

EMPTY = {name: getattr(Rollup(), name) for name in Rollup.DIMENSIONS}
COLUMNS = ("level", "scope", "start", *Rollup.DIMENSIONS, *MEASURES, "latency", "upstream_latency")
ROLLUPS = BulkRows(Rollup._meta.db_table, COLUMNS)


def _parts(buckets: Sequence[Marked], rows: Rows | None) -> Iterator[list[Marked]]:
    """The buckets in parts of at most ROWS rows. A bucket with more rows is a part of its own."""
    part: list[Marked] = []
    count = 0
    for each in buckets:
        size = len(rows[each.start]) if rows else 0
        if part and count + size > ROWS:
            yield part
            part, count = [], 0
        part.append(each)
        count += size
    if part:
        yield part


def _replace(level: Level, buckets: Sequence[Marked], rows: Rows | None) -> int:
    """Stores the rows of the buckets that have had no new call since their sums were computed. `rows` None: the calls
    of these buckets may have been deleted, so only the marks are removed."""
    with transaction.atomic():
        unchanged = _take_marks(level, buckets)
        if not unchanged:
            return 0
        if rows is not None:
            Rollup.objects.filter(level=level, start__in=unchanged).delete()
            ROLLUPS.insert([row for start in unchanged for row in rows[start]])
        if level in COARSER:
            mark({floor(start, COARSER[level]) for start in unchanged}, COARSER[level])
    return len(unchanged)


def _take_marks(level: Level, buckets: Sequence[Marked]) -> list[datetime]:
    """Deletes the marks of the buckets that no writer has marked since; waits for calls that are being stored."""
    marks = StaleBucket.objects.filter(level=level, start__in=[each.start for each in buckets])
    current = dict(marks.select_for_update().order_by("start").values_list("start", "marks"))
    unchanged = [each.start for each in buckets if current.get(each.start) == each.marks]
    marks.filter(start__in=unchanged).delete()
    return unchanged


def _adapted(start: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(start)
