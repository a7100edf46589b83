"""`aggregate`: counts, sums and other figures over a list's rows, by groups.

{"groupBy":["propertyId",{"field":"checkInDate","bucket":"month"}],"metrics":[{"op":"sum","field":"totalPrice"}]}
gives [{"propertyId":200285,"checkInDate":"2026-11","sum_totalPrice":1234.5}, …].

Nulls form a group of their own, and metrics skip them; a metric without values is null, a count without values 0.
Groups come in the requested order, equal ones by their keys ascending; null is last in either direction. Sums are
exact; averages and percentiles have at most six decimals. Without groupBy there is exactly one group, even for no rows.
"""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import reduce, total_ordering
from itertools import islice
from typing import Any

from context_protection.core.errors import InvalidArgument, nearest, shown
from context_protection.core.query.columns import (
    EXACT,
    AskedColumn,
    AskedColumns,
    Scalar,
    Type,
    as_json,
    place,
    storable,
    week,
)
from context_protection.core.query.conditions import read_object

PARAMETER = "aggregate"
KEYS, METRICS, NAME_CHARS, MOST_GROUPS = 4, 10, 60, 1000
GROUPS_WITHOUT_LIMIT = 10_000
DECIMALS = Decimal("0.000001")

PERCENTILES = {
    "median": Decimal("0.5"),
    "p50": Decimal("0.5"),
    "p75": Decimal("0.75"),
    "p90": Decimal("0.9"),
    "p95": Decimal("0.95"),
    "p99": Decimal("0.99"),
}


class Reduction(StrEnum):
    """How a metric reduces its values to one."""

    COUNT = "count"
    COUNT_DISTINCT = "countDistinct"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    PERCENTILE = "percentile"


OPS = (*Reduction, *PERCENTILES)
MEASURING = (Reduction.SUM, Reduction.AVG, Reduction.MIN, Reduction.MAX, Reduction.PERCENTILE)
OF_NUMBERS = (Reduction.SUM, Reduction.AVG, Reduction.PERCENTILE)


class Bucket(StrEnum):
    """A span of time: "2026-11-20T13", "2026-11-20", "2026-W47", "2026-11", "2026-Q4", "2026"."""

    HOUR = "hour"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@dataclass(frozen=True)
class Key:
    name: str
    column: AskedColumn
    bucket: Bucket | None = None

    @property
    def type(self) -> Type:
        """The type as which the row's value is read, before it is put in its bucket."""
        return Type.MOMENT if self.bucket and self.column.type is Type.ANY else self.column.type

    def read(self, record: Mapping[str, Any]) -> Scalar | None:
        value = self.column.read(record, self.type)
        return bucketed(value, self.bucket) if self.bucket and isinstance(value, str) else value


@dataclass(frozen=True)
class Metric:
    """`column`: None for the count of rows. `fraction`: of a percentile, 0 to 1."""

    name: str
    reduction: Reduction
    column: AskedColumn | None = None
    fraction: Decimal = Decimal(0)

    @property
    def types(self) -> tuple[Type, ...]:
        """The types as which the rows' values are read: the first type that has any values is used."""
        assert self.column is not None
        if self.reduction in OF_NUMBERS:
            return (Type.NUMBER,)
        if self.reduction in (Reduction.MIN, Reduction.MAX) and self.column.type is Type.ANY:
            return Type.NUMBER, Type.TEXT
        return (self.column.type,)


@dataclass(frozen=True)
class Unit:
    """A column with the unit (currency) of the metrics' numbers, if groupBy does not contain it."""

    column: AskedColumn
    metrics: tuple[Metric, ...]


