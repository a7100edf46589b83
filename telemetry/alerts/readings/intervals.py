"""The value of a rule in each interval of a span, for each of its subjects: tens of thousands of values.

Only the sums of calls and of affected calls are read, because a CallFigures for each value would take seconds.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from telemetry import queries
from telemetry.alert_kinds import RuleKind
from telemetry.alerts.conditions import RuleCondition
from telemetry.alerts.readings.measures import MeasuredValue, count, filters, share, slowness
from telemetry.call_figures import MIN_CALLS_FOR_PERCENTILES, Latency
from telemetry.queries import MeasureSet, Selection, Span
from telemetry.rollups import histogram
from telemetry.rollups.summation import Added

CALLS = MeasureSet(("calls",))
WANTED = {
    RuleKind.OVERSIZED: MeasureSet(("calls", "oversized_calls")),
    RuleKind.SLOW: MeasureSet(("calls",), ("latency",)),
}
FAILURES = (RuleKind.ERROR_RATE, RuleKind.UPSTREAM_DOWN)

Values = Iterator[tuple[str, Iterator[tuple[datetime, MeasuredValue]]]]


def values_by_subject(condition: RuleCondition, span: Span, per: str) -> Values:
    """For each subject, the values of the intervals in which it had calls, in order."""
    selection = Selection.of(filters(condition))
    found = queries.intervals(span, selection, split=per, wanted=WANTED.get(condition.kind, CALLS))
    failed = _failed(condition, span, selection, per)
    for subject, rows in found.items():
        if subject:
            yield subject, _values(condition.kind, rows, failed.get(subject, {}))


def _values(
    kind: RuleKind, rows: Sequence[tuple[datetime, Added]], failed: Mapping[datetime, int]
) -> Iterator[tuple[datetime, MeasuredValue]]:
    for start, row in rows:
        yield start, _value(kind, row, failed.get(start, 0))


def _failed(
    condition: RuleCondition, span: Span, selection: Selection, per: str
) -> Mapping[str, Mapping[datetime, int]]:
    """Subject → start of an interval → failed calls of the rule's origins."""
    if condition.kind not in FAILURES or not condition.origins:
        return {}
    found = queries.intervals(span, selection.only("origin", condition.origins), split=per, wanted=CALLS)
    return {subject: {start: int(row.measures[0]) for start, row in rows} for subject, rows in found.items()}


def _value(kind: RuleKind, row: Added, failed: int) -> MeasuredValue:
    calls = int(row.measures[0])
    match kind:
        case RuleKind.OVERSIZED:
            return share(int(row.measures[1]), calls)
        case RuleKind.SLOW:
            is_enough = calls >= MIN_CALLS_FOR_PERCENTILES
            return slowness(Latency.of(histogram.joined(row.histograms[0])) if is_enough else Latency(), calls)
        case RuleKind.PAGING:
            return count(calls)
    return share(failed, calls)
