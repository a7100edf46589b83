"""Totals, series and groups: every panel of the pages is one of these."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from telemetry import page_memory
from telemetry.call_figures import CallFigures, GroupFigures, IntervalFigures, Series
from telemetry.queries.selection import DIMENSIONS, Selection
from telemetry.queries.sources import SUMS, SUMS_AND_TIMES, Calls, Key, Question, Sums, read, rows
from telemetry.queries.span import Span
from telemetry.rollups.summation import Added, MeasureSet

ALL = Selection()


def totals(
    span: Span, selection: Selection = ALL, *, calls: Calls | None = None, wanted: MeasureSet = SUMS_AND_TIMES
) -> CallFigures:
    """The figures of the selected calls. `calls`: reads these calls instead of rollups."""
    question = Question(span, selection, wanted=wanted, calls=calls)
    known = next((found for each, found in _known(question).items() if each.wanted.has(wanted)), None)
    return _whole(_asked(question) if known is None else known).figures()


def series(
    span: Span,
    selection: Selection = ALL,
    *,
    split: str | None = None,
    calls: Calls | None = None,
    wanted: MeasureSet = SUMS_AND_TIMES,
) -> Series:
    """The figures over time, in the span's buckets. `split`: a dimension; each bucket has a part for each value."""
    by = (DIMENSIONS[split],) if split else ()
    found = _asked(Question(span, selection, by, is_over_time=True, wanted=wanted, calls=calls))
    whole = _merged(found, lambda key: key[0]) if split else {key[0]: sums for key, sums in found.items()}
    parts: dict[datetime, dict[Any, CallFigures]] = {}
    for key, sums in found.items() if split else ():
        parts.setdefault(key[0], {})[key[1]] = sums.figures()
    values = _busiest(_merged(found, lambda key: key[1:])) if split else []
    return Series(
        span.step,
        tuple(IntervalFigures(start, _figures(whole.get(start)), parts.get(start, {})) for start in span.starts),
        tuple(value for (value,) in values),
    )


def intervals(
    span: Span, selection: Selection, *, split: str, wanted: MeasureSet
) -> dict[Any, list[tuple[datetime, Added]]]:
    """Value of the dimension → its buckets that have calls, in order, with their sums. For many values and buckets,
    this takes less than half the time of `series`."""
    starts = span.starts
    by_value: dict[Any, list[tuple[datetime, Added]]] = {}
    for row in rows(Question(span, selection, (DIMENSIONS[split],), is_over_time=True, wanted=wanted)):
        number, value = row.key
        by_value.setdefault(value, []).append((starts[number], row))
    for found in by_value.values():
        found.sort(key=itemgetter(0))
    return by_value


def groups(
    span: Span,
    selection: Selection = ALL,
    *,
    by: Sequence[str],
    at_most: int = 100,
    wanted: MeasureSet = SUMS_AND_TIMES,
) -> tuple[GroupFigures, ...]:
    """The figures for each combination of values of the dimensions, the one with the most calls first."""
    found = _asked(Question(span, selection, tuple(DIMENSIONS[each] for each in by), wanted=wanted))
    return tuple(GroupFigures(key, found[key].figures()) for key in _busiest(found)[:at_most])


def _asked(question: Question) -> Mapping[Key, Sums]:
    """The answer to a question; it is not read again if the page has already asked the question."""
    known = _known(question)
    if question not in known:
        known[question] = read(question)
    return known[question]


def _known(question: Question) -> dict[Question, Mapping[Key, Sums]]:
    """The page's earlier questions about the same calls, with their answers. Each answer counts every call once."""
    return page_memory.remembered((question.span, question.selection, question.calls), dict)


def _whole(found: Mapping[Key, Sums]) -> Sums:
    return _merged(found, lambda key: ()).get((), Sums(SUMS))


def _figures(sums: Sums | None) -> CallFigures:
    return sums.figures() if sums else CallFigures()


def _busiest(found: Mapping[Key, Sums]) -> list[Key]:
    return sorted(found, key=lambda key: (-found[key].calls, tuple(map(str, key))))


def _merged(found: Mapping[Key, Sums], part: Any) -> dict[Any, Sums]:
    """The sums added up by a part of their keys."""
    merged: dict[Any, Sums] = {}
    for key, sums in found.items():
        merged.setdefault(part(key), Sums(sums.wanted)).merge(sums)
    return merged