@dataclass(frozen=True)
class Aggregation:
    """A parsed `aggregate`. `order`: the index of the value to sort groups by, counted over keys, then metrics; None
    sorts by the keys."""

    keys: tuple[Key, ...]
    metrics: tuple[Metric, ...]
    units: tuple[Unit, ...] = ()
    order: int | None = None
    descending: bool = False
    limit: int | None = None

    @property
    def names(self) -> list[str]:
        return [*(key.name for key in self.keys), *(metric.name for metric in self.metrics)]

    @property
    def columns(self) -> list[AskedColumn]:
        """All columns that the keys and metrics read."""
        measured = (metric.column for metric in self.metrics)
        return [*(key.column for key in self.keys), *(column for column in measured if column)]


@dataclass(frozen=True)
class Groups:
    """`rows`: each group's keys and metrics by name, as JSON values. `notes`: remarks for the caller, such as units."""

    rows: list[dict[str, Any]]
    notes: tuple[str, ...] = ()


# A group's values: the keys' values, then the metrics'.
Group = Sequence[Scalar | None]


# -- Parsing ----------------------------------------------------------------------------------------


def parse(aggregate: Any, columns: AskedColumns) -> Aggregation:
    """Parses an `aggregate` object, or the JSON text of one. Raises InvalidArgument."""
    document = read_object(aggregate, PARAMETER, 'an object such as {"groupBy":["status"],"metrics":[{"op":"count"}]}')
    _check_names(document, ("groupBy", "metrics", "orderBy", "limit"), "aggregate")
    keys = tuple(_key(each, columns) for each in _listed(document, "groupBy", KEYS))
    metrics = tuple(_metric(each, columns) for each in _listed(document, "metrics", METRICS))
    spec = Aggregation(keys, metrics or (Metric("count", Reduction.COUNT),), limit=_limit(document.get("limit")))
    spec = replace(spec, units=tuple(_units(spec, columns)))
    _check_unique([*(unit.column.name for unit in spec.units), *spec.names])
    return _ordered(spec, document.get("orderBy"))


def _listed(document: Mapping[str, Any], name: str, most: int) -> list[Any]:
    value = document.get(name)
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    if len(items) > most:
        raise _invalid(f"{name} has {len(items)} entries.", value, f"at most {most} entries in {name}")
    return items


def _key(raw: Any, columns: AskedColumns) -> Key:
    entry = {"field": raw} if isinstance(raw, str) else raw
    _check_entry(
        entry, ("field", "bucket", "as"), "groupBy", 'a field\'s name, or {"field":"checkInDate","bucket":"month"}'
    )
    column = columns.resolve(entry["field"], PARAMETER)
    _check_shown(column, "grouped by")
    return Key(_name(entry.get("as"), column.name), column, _bucket(column, entry.get("bucket")))


def _bucket(column: AskedColumn, raw: Any) -> Bucket | None:
    if raw is None:
        return None
    if raw not in list(Bucket):
        close = nearest(str(raw)[:NAME_CHARS], list(Bucket))
        valid = ", ".join(Bucket)
        raise _invalid(
            f"There is no bucket {shown(raw)!r}.", raw, f"any of: {valid}", close and f"Did you mean {close}?"
        )
    if column.type not in (Type.DATE, Type.MOMENT, Type.ANY):
        raise _invalid(f"{shown(column.name)} is a {column.type}.", raw, "a bucket only for dates and moments")
    if raw == Bucket.HOUR and column.type is Type.DATE:
        raise _invalid(f"{shown(column.name)} is a date without hours.", raw, "day, week, month, quarter or year")
    return Bucket(raw)


def _metric(raw: Any, columns: AskedColumns) -> Metric:
    entry = {"op": raw} if isinstance(raw, str) else raw
    expected = 'an object such as {"op":"sum","field":"totalPrice","as":"revenue"}'
    _check_entry(entry, ("op", "field", "as", "p"), "metrics", expected)
    op = entry["op"]
    if op not in OPS:
        close = nearest(op[:NAME_CHARS], OPS)
        raise _invalid(
            f"There is no metric {shown(op)!r}.", op, f"any of: {', '.join(OPS)}", close and f"Did you mean {close}?"
        )
    if "p" in entry and op != Reduction.PERCENTILE:
        raise _invalid(f"{op} takes no p.", entry["p"], 'p only with {"op":"percentile"}')
    reduction = Reduction.PERCENTILE if op in PERCENTILES else Reduction(op)
    column = _measured(entry.get("field"), reduction, columns)
    fraction = _fraction(op, entry.get("p")) if reduction is Reduction.PERCENTILE else Decimal(0)
    prefix = f"p{(fraction * 100).normalize():f}" if op == Reduction.PERCENTILE else op
    return Metric(_name(entry.get("as"), f"{prefix}_{column.name}" if column else op), reduction, column, fraction)


