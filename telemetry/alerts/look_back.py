"""Finds when a rule would have fired in the last seven days, by replaying its evaluations over stored figures.

The last two days are evaluated in intervals of 5 minutes. Earlier days are evaluated by the hour, so a short excess may
be missed there. Breakers, health checks and the counters of processes have no stored history.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db.models import Sum

from telemetry import alert_states, queries
from telemetry.alert_kinds import LimitUnit, NoData, Per, RuleKind
from telemetry.alert_states import AlertState
from telemetry.alerts.conditions import Reading, RuleCondition, signal
from telemetry.alerts.readings.intervals import values_by_subject
from telemetry.alerts.readings.measures import MEASURES, MeasuredValue, filters, measured, wanted
from telemetry.models import RejectedKey
from telemetry.queries import Selection, Span

SPAN = timedelta(days=7)
FINE, FINE_SPAN = timedelta(minutes=5), timedelta(days=2)
COARSE = timedelta(hours=1)
NOT_KEPT = "The figures that this rule checks are not stored over time, so its past cannot be computed."


@dataclass(frozen=True, slots=True)
class Interval:
    """The measured value of one subject from `start` to `start + step`."""

    start: datetime
    step: timedelta
    seen: MeasuredValue


@dataclass(frozen=True, slots=True)
class Firing:
    """A time in which the rule would have fired: from `since` until `until`."""

    subject: str
    since: datetime
    until: datetime
    peak: float

    @property
    def lasted(self) -> timedelta:
        return self.until - self.since


@dataclass(frozen=True, slots=True)
class LookBack:
    """`hours`: the highest value of any subject in each hour, for the chart. `unknown`: why nothing can be computed."""

    firings: tuple[Firing, ...]
    hours: tuple[float | None, ...]
    since: datetime
    until: datetime
    unknown: str = ""


def look_back(condition: RuleCondition, now: datetime) -> LookBack:
    since = (now - SPAN).replace(minute=0, second=0, microsecond=0)
    if condition.kind is not RuleKind.REFUSED_KEYS and condition.kind not in MEASURES:
        return LookBack((), (), since, now, NOT_KEPT)
    firings: list[Firing] = []
    highest: dict[datetime, float] = {}
    for part, series in _parts(condition, since, now):
        for subject, intervals in series.items():
            rolled = list(_rolled(intervals, part))
            if _can_fire(rolled, part):
                firings += _replayed(subject, rolled, part)
            for interval in rolled:
                hour = interval.start.replace(minute=0, second=0, microsecond=0)
                if interval.seen.value is not None:
                    highest[hour] = max(interval.seen.value, highest.get(hour, 0.0))
    hours = tuple(highest.get(since + n * COARSE) for n in range(int((now - since) / COARSE) + 1))
    return LookBack(tuple(sorted(firings, key=lambda firing: firing.since)), hours, since, now)


# -- Figures ------------------------------------------------------------------------------------------

Parts = Iterator[tuple[RuleCondition, Mapping[str, Sequence[Interval]]]]


def _parts(condition: RuleCondition, since: datetime, now: datetime) -> Parts:
    """The condition, and one for each tool with its own limit; each with the intervals to evaluate."""
    yield condition, _intervals(condition, since, now)
    for tool in condition.own_limits:
        own = condition.for_tool(tool)
        yield own, _intervals(own, since, now)


def _intervals(condition: RuleCondition, since: datetime, now: datetime) -> Mapping[str, Sequence[Interval]]:
    fine_from = (now - FINE_SPAN).replace(minute=0, second=0, microsecond=0)
    found: defaultdict[str, list[Interval]] = defaultdict(list)
    for span in (Span(since, fine_from, COARSE), Span(fine_from, now, FINE)):
        read = _of_keys if condition.kind is RuleKind.REFUSED_KEYS else _of_calls
        for subject, intervals in read(condition, span).items():
            found[subject] += intervals
    return found


def _of_calls(condition: RuleCondition, span: Span) -> Mapping[str, list[Interval]]:
    per = Per.UPSTREAM if condition.kind is RuleKind.UPSTREAM_DOWN else condition.per
    chosen = replace(condition, origins=("upstream",)) if condition.kind is RuleKind.UPSTREAM_DOWN else condition
    if per is Per.ALL:
        buckets = queries.series(span, Selection.of(filters(chosen)), wanted=wanted(chosen)).buckets
        return {"": [Interval(each.start, span.step, measured(each.figures, chosen)) for each in buckets]}
    return {
        subject: [Interval(start, span.step, seen) for start, seen in values]
        for subject, values in values_by_subject(chosen, span, per.value)
    }


def _of_keys(condition: RuleCondition, span: Span) -> Mapping[str, list[Interval]]:
    rows = RejectedKey.objects.filter(minute__gte=span.since, minute__lt=span.until).order_by().values_list("minute")
    counts: defaultdict[int, int] = defaultdict(int)
    for minute, times in rows.annotate(times=Sum("attempts")):
        counts[int((minute - span.since) / span.step)] += times
    return {
        "": [
            Interval(span.since + n * span.step, span.step, MeasuredValue(float(counts[n]), counts[n], counts[n]))
            for n in range(int((span.until - span.since) / span.step))
        ]
    }


# -- Replay -------------------------------------------------------------------------------------------


def _rolled(intervals: Sequence[Interval], condition: RuleCondition) -> Iterator[Interval]:
    """Each interval with the count or share over the rule's window, if that is longer than FINE. Percentiles cannot be
    added up, so they stay as they are."""
    if condition.declared.unit is LimitUnit.MILLISECONDS or condition.window <= FINE:
        yield from intervals
        return
    window: deque[Interval] = deque()
    for interval in intervals:
        window.append(interval)
        while window[0].start <= interval.start - max(condition.window, interval.step):
            window.popleft()
        sample, affected = sum(each.seen.sample for each in window), sum(each.seen.affected for each in window)
        is_count = condition.declared.unit is LimitUnit.COUNT
        value = float(affected) if is_count else (affected / sample if sample else None)
        yield replace(interval, seen=MeasuredValue(value, sample, affected))


def _can_fire(intervals: Sequence[Interval], condition: RuleCondition) -> bool:
    """Whether any interval is over the limit. Most subjects have none, and replaying them would take long."""
    return any(
        each.seen.sample >= condition.minimum and each.seen.value > condition.limit
        if each.seen.value is not None
        else condition.no_data == NoData.FIRE
        for each in intervals
    )


def _replayed(subject: str, intervals: Sequence[Interval], condition: RuleCondition) -> Iterator[Firing]:
    """Runs the state machine over the intervals. An interval's value holds from its start to its end."""
    track, fired_at, peak = alert_states.normal(intervals[0].start), None, 0.0
    for interval in intervals:
        end = interval.start + interval.step
        reading = Reading(subject, interval.seen.value, condition.limit, condition.recovery, "", interval.seen.sample)
        seen = signal(reading, minimum=condition.minimum, no_data=NoData(condition.no_data))
        for moment in (interval.start, end):
            track = alert_states.step(track, seen, moment, condition.timing) if seen else track
        if track.state is AlertState.ALERTING and fired_at is None:
            fired_at, peak = end, 0.0
        if fired_at is not None:
            peak = max(peak, interval.seen.value or 0.0)
        if track.state is AlertState.NORMAL and fired_at is not None:
            yield Firing(subject, fired_at, end, peak)
            fired_at = None
    if fired_at is not None:
        yield Firing(subject, fired_at, intervals[-1].start + intervals[-1].step, peak)
