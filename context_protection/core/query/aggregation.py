"""`aggregate`: counts, sums and other figures over a list's rows, by groups.

{"groupBy":["propertyId",{"field":"checkInDate","bucket":"month"}],"metrics":[{"op":"sum","field":"totalPrice"}]}
gives [{"propertyId":200285,"checkInDate":"2026-11","sum_totalPrice":1234.5}, …].

Nulls form a group of their own, and metrics skip them; a metric without values is null, a count without values 0.
Groups come in the requested order, equal ones by their keys ascending; null is last in either direction. Sums are
exact; averages and percentiles have at most six decimals. Without groupBy there is exactly one group, even for no rows.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any

from context_protection.core.errors import nearest, shown
from context_protection.core.names import fold_name, meant
from context_protection.core.query.buckets import Bucket, bucketed
from context_protection.core.query.columns import (
    QueryColumn,
    QueryColumns,
    Scalar,
    Type,
    storable,
)
from context_protection.core.query.corrections import NOTHING, Correctable
from context_protection.core.query.documents import parsed

PARAMETER = "aggregate"
MAX_KEYS, MAX_METRICS, NAME_CHARS, MAX_GROUPS = 4, 10, 60, 1000
GROUPS_WITHOUT_LIMIT = 10_000
DECIMALS = Decimal("0.000001")

MEDIAN = "median"


class Reduction(StrEnum):
    """The function by which a metric reduces its values to one."""

    COUNT = "count"
    COUNT_DISTINCT = "countDistinct"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    PERCENTILE = "percentile"


OPS = (*Reduction, MEDIAN, "p50", "p75", "p90", "p95", "p99")  # every p1 to p99 is accepted
_PERCENTILE = re.compile(r"p([1-9][0-9]?)")
_OTHER_PERCENTILE = re.compile(r"p[0-9.]+")
SIMILAR = 0.6  # how similar an operation must be to be suggested; a lower ratio suggests others with a common letter
# Other spellings of the operations, in lower case and without separators.
_SPELLINGS = {
    **dict.fromkeys(("average", "mean"), "avg"),
    **dict.fromkeys(("total", "add"), "sum"),
    **dict.fromkeys(("minimum", "lowest"), "min"),
    **dict.fromkeys(("maximum", "highest"), "max"),
    **dict.fromkeys(("distinct", "unique", "distinctcount", "nunique"), "countDistinct"),
}
_WHOLE = re.compile(r"[0-9]{1,9}")
_DIRECTED = re.compile(r"(.+?)[\s:,]+(asc|ascending|desc|descending)", re.IGNORECASE)
# Reductions whose result has the unit of the values.
WITH_UNIT = (Reduction.SUM, Reduction.AVG, Reduction.MIN, Reduction.MAX, Reduction.PERCENTILE)
NUMERIC = (Reduction.SUM, Reduction.AVG, Reduction.PERCENTILE)


@dataclass(frozen=True)
class GroupKey:
    name: str
    column: QueryColumn
    bucket: Bucket | None = None

    @property
    def type(self) -> Type:
        """The type to read the row's value as, before bucketing."""
        return Type.MOMENT if self.bucket and self.column.type is Type.ANY else self.column.type

    def read(self, record: Mapping[str, Any]) -> Scalar | None:
        value = self.column.read(record, self.type)
        return bucketed(value, self.bucket) if self.bucket and isinstance(value, str) else value


@dataclass(frozen=True)
class GroupMetric:
    """`column`: None for the count of rows. `fraction`: which percentile, 0 to 1; 0 for other reductions."""

    name: str
    reduction: Reduction
    column: QueryColumn | None = None
    fraction: Decimal = Decimal(0)

    @property
    def types(self) -> tuple[Type, ...]:
        """The types to try for the rows' values, in order: the first one that yields any value is used."""
        assert self.column is not None
        if self.reduction in NUMERIC:
            return (Type.NUMBER,)
        if self.reduction in (Reduction.MIN, Reduction.MAX) and self.column.type is Type.ANY:
            return Type.NUMBER, Type.TEXT
        return (self.column.type,)


@dataclass(frozen=True)
class CommonUnit:
    """A column with the unit (a currency) of some metrics, which is not in groupBy. If the rows have several units,
    they are grouped by this column too."""

    column: QueryColumn
    metrics: tuple[GroupMetric, ...]


