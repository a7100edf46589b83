"""Reads the sums of calls: from rollups if they have the needed dimensions, else from the calls."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import add
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from telemetry.call_figures import MIN_CALLS_FOR_PERCENTILES, CallFigures, Latency
from telemetry.measurement import CallOutcome
from telemetry.measures import MEASURES
from telemetry.models.calls import TelemetryRecord
from telemetry.models.rollups import Rollup
from telemetry.queries.selection import YES_OR_NO_COLUMNS, Selection
from telemetry.queries.span import Span
from telemetry.rollups import histogram, summation
from telemetry.rollups.bucket_number import BucketNumber
from telemetry.rollups.coverage import RAW, SpanPart, cover
from telemetry.rollups.summation import HISTOGRAMS, Added, MeasureSet

Calls = QuerySet[TelemetryRecord]
Key = tuple[Any, ...]  # the start of the bucket, if there are buckets, and a value for each column of `by`
EVERY_CALL = ("outcome", "origin")  # columns that all sums are grouped by

# The sets of measures that panels choose from. Without times, figures have no percentiles.
COUNTS = MeasureSet(("calls", "oversized_calls", "cached_calls"))
COUNTS_AND_TIMES = MeasureSet(COUNTS.measures, ("latency",))
# For tables by group: what their columns show.
TABLES = MeasureSet(
    (
        "calls",
        "oversized_calls",
        "list_calls",
        "later_pages",
        "counted_estimate",
        "total_estimated_tokens",
        "total_claude_tokens",
        "total_baseline_tokens",
    ),
    ("latency",),
)
SUMS = MeasureSet(tuple(MEASURES))
SUMS_AND_TIMES = MeasureSet(SUMS.measures, ("latency",))
SUMS_AND_UPSTREAM_TIMES = MeasureSet(SUMS.measures, ("upstream_latency",))
EVERYTHING = MeasureSet(SUMS.measures, tuple(HISTOGRAMS))


@dataclass(frozen=True, slots=True)
class Question:
    """The sums to read. `calls`: only these calls, read from their table; else all calls of the span."""

    span: Span
    selection: Selection
    by: tuple[str, ...] = ()  # columns
    is_over_time: bool = False
    wanted: MeasureSet = SUMS_AND_TIMES
    calls: Calls | None = None

    @property
    def scope(self) -> str | None:
        """The scope of the rollups that can answer the question; None: only the calls can."""
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

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of an answer's keys."""
        return (*(("interval",) if self.is_over_time else ()), *self.by)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.key, *EVERY_CALL)))

    def interval(self, column: str) -> BucketNumber:
        """The number of the span's bucket."""
        step = int(self.span.step.total_seconds())
        return BucketNumber(column, start=int(self.span.starts[0].timestamp()), seconds=step)


