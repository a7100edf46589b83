"""Totals, series and groups: every panel of the pages is one of these."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from telemetry.call_figures import CallFigures, GroupFigures, IntervalFigures, Series
from telemetry.queries.selection import DIMENSIONS, Selection
from telemetry.queries.sources import Calls, Key, Question, Sums, read
from telemetry.queries.span import Span

ALL = Selection()


def totals(
    span: Span, selection: Selection = ALL, *, calls: Calls | None = None, has_latency: bool = True
) -> CallFigures:
    """The figures of the selected calls. `calls`: only these calls, without rollups."""
    found = read(Question(span, selection, has_latency=has_latency, calls=calls))
    return found.get((), Sums()).figures()


def series(
    span: Span,
    selection: Selection = ALL,
    *,
    split: str | None = None,
    calls: Calls | None = None,
    has_latency: bool = True,
) -> Series:
    """The figures over time, in the span's buckets. `split`: a dimension, by whose values each bucket has parts."""
    by = (DIMENSIONS[split],) if split else ()
    found = read(Question(span, selection, by, is_over_time=True, has_latency=has_latency, calls=calls))
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


def groups(
    span: Span,
    selection: Selection = ALL,
    *,
    by: Sequence[str],
    at_most: int = 100,
    has_latency: bool = True,
) -> tuple[GroupFigures, ...]:
    """The figures for each combination of values of the dimensions, the one with the most calls first."""
    found = read(Question(span, selection, tuple(DIMENSIONS[each] for each in by), has_latency=has_latency))
    return tuple(GroupFigures(key, found[key].figures()) for key in _busiest(found)[:at_most])


def _figures(sums: Sums | None) -> CallFigures:
    return sums.figures() if sums else CallFigures()


def _busiest(found: Mapping[Key, Sums]) -> list[Key]:
    return sorted(found, key=lambda key: (-found[key].measures["calls"], tuple(map(str, key))))


def _merged(found: Mapping[Key, Sums], part: Any) -> dict[Any, Sums]:
    """The sums added up by a part of their keys."""
    merged: dict[Any, Sums] = {}
    for key, sums in found.items():
        into = merged.setdefault(part(key), Sums())
        for name in ("measures", "outcomes", "origins", "latency", "upstream_latency"):
            getattr(into, name).update(getattr(sums, name))
    return merged