@dataclass(frozen=True)
class Aggregation:
    """A parsed `aggregate`. `order`: the index of the value to sort groups by, counted over keys, then metrics; None
    sorts by the keys. `ranked`: the unit of the metric that sorts the groups, if that unit is one of the keys."""

    keys: tuple[GroupKey, ...]
    metrics: tuple[GroupMetric, ...]
    units: tuple[CommonUnit, ...] = ()
    order: int | None = None
    descending: bool = False
    limit: int | None = None
    ranked: CommonUnit | None = None

    @property
    def names(self) -> list[str]:
        return [*(key.name for key in self.keys), *(metric.name for metric in self.metrics)]

    @property
    def columns(self) -> list[QueryColumn]:
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


def parse(aggregate: Any, columns: QueryColumns) -> Aggregation:
    """Parses an `aggregate` object, or the JSON text of one. Raises InvalidArgument."""
    example = 'an object such as {"groupBy":["status"],"metrics":[{"op":"count"}]}'
    return parsed(aggregate, PARAMETER, example, lambda document: _parsed(document, columns))


def _parsed(given: Mapping[str, Any], columns: QueryColumns) -> Aggregation:
    document = _named(given, ("groupBy", "metrics", "orderBy", "limit"), "aggregate")
    keys = tuple(_key(each, columns) for each in _listed(document, "groupBy", MAX_KEYS))
    metrics = tuple(_metric(each, columns) for each in _listed(document, "metrics", MAX_METRICS))
    spec = Aggregation(keys, metrics or (GroupMetric("count", Reduction.COUNT),), limit=_limit(document.get("limit")))
    spec = replace(spec, units=tuple(_units(spec, columns)))
    _check_unique([*(unit.column.name for unit in spec.units), *spec.names])
    spec = _ordered(spec, document.get("orderBy"))
    return replace(spec, ranked=_ranked(spec))


def _listed(document: Mapping[str, Any], name: str, most: int) -> list[Any]:
    value = document.get(name)
    if value is None:
        return []
    items = value if isinstance(value, list) else _by_commas(value) if isinstance(value, str) else [value]
    if len(items) > most:
        raise _invalid(f"{name} has {len(items)} entries.", value, f"at most {most} entries in {name}")
    return items


def _by_commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _key(raw: Any, columns: QueryColumns) -> GroupKey:
    entry = _entry(
        {"field": raw} if isinstance(raw, str) else raw,
        ("field", "bucket", "as"),
        "groupBy",
        'a field\'s name, or {"field":"checkInDate","bucket":"month"}',
    )
    column = columns.resolve(entry["field"], PARAMETER)
    _check_shown(column, "grouped by")
    return GroupKey(_name(entry.get("as"), column.name), column, _bucket(column, entry.get("bucket")))


def _bucket(column: QueryColumn, raw: Any) -> Bucket | None:
    if raw is None:
        return None
    found = meant(str(raw)[:NAME_CHARS], Bucket)
    if found is None:
        close = nearest(str(raw)[:NAME_CHARS], [each.value for each in Bucket])
        raise _misnamed(f"There is no bucket {shown(raw)!r}.", raw, f"any of: {', '.join(Bucket)}", close)
    if column.type not in (Type.DATE, Type.MOMENT, Type.ANY):
        expected = "a bucket only on a date or date-time field"
        raise _invalid(f"{shown(column.name)} is a {column.type}.", raw, expected, wrong=raw)
    if found == Bucket.HOUR and column.type is Type.DATE:
        expected = "one of day, week, month, quarter and year"
        raise _invalid(
            f"{shown(column.name)} is a date without hours.", raw, expected, wrong=raw, right=Bucket.DAY.value
        )
    return Bucket(found)


def _metric(raw: Any, columns: QueryColumns) -> GroupMetric:
    expected = 'an object such as {"op":"sum","field":"totalPrice","as":"revenue"}'
    entry = _entry({"op": raw} if isinstance(raw, str) else raw, ("op", "field", "as", "p"), "metrics", expected)
    op = _op(entry["op"])
    if "p" in entry and op != Reduction.PERCENTILE:
        raise _invalid(f"{op} does not take p.", entry["p"], 'p only with {"op":"percentile"}', wrong="p")
    named = _named_fraction(op)
    reduction = Reduction(op) if named is None else Reduction.PERCENTILE
    column = _measured(entry, reduction, columns)
    fraction = _stated_fraction(entry) if op == Reduction.PERCENTILE else named or Decimal(0)
    prefix = f"p{(fraction * 100).normalize():f}" if op == Reduction.PERCENTILE else op
    return GroupMetric(_name(entry.get("as"), f"{prefix}_{column.name}" if column else op), reduction, column, fraction)