@dataclass(slots=True)
class Sums:
    """Sums that grow while rows are read. `measures`: in the order of `wanted`."""

    wanted: MeasureSet
    measures: list[float] = field(default_factory=list)
    calls: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    origins: dict[str, int] = field(default_factory=dict)  # of failed calls
    texts: list[list[str]] = field(default_factory=list)  # the texts of each histogram that are not parsed yet
    histograms: list[Counter[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.measures = [0] * len(self.wanted.measures)
        self.texts = [[] for _ in self.wanted.histograms]
        self.histograms = [Counter() for _ in self.wanted.histograms]

    def add(self, outcome: str, origin: str, row: Added) -> None:
        calls = int(row.measures[self.wanted.measures.index("calls")])
        self.calls += calls
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + calls
        if outcome == CallOutcome.ERROR:
            self.origins[origin] = self.origins.get(origin, 0) + calls
        self.measures = list(map(add, self.measures, row.measures))
        for texts, text in zip(self.texts, row.histograms, strict=True):
            if text:
                texts.append(text)

    def merge(self, other: "Sums") -> None:
        self.calls += other.calls
        for mine, more in ((self.outcomes, other.outcomes), (self.origins, other.origins)):
            for name, count in more.items():
                mine[name] = mine.get(name, 0) + count
        self.measures = list(map(add, self.measures, other.measures))
        for n, counts in enumerate(other.histograms):
            self.histograms[n].update(counts)
            self.texts[n] += other.texts[n]

    def _histogram(self, n: int) -> Counter[int]:
        if self.texts[n]:
            self.histograms[n].update(histogram.joined(",".join(self.texts[n])))
            self.texts[n] = []
        return self.histograms[n]

    def figures(self) -> CallFigures:
        """Histograms are parsed only if there are enough calls for percentiles, because most sums have few calls."""
        has_times = self.calls >= MIN_CALLS_FOR_PERCENTILES
        times = {name: Latency.of(self._histogram(n)) for n, name in enumerate(self.wanted.histograms) if has_times}
        return CallFigures(
            dict(zip(self.wanted.measures, self.measures, strict=True)),
            self.outcomes,
            self.origins,
            times.get("latency", Latency()),
            times.get("upstream_latency", Latency()),
        )


def read(question: Question, *, now: datetime | None = None) -> dict[Key, Sums]:
    """The sums by key. The figures agree with each other: one statement reads them, and it counts each call once."""
    parts = cover(question.span.since, question.span.until, question.levels, now or timezone.now())
    starts = question.span.starts
    places = [question.columns.index(column) for column in question.key]
    flags = [n for n, column in enumerate(question.key) if column in YES_OR_NO_COLUMNS]
    outcome, origin = map(question.columns.index, EVERY_CALL)
    found: dict[Key, Sums] = {}
    for row in summation.added_up(_sources(question, parts, question.columns), question.columns, question.wanted):
        key = [row.key[place] for place in places]
        if question.is_over_time:
            key[0] = starts[key[0]]
        for n in flags:  # SQLite has 0 and 1
            key[n] = bool(key[n])
        sums = found.get(tuple(key)) or found.setdefault(tuple(key), Sums(question.wanted))
        sums.add(row.key[outcome], row.key[origin], row)
    return found


def values(question: Question, *, now: datetime | None = None) -> set[Any]:
    """The values of the only column of `by`, in one statement."""
    parts = cover(question.span.since, question.span.until, question.levels, now or timezone.now())
    sources = [source for source in (_calls_in(question, parts), _rollups_in(question, parts)) if source is not None]
    first, *others = [source.order_by().values_list(*question.by, flat=True).distinct() for source in sources]
    return set(first.union(*others))


def rows(question: Question, *, now: datetime | None = None) -> Iterator[Added]:
    """The sums as the database returns them, not grouped by outcome and origin, for more keys than `read` can handle.
    Keys begin with the number of the bucket, if there are buckets."""
    parts = cover(question.span.since, question.span.until, question.levels, now or timezone.now())
    return summation.added_up(_sources(question, parts, question.key), question.key, question.wanted)


def _sources(question: Question, parts: Sequence[SpanPart], columns: Sequence[str]) -> list["QuerySet[Any]"]:
    calls, rollups = _calls_in(question, parts), _rollups_in(question, parts)
    found = [] if calls is None else [summation.of_calls(calls, columns, question.wanted)]
    return found if rollups is None else [*found, summation.of_rollups(rollups, columns, question.wanted)]


def _calls_in(question: Question, parts: Sequence[SpanPart]) -> "QuerySet[Any] | None":
    ranges = [part for part in parts if part.level == RAW]
    if not ranges:
        return None
    calls = TelemetryRecord.objects.filter(question.selection.of_calls) if question.calls is None else question.calls
    calls = calls.filter(_within("created_at", ranges))
    return calls.annotate(interval=question.interval("created_at")) if question.is_over_time else calls


def _rollups_in(question: Question, parts: Sequence[SpanPart]) -> "QuerySet[Any] | None":
    levels = {part.level for part in parts} - {RAW}
    if not levels:
        return None
    wanted = Q()
    for level in levels:
        ranges = [part for part in parts if part.level == level]
        wanted |= Q(_within("start", ranges), level=level, scope=question.scope)
    found = Rollup.objects.filter(wanted, question.selection.of_rollups)
    return found.annotate(interval=question.interval("start")) if question.is_over_time else found


def _within(column: str, parts: Sequence[SpanPart]) -> Q:
    wanted = Q()
    for part in parts:
        wanted |= Q(**{f"{column}__gte": part.since, f"{column}__lt": part.until})
    return wanted