def _measured(field: Any, reduction: Reduction, columns: AskedColumns) -> AskedColumn | None:
    if field is None and reduction is Reduction.COUNT:
        return None
    if not isinstance(field, str):
        raise _invalid(f"{reduction} needs a field.", field, f'a field\'s name: {{"op":"{reduction}","field":"…"}}')
    column = columns.resolve(field, PARAMETER)
    if reduction is not Reduction.COUNT:
        _check_shown(column, "measured")
    if reduction in OF_NUMBERS and column.type not in (Type.NUMBER, Type.ANY):
        expected = f"{reduction} of a number; count or countDistinct of anything"
        raise _invalid(f"{shown(field)} is a {column.type}, no number.", field, expected)
    if reduction in (Reduction.MIN, Reduction.MAX) and column.type is Type.BOOLEAN:
        raise _invalid(f"{shown(field)} is true or false.", field, "count or countDistinct of it")
    return column


def _fraction(op: str, raw: Any) -> Decimal:
    if op in PERCENTILES:
        return PERCENTILES[op]
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not 0 <= raw <= 1:
        raise _invalid("percentile needs p.", raw, 'p from 0 to 1: {"op":"percentile","p":0.9,"field":"…"}')
    return Decimal(str(raw))


def _name(raw: Any, default: str) -> str:
    if raw is None:
        return default
    if isinstance(raw, str) and 0 < len(raw) <= NAME_CHARS and not raw.startswith("-") and storable([raw]):
        return raw
    raise _invalid("as is no name.", raw, f"a text of 1 to {NAME_CHARS} characters that does not begin with -")


def _limit(raw: Any) -> int | None:
    if raw is None:
        return None
    if isinstance(raw, bool) or not isinstance(raw, int) or not 1 <= raw <= MOST_GROUPS:
        raise _invalid("limit is no number of groups.", raw, f"a whole number from 1 to {MOST_GROUPS}")
    return raw


def _units(spec: Aggregation, columns: AskedColumns) -> Iterator[Unit]:
    grouped = {key.column.source for key in spec.keys}
    by_unit: dict[str, list[Metric]] = {}
    for metric in spec.metrics:
        if metric.column and metric.column.unit and metric.reduction in MEASURING:
            by_unit.setdefault(metric.column.unit, []).append(metric)
    for name, metrics in by_unit.items():
        column = columns.resolve(name, PARAMETER)
        if column.source not in grouped:
            yield Unit(column, tuple(metrics))


def _ordered(spec: Aggregation, raw: Any) -> Aggregation:
    if raw is None:
        return spec
    names = spec.names
    for sign in ("", "-"):  # a name may begin with "-" itself
        if isinstance(raw, str) and raw.startswith(sign) and (name := raw.removeprefix(sign)) in names:
            return replace(spec, order=names.index(name), descending=bool(sign))
    close = nearest(raw.removeprefix("-")[:NAME_CHARS], names) if isinstance(raw, str) else None
    valid = ", ".join(str(shown(name)) for name in names)
    expected = f"one of the result's names, - before it for descending: {valid}"
    raise _invalid(f"orderBy names {shown(raw)!r}.", raw, expected, close and f"Did you mean {shown(close)}?")


def _check_entry(entry: Any, names: Sequence[str], of: str, expected: str) -> None:
    if not isinstance(entry, dict) or not isinstance(entry.get(names[0]), str):
        raise _invalid(f"{of} has an entry without {names[0]}.", entry, expected)
    _check_names(entry, names, of)