def _op(raw: str) -> str:
    word = fold_name(raw[:NAME_CHARS])
    if found := meant(raw[:NAME_CHARS], OPS) or _SPELLINGS.get(word):
        return str(found)
    if _PERCENTILE.fullmatch(word):
        return word
    message, expected = f"There is no metric {shown(raw)!r}.", f"any of: {', '.join(OPS)}"
    if _OTHER_PERCENTILE.fullmatch(word):
        raise _invalid(message, raw, expected, 'Use {"op":"percentile","p":0.999,"field":"…"}, with p from 0 to 1.')
    close = nearest(raw[:NAME_CHARS], [str(each) for each in OPS], SIMILAR)
    # Without a close one, there is no correction: without its metrics, a query counts.
    raise _misnamed(message, raw, expected, close) if close else _invalid(message, raw, expected)


def _measured(entry: Mapping[str, Any], reduction: Reduction, columns: QueryColumns) -> QueryColumn | None:
    field = entry.get("field")
    if field in (None, "*") and reduction is Reduction.COUNT:
        return None
    if not isinstance(field, str):
        expected = f'a field\'s name: {{"op":"{reduction}","field":"…"}}'
        raise _invalid(f"{reduction} needs a field.", field, expected, wrong=dict(entry))
    column = columns.resolve(field, PARAMETER)
    if reduction is not Reduction.COUNT:
        _check_shown(column, "measured")
    if reduction in NUMERIC and column.type not in (Type.NUMBER, Type.ANY):
        expected = f"a numeric field for {reduction}; any field for count and countDistinct"
        raise _invalid(f"{shown(field)} is a {column.type}, not a number.", field, expected, wrong=dict(entry))
    if reduction in (Reduction.MIN, Reduction.MAX) and column.type is Type.BOOLEAN:
        expected = "count or countDistinct for this field"
        raise _invalid(f"{shown(field)} is true or false.", field, expected, wrong=dict(entry))
    return column


def _named_fraction(op: str) -> Decimal | None:
    """The fraction of a percentile with its own name, such as p95."""
    if op == MEDIAN:
        return Decimal("0.5")
    return Decimal(match[1]) / 100 if (match := _PERCENTILE.fullmatch(op)) else None


def _stated_fraction(entry: Mapping[str, Any]) -> Decimal:
    raw = entry.get("p")
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not 0 <= raw <= 100:
        expected = 'p from 0 to 1: {"op":"percentile","p":0.9,"field":"…"}'
        raise _invalid("percentile needs p.", raw, expected, wrong=dict(entry), right={**entry, "p": 0.9})
    return Decimal(str(raw)) if raw <= 1 else Decimal(str(raw)) / 100


def _name(raw: Any, default: str) -> str:
    if raw is None:
        return default
    if isinstance(raw, str) and 0 < len(raw) <= NAME_CHARS and not raw.startswith("-") and storable([raw]):
        return raw
    expected = f"a text of 1 to {NAME_CHARS} characters that does not begin with -"
    raise _invalid("as is not a valid name.", raw, expected, wrong=raw)


def _limit(raw: Any) -> int | None:
    if raw is None:
        return None
    number = int(raw) if isinstance(raw, str) and _WHOLE.fullmatch(raw) else raw
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MAX_GROUPS:
        expected = f"a whole number from 1 to {MAX_GROUPS}"
        raise _invalid("limit is not a valid number of groups.", raw, expected, wrong=raw, right=_group_count(number))
    return number


def _group_count(number: Any) -> Any:
    return min(max(number, 1), MAX_GROUPS) if isinstance(number, int) and not isinstance(number, bool) else NOTHING


