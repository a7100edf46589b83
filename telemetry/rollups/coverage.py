"""The rollups and the calls that together cover a span of time.

A rollup is used only if no call of its bucket is missing in it, so every figure is exact, whenever the builder ran
last. The rest is read from the calls: the current minute, and the ends of a span between two minutes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet

from telemetry import page_memory
from telemetry.models.rollups import Level, StaleBucket

RAW = 0  # the level of a part that is read from the calls
MARGIN = timedelta(minutes=1)  # rollups that are about to be deleted are not used


@dataclass(frozen=True, slots=True)
class SpanPart:
    """A part of a span: the rollups of a level (seconds), or the calls themselves (RAW)."""

    level: int
    since: datetime
    until: datetime


def cover(since: datetime, until: datetime, levels: Sequence[int], now: datetime) -> tuple[SpanPart, ...]:
    """The parts of [since, until), in order of time. `levels`: the usable levels, in any order; if none, all is RAW."""
    stale = _marked(since - timedelta(days=1), until) if levels else ()
    oldest = {level: (now - kept + MARGIN).timestamp() for level, kept in kept_for().items()}
    usable = _Usable(oldest, {level: {at - at % level for marked, at in stale if marked <= level} for level in levels})
    parts = _split(since.timestamp(), until.timestamp(), sorted(levels, reverse=True), usable)
    return tuple(
        SpanPart(level, datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC))
        for level, start, end in _joined(parts)
    )


def kept_for() -> dict[int, timedelta]:
    """The retention period of each level's rollups."""
    return {
        Level.MINUTE: timedelta(hours=settings.TELEMETRY_MINUTE_HOURS),
        Level.HOUR: timedelta(days=settings.TELEMETRY_HOUR_DAYS),
        Level.DAY: timedelta(days=36_500),
    }


_Mark = tuple[int, int]  # level, start as Unix time


def _marked(since: datetime, until: datetime) -> Sequence[_Mark]:
    """All questions of a page use the marks that the first question has read.

    Calls that are stored after the marks were read never make a figure wrong; it may only lack them. A bucket without a
    mark contains all earlier calls. A bucket with a mark is read from shorter buckets or from its calls. Each call
    counts in one of them.
    """
    if page_memory.is_kept():
        return page_memory.remembered("marks", lambda: _read(StaleBucket.objects.all()))
    return _read(StaleBucket.objects.filter(start__gte=since, start__lt=until))


def _read(marks: "QuerySet[StaleBucket]") -> list[_Mark]:
    return [(level, int(start.timestamp())) for level, start in marks.values_list("level", "start")]


@dataclass(frozen=True, slots=True)
class _Usable:
    oldest: dict[int, float]  # by level: the Unix time before which its rollups may already be deleted
    stale: dict[int, set[int]]  # by level: the starts of buckets that lack calls

    def has(self, level: int, start: int) -> bool:
        return start >= self.oldest[level] and start not in self.stale[level]


_Span = tuple[int, float, float]  # level, start, end as Unix times


def _split(since: float, until: float, levels: list[int], usable: _Usable) -> Iterator[_Span]:
    if since >= until:
        return
    if not levels:
        yield RAW, since, until
        return
    level, *finer = levels
    first, last = -int(-since // level) * level, int(until // level) * level
    if first >= last:
        yield from _split(since, until, finer, usable)
        return
    yield from _split(since, first, finer, usable)
    for start in range(first, last, level):
        if usable.has(level, start):
            yield level, start, start + level
        else:
            yield from _split(start, start + level, finer, usable)
    yield from _split(last, until, finer, usable)


def _joined(spans: Iterator[_Span]) -> Iterator[_Span]:
    """Joins neighbours of the same level."""
    before: _Span | None = None
    for span in spans:
        if before and (before[0], before[2]) == span[:2]:
            before = (span[0], before[1], span[2])
            continue
        if before:
            yield before
        before = span
    if before:
        yield before
