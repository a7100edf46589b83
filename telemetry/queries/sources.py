"""The sums of calls, read from rollups where these have what is asked for, else from the calls."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from telemetry.call_figures import CallFigures, Latency
from telemetry.measurement import CallOutcome
from telemetry.measures import MEASURES
from telemetry.models.calls import TelemetryRecord
from telemetry.models.rollups import Rollup
from telemetry.queries.selection import Selection
from telemetry.queries.span import Span
from telemetry.rollups import histogram
from telemetry.rollups.bucket_number import BucketNumber
from telemetry.rollups.coverage import RAW, SpanPart, cover

Calls = QuerySet[TelemetryRecord]
Key = tuple[Any, ...]  # the start of the bucket, where there are buckets, and a value for each column of `by`
SUMS = {name: Sum(name, default=0) for name in MEASURES}
EVERY_CALL = ("outcome", "origin")  # columns that all sums are counted by


@dataclass(frozen=True, slots=True)
class Question:
    """The sums to read. `calls`: only these calls, read from their table; else all calls of the span."""

    span: Span
    selection: Selection
    by: tuple[str, ...] = ()  # columns
    is_over_time: bool = False
    has_latency: bool = True
    calls: Calls | None = None

    @property
    def scope(self) -> str | None:
        """The rollups that answer the question; None: only the calls do."""
        if self.calls is not None or self.selection.needs_calls:
            return None
        needed = {*self.selection.columns, *self.by, *EVERY_CALL}
        return next((scope for scope, columns in Rollup.SCOPES.items() if needed <= set(columns)), None)

    @property
    def levels(self) -> list[int]:
        if self.scope is None:
            return []
        step = int(self.span.step.total_seconds())
        levels = Rollup.LEVELS_OF_SCOPE[self.scope]
        return [level for level in levels if not self.is_over_time or (level <= step and step % level == 0)]


@dataclass(slots=True)
class Sums:
    """Sums that grow while rows are read."""

    measures: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    origins: Counter[str] = field(default_factory=Counter)
    latency: Counter[int] = field(default_factory=Counter)
    upstream_latency: Counter[int] = field(default_factory=Counter)

    def add(self, outcome: str, origin: str, row: Mapping[str, Any]) -> None:
        for name in MEASURES:
            self.measures[name] += row[name] or 0
        self.outcomes[outcome] += row["calls"]
        if outcome == CallOutcome.ERROR:
            self.origins[origin] += row["calls"]

    def figures(self) -> CallFigures:
        return CallFigures(
            {name: self.measures[name] for name in MEASURES},
            self.outcomes,
            self.origins,
            Latency.of(self.latency),
            Latency.of(self.upstream_latency),
        )


def read(question: Question, *, now: datetime | None = None) -> dict[Key, Sums]:
    """The sums by key. The figures agree with each other: all is read from one snapshot of the database."""
    found: dict[Key, Sums] = {}
    now = now or timezone.now()
    with _one_snapshot():
        parts = cover(question.span.since, question.span.until, question.levels, now)
        for level in dict.fromkeys(part.level for part in parts):
            ranges = [part for part in parts if part.level == level]
            source = _calls(question, ranges) if level == RAW else _rollups(question, level, ranges)
            source.add_to(found, question)
    return found


@dataclass(frozen=True, slots=True)
class _Source:
    rows: QuerySet[Any]
    columns: tuple[str, ...]  # columns of the key
    sums: Mapping[str, Any]
    bucket: Callable[[Any], Any]  # a value of the key's first column → the start of the bucket
    histograms: Callable[[str], Iterator[tuple[Key, histogram.Histogram]]]

    def add_to(self, found: dict[Key, Sums], question: Question) -> None:
        for row in self.rows.values(*self.columns, *EVERY_CALL).annotate(**self.sums):
            key = self._key(tuple(row[name] for name in self.columns), question)
            found.setdefault(key, Sums()).add(row["outcome"], row["origin"], row)
        if not question.has_latency:
            return
        for name in ("latency", "upstream_latency"):
            for values, counts in self.histograms(name):
                key = self._key(values, question)
                getattr(found.setdefault(key, Sums()), name).update(counts)

    def _key(self, values: Key, question: Question) -> Key:
        return (self.bucket(values[0]), *values[1:]) if question.is_over_time else values


def _calls(question: Question, parts: Sequence[SpanPart]) -> _Source:
    calls = TelemetryRecord.objects.all() if question.calls is None else question.calls
    if question.calls is None:
        calls = calls.filter(question.selection.of_calls)
    calls = calls.filter(_within("created_at", parts)).order_by()
    starts = question.span.starts
    if question.is_over_time:
        step = int(question.span.step.total_seconds())
        calls = calls.annotate(interval=BucketNumber("created_at", start=int(starts[0].timestamp()), seconds=step))
    columns = (*(("interval",) if question.is_over_time else ()), *question.by)

    def histograms(name: str) -> Iterator[tuple[Key, histogram.Histogram]]:
        rows = calls if name == "latency" else calls.exclude(upstream="")
        bucket = "latency_bucket" if name == "latency" else "upstream_bucket"
        for *key, number, count in rows.values_list(*columns, bucket).annotate(n=Count("pk")):
            yield tuple(key), {number: count}

    return _Source(calls, columns, MEASURES, lambda number: starts[number], histograms)


def _rollups(question: Question, level: int, parts: Sequence[SpanPart]) -> _Source:
    rows = Rollup.objects.filter(_within("start", parts), question.selection.of_rollups, level=level)
    rows = rows.filter(scope=question.scope).order_by()
    columns = (*(("start",) if question.is_over_time else ()), *question.by)

    def histograms(name: str) -> Iterator[tuple[Key, histogram.Histogram]]:
        for *key, text in rows.values_list(*columns, name).iterator():
            yield tuple(key), histogram.loads(text)

    return _Source(rows, columns, SUMS, question.span.bucket, histograms)


def _within(column: str, parts: Sequence[SpanPart]) -> Q:
    wanted = Q()
    for part in parts:
        wanted |= Q(**{f"{column}__gte": part.since, f"{column}__lt": part.until})
    return wanted


@contextmanager
def _one_snapshot() -> Iterator[None]:
    """Inside, all queries see one snapshot of the database. Within an outer transaction, that one's isolation holds."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
    else:  # not atomic(), which would lock the database for writers
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")
            try:
                yield
            finally:
                cursor.execute("COMMIT")