def _units(spec: Aggregation, columns: QueryColumns) -> Iterator[CommonUnit]:
    grouped = {key.column.source for key in spec.keys}
    by_unit: dict[str, list[GroupMetric]] = {}
    for metric in spec.metrics:
        if metric.column and metric.column.unit and metric.reduction in WITH_UNIT:
            by_unit.setdefault(metric.column.unit, []).append(metric)
    for name, metrics in by_unit.items():
        column = columns.resolve(name, PARAMETER)
        if column.source not in grouped:
            yield CommonUnit(column, tuple(metrics))


def _ranked(spec: Aggregation) -> CommonUnit | None:
    if spec.order is None or spec.order < len(spec.keys):
        return None
    metric = spec.metrics[spec.order - len(spec.keys)]
    if metric.column is None or metric.reduction not in WITH_UNIT:
        return None
    units = (key.column for key in spec.keys if metric.column.unit in (key.column.name, key.column.source))
    return next((CommonUnit(column, (metric,)) for column in units), None)


def _ordered(spec: Aggregation, raw: Any) -> Aggregation:
    if raw is None:
        return spec
    names = spec.names
    written = _with_sign(raw)
    if written in names:  # a name may begin with "-" itself
        return replace(spec, order=names.index(written))
    sign = "-" if written.startswith("-") else ""
    plain = written.removeprefix(sign)
    found = plain if plain in names else meant(plain, names)
    if found is not None:
        return replace(spec, order=names.index(found), descending=bool(sign))
    close = nearest(plain[:NAME_CHARS], names)
    valid = ", ".join(str(shown(name)) for name in names)
    expected = f"one of these names, with a leading - for descending order: {valid}"
    raise _misnamed(f"orderBy has an unknown name: {shown(raw)!r}.", raw, expected, close and f"{sign}{close}")


def _with_sign(raw: Any) -> str:
    """ "revenue desc" and {"field":"revenue","direction":"desc"} as "-revenue"."""
    if isinstance(raw, list) and len(raw) == 1:
        return _with_sign(raw[0])
    if isinstance(raw, dict):
        name, direction = (raw.get("field") or raw.get("name")), (raw.get("direction") or raw.get("order") or "asc")
        return _with_sign(f"{name} {direction}")
    match = _DIRECTED.fullmatch(raw) if isinstance(raw, str) else None
    if match is None:
        return str(raw)
    return f"-{match[1]}" if match[2].lower().startswith("desc") else match[1]


def _entry(entry: Any, names: Sequence[str], of: str, expected: str) -> dict[str, Any]:
    named = _named(entry, names, of) if isinstance(entry, dict) else {}
    if not isinstance(named.get(names[0]), str):
        raise _invalid(f"{of} has an entry without {names[0]}.", entry, expected, wrong=entry)
    return named


def _named(document: Mapping[str, Any], names: Sequence[str], of: str) -> dict[str, Any]:
    """The members by their names, whatever their case: group_by is groupBy."""
    found: dict[str, Any] = {}
    for name, value in document.items():
        same = meant(str(name)[:NAME_CHARS], names)
        if same is None or same in found:
            close = nearest(str(name)[:NAME_CHARS], [each for each in names if each not in document])
            raise _misnamed(f"{of} has no property {shown(name)!r}.", name, f"any of: {', '.join(names)}", close)
        found[same] = value
    return found


def _check_shown(column: QueryColumn, done: str) -> None:
    if column.only_where:
        message = f"{shown(column.name)} is withheld in lists and cannot be {done}."
        raise _invalid(message, column.name, "count for this field, a condition on it in where, or another field")


def _check_unique(names: Sequence[str]) -> None:
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if twice is not None:
        message = f"Two values of a group would be named {shown(twice)!r}."
        raise _invalid(message, twice, 'distinct names; "as" sets one', "Set as to a name that is not in use.")


def _misnamed(message: str, value: Any, expected: str, close: str | None) -> Correctable:
    suggestion = f"Did you mean {shown(close)}?" if close else None
    return _invalid(message, value, expected, suggestion, wrong=value, right=close or NOTHING)


def _invalid(
    message: str,
    value: Any,
    expected: str,
    suggestion: str | None = None,
    *,
    wrong: Any = NOTHING,
    right: Any = NOTHING,
) -> Correctable:
    return Correctable(
        message,
        reason="invalid_aggregate",
        parameter=PARAMETER,
        value=value,
        expected=expected,
        suggestion=suggestion or f"Send {expected}.",
        wrong=wrong,
        right=right,
    )
