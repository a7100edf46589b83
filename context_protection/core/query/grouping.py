"""Computes the groups of an aggregation in memory, with helpers for computing the same figures in a database."""

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce, total_ordering
from itertools import islice
from typing import Any

from context_protection.core.errors import InvalidArgument, shown
from context_protection.core.query.aggregation import (
    DECIMALS,
    GROUPS_WITHOUT_LIMIT,
    MAX_GROUPS,
    PARAMETER,
    Aggregation,
    CommonUnit,
    Group,
    GroupKey,
    GroupMetric,
    Groups,
    Reduction,
)
from context_protection.core.query.columns import (
    EXACT,
    QueryColumn,
    Scalar,
    Type,
    as_json,
    place,
)

# -- In memory --------------------------------------------------------------------------------------


def aggregate(rows: Sequence[Mapping[str, Any]], spec: Aggregation) -> Groups:
    """Groups rows as upstream sent them. Raises InvalidArgument if there are too many groups."""
    spec, notes = with_units(spec, lambda unit: _units_of(rows, unit))
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {} if spec.keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(place(key.read(row)) for key in spec.keys), []).append(row)
    return answer(spec, (_group(spec, members) for members in groups.values()), notes)


def _group(spec: Aggregation, rows: Sequence[Mapping[str, Any]]) -> Group:
    return [*(key.read(rows[0]) for key in spec.keys), *(_measure(metric, rows) for metric in spec.metrics)]


def _measure(metric: GroupMetric, rows: Sequence[Mapping[str, Any]]) -> Scalar | None:
    if metric.column is None:
        return Decimal(len(rows))
    values: list[Scalar] = []
    for as_type in metric.types:
        read = (metric.column.read(row, as_type) for row in rows)
        if values := [value for value in read if value is not None]:
            break
    return _reduced(metric, values)


def _reduced(metric: GroupMetric, values: list[Any]) -> Scalar | None:
    """The result of one metric. `values`: of a single type, unless they are only counted."""
    match metric.reduction:
        case Reduction.COUNT:
            return Decimal(len(values))
        case Reduction.COUNT_DISTINCT:
            return Decimal(len({place(value) for value in values}))
        case Reduction.SUM:
            return total(values)
        case Reduction.AVG:
            return average(total(values), len(values))
        case Reduction.MIN:
            return min(values, default=None)
        case Reduction.MAX:
            return max(values, default=None)
        case Reduction.PERCENTILE:
            return rounded(percentile(values, metric.fraction))


def _units_of(rows: Iterable[Mapping[str, Any]], unit: CommonUnit) -> list[Scalar | None]:
    columns = [metric.column for metric in unit.metrics if metric.column]
    measured = (row for row in rows if any(column.read(row, Type.NUMBER) is not None for column in columns))
    found = {place(value): value for value in (unit.column.read(row, unit.column.type) for row in measured)}
    return list(found.values())


# -- Figures, shared by memory and database ---------------------------------------------------------


def total(numbers: Iterable[Decimal]) -> Decimal | None:
    """The exact sum; None for no numbers."""
    values = list(numbers)
    return reduce(EXACT.add, values) if values else None


def average(sum_: Decimal | None, count: int) -> Decimal | None:
    return rounded(EXACT.divide(sum_, Decimal(count))) if sum_ is not None else None


def percentile(numbers: Iterable[Decimal], fraction: Decimal) -> Decimal | None:
    """Linear interpolation between the two nearest ranks, like Postgres's percentile_cont, but exact; None for no
    numbers."""
    ranked = sorted(numbers)
    if not ranked:
        return None
    rank = EXACT.multiply(fraction, Decimal(len(ranked) - 1))
    low, high = ranked[math.floor(rank)], ranked[math.ceil(rank)]
    step = EXACT.multiply(EXACT.subtract(high, low), EXACT.subtract(rank, Decimal(math.floor(rank))))
    return EXACT.add(low, step)


def rounded(number: Decimal | None) -> Decimal | None:
    return number.quantize(DECIMALS, context=EXACT) if number is not None else None


def with_units(
    spec: Aggregation, units_of: Callable[[CommonUnit], Sequence[Scalar | None]]
) -> tuple[Aggregation, tuple[str, ...]]:
    """Adds to groupBy every unit that has several values in the rows; returns the aggregation and notes about units.

    Amounts in several currencies cannot be added. Grouping by the currency too still answers "revenue by month" in one
    call with correct figures; an error would cost a second call. The check covers all requested rows, not each group,
    because readers compare figures across groups.
    """
    notes = []
    for unit in spec.units:
        found = units_of(unit)
        names = ", ".join(str(shown(metric.name)) for metric in unit.metrics)
        name = unit.column.name
        if len(found) > 1:
            spec = _by_unit(spec, unit.column)
            notes.append(
                f"{names}: in several units, so groups are split by {name} too; do not add or compare across {name}."
            )
        elif found and found[0] is not None:
            notes.append(f"{names}: {name} is {shown(found[0])} in all rows.")
    if spec.ranked and len(units_of(spec.ranked)) > 1:
        (metric,), name = spec.ranked.metrics, spec.ranked.column.name
        notes.append(f"{shown(metric.name)}: the order is across {name}; compare only groups of one {name}.")
    return spec, tuple(notes)


def _by_unit(spec: Aggregation, column: QueryColumn) -> Aggregation:
    keys = (*spec.keys, GroupKey(column.name, column))
    moved = spec.order is not None and spec.order >= len(spec.keys)
    return replace(spec, keys=keys, order=spec.order + 1 if spec.order is not None and moved else spec.order)


def answer(spec: Aggregation, groups: Iterable[Group], notes: tuple[str, ...]) -> Groups:
    """The groups, sorted and limited. Groups beyond `limit` are dropped while they stream in, so memory stays bounded.
    Raises InvalidArgument if no limit is set and there are too many groups."""
    chosen = heapq.nsmallest(spec.limit, groups, key=_sorting(spec)) if spec.limit else _bounded(spec, groups)
    return Groups([dict(zip(spec.names, map(as_json, group), strict=True)) for group in chosen], notes)


def _bounded(spec: Aggregation, groups: Iterable[Group]) -> list[Group]:
    first = list(islice(groups, GROUPS_WITHOUT_LIMIT + 1))
    if len(first) > GROUPS_WITHOUT_LIMIT:
        raise InvalidArgument(
            f"There are more than {GROUPS_WITHOUT_LIMIT:,} groups.",
            reason="too_many_groups",
            parameter=PARAMETER,
            value=[key.name for key in spec.keys],
            expected=f"limit (1 to {MAX_GROUPS}) with orderBy, or fewer groups",
            suggestion="Set limit, group by fewer fields or larger buckets, or select fewer rows with where.",
        )
    return sorted(first, key=_sorting(spec))


def _sorting(spec: Aggregation) -> Callable[[Group], tuple[Any, ...]]:
    def sorting(group: Group) -> tuple[Any, ...]:
        keys = tuple(place(value) for value in group[: len(spec.keys)])
        if spec.order is None:
            return keys
        value = group[spec.order]
        position = place(value)
        return (value is None, _Descending(position) if spec.descending else position, *keys)

    return sorting


@total_ordering
@dataclass(frozen=True)
class _Descending:
    place: tuple[int, Any]

    def __lt__(self, other: "_Descending") -> bool:
        return other.place < self.place