def _check_names(document: Mapping[str, Any], names: Sequence[str], of: str) -> None:
    for name in document:
        if name not in names:
            close = nearest(str(name)[:NAME_CHARS], names)
            expected = f"any of: {', '.join(names)}"
            raise _invalid(f"{of} has no {shown(name)!r}.", name, expected, close and f"Did you mean {close}?")


def _check_shown(column: AskedColumn, done: str) -> None:
    if column.only_where:
        message = f"{shown(column.name)} is withheld in lists and cannot be {done}."
        raise _invalid(message, column.name, "count of it, a condition on it in where, or another field")


def _check_unique(names: Sequence[str]) -> None:
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if twice is not None:
        message = f"Two values of a group would be named {shown(twice)!r}."
        raise _invalid(message, twice, 'a name for one of them: "as"', "Set as to a name that nothing else has.")


def _invalid(message: str, value: Any, expected: str, suggestion: str | None = None) -> InvalidArgument:
    return InvalidArgument(
        message,
        reason="invalid_aggregate",
        parameter=PARAMETER,
        value=value,
        expected=expected,
        suggestion=suggestion or f"Send {expected}.",
    )


# -- In memory --------------------------------------------------------------------------------------


def aggregate(rows: Sequence[Mapping[str, Any]], spec: Aggregation) -> Groups:
    """Groups rows in upstream's own form. Raises InvalidArgument if there are too many groups."""
    spec, notes = with_units(spec, lambda unit: _units_of(rows, unit))
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {} if spec.keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(place(key.read(row)) for key in spec.keys), []).append(row)
    return answer(spec, (_group(spec, members) for members in groups.values()), notes)


def _group(spec: Aggregation, rows: Sequence[Mapping[str, Any]]) -> Group:
    return [*(key.read(rows[0]) for key in spec.keys), *(_measure(metric, rows) for metric in spec.metrics)]


def _measure(metric: Metric, rows: Sequence[Mapping[str, Any]]) -> Scalar | None:
    if metric.column is None:
        return Decimal(len(rows))
    values: list[Scalar] = []
    for as_type in metric.types:
        read = (metric.column.read(row, as_type) for row in rows)
        if values := [value for value in read if value is not None]:
            break
    return _reduced(metric, values)


def _reduced(metric: Metric, values: list[Any]) -> Scalar | None:
    """The figure of one metric. `values`: all of one type, unless they are only counted."""
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


def _units_of(rows: Iterable[Mapping[str, Any]], unit: Unit) -> list[Scalar | None]:
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
    """Linear interpolation between the two nearest ranks, as Postgres's percentile_cont, but exact; None for no
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


def bucketed(value: str, bucket: Bucket) -> str:
    """The bucket of a date or moment (YYYY-MM-DD, or with HH:MM:SS)."""
    match bucket:
        case Bucket.HOUR:
            return value[:13].replace(" ", "T")
        case Bucket.DAY:
            return value[:10]
        case Bucket.WEEK:
            return week(value[:10])
        case Bucket.MONTH:
            return value[:7]
        case Bucket.QUARTER:
            return f"{value[:4]}-Q{(int(value[5:7]) + 2) // 3}"
        case Bucket.YEAR:
            return value[:4]


def with_units(
    spec: Aggregation, units_of: Callable[[Unit], Sequence[Scalar | None]]
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
                f"{names}: in several units, so the groups are by {name} too; do not add or compare across {name}."
            )
        elif found and found[0] is not None:
            notes.append(f"{names}: {name} is {shown(found[0])} in all rows.")
    return spec, tuple(notes)


def _by_unit(spec: Aggregation, column: AskedColumn) -> Aggregation:
    keys = (*spec.keys, Key(column.name, column))
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
            expected=f"limit (1 to {MOST_GROUPS}) with orderBy, or fewer groups",
            suggestion="Set limit, group by fewer fields or larger buckets, or ask for fewer rows with where.",
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
