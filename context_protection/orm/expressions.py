"""SQL expressions for a column's values, read from a database column or from the JSON text of the upstream object.

SQLite, Postgres and the in-memory code return the same value for the same row: a value that is not of the requested
type is null, and nothing raises. Names and values are passed as parameters, never as SQL. SQLite calls the in-memory
functions themselves (sqlite.py).
"""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models import BooleanField, DateField, F, Field, Func, Value

from context_protection.core.folding import ACCENTED, PLAIN, fold_for_search
from context_protection.core.query.aggregation import GroupMetric, Reduction
from context_protection.core.query.buckets import Bucket
from context_protection.core.query.columns import (
    MIDNIGHT,
    MOMENT_PATTERN,
    QueryColumn,
    Type,
)
from context_protection.core.query.conditions import Condition, Op
from context_protection.orm.sqlite import in_sqlite

WHOLE = "data"  # the text column that holds the upstream object

Compiled = tuple[str, tuple[Any, ...]]


def value(column: QueryColumn, as_type: Type) -> Func:
    """The column's value, read as the type (columns.Type): exact numbers, dates and timestamps as text, ANY as JSON."""
    if column.column:
        return _DatabaseColumn(column.column, column.type, as_type)
    if column.convert:
        raise TypeError(f"{column.name} is converted: it needs a database column that stores the converted value")
    return _UpstreamValue(column.source, as_type)


class _Unconverted(Func):
    """An expression whose values are used as the driver returns them: Django's conversion would round them."""

    output_field: Any = Field()

    def _compiled(self, compiler: Any) -> list[Compiled]:
        parts = [compiler.compile(expression) for expression in self.get_source_expressions()]
        return [(sql, tuple(parameters)) for sql, parameters in parts]


# -- Reading ----------------------------------------------------------------------------------------


class _DatabaseColumn(_Unconverted):
    """A database column. Floats are cast to exact numbers through their shortest text, as the in-memory code does."""

    def __init__(self, column: str, column_type: Type, as_type: Type) -> None:
        super().__init__(F(column))
        self.column_type, self.as_type = column_type, as_type

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Compiled:
        ((column, parameters),) = self._compiled(compiler)
        if self.column_type is Type.MOMENT:
            return f"substr({column}, 1, {10 if self.as_type is Type.DATE else 19})", parameters
        return column, parameters

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Compiled:
        ((column, parameters),) = self._compiled(compiler)
        match self.column_type:
            case Type.NUMBER:
                return f"({column})::text::numeric", parameters
            case Type.DATE:
                return f"to_char({column}, 'YYYY-MM-DD')", parameters
            case Type.MOMENT:
                form = "YYYY-MM-DD" if self.as_type is Type.DATE else "YYYY-MM-DD HH24:MI:SS"
                return f"to_char({column} AT TIME ZONE 'UTC', '{form}')", parameters
            case _:
                return column, parameters


# jsonb cannot hold a NUL, so \u0000 is replaced by U+FFFD. After an escaped backslash, "u0000" is ordinary text.
_JSON = (
    r"(CASE WHEN strpos({0}, '\u0000') = 0 THEN {0}::jsonb"
    r" ELSE regexp_replace({0}, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::jsonb END)"
)
# Each expression mentions the JSON once, because parsing dominates the cost. OFFSET 0 stops Postgres from inlining
# the subquery into each use.
_TEXT = "(jsonb_path_query_first({0}, 'strict $ ? (@.type() == \"string\")') #>> '{{}}')"
_READ = {
    Type.TEXT: _TEXT,
    Type.NUMBER: "(jsonb_path_query_first({0}, 'strict $ ? (@.type() == \"number\")') #>> '{{}}')::numeric",
    Type.BOOLEAN: "(CASE ({0})::text WHEN 'true' THEN true WHEN '1' THEN true WHEN '1.0' THEN true"
    " WHEN 'false' THEN false WHEN '0' THEN false WHEN '0.0' THEN false END)",
    Type.DATE: f"left(substring({_TEXT} from {{1}}), 10)",
    Type.MOMENT: f"rpad(regexp_replace(replace(substring({_TEXT} from {{1}}), 'T', ' '), '^\\S+$', '\\&{MIDNIGHT}'),"
    " 19, ':00')",
    Type.ANY: "(SELECT CASE jsonb_typeof(found) WHEN 'object' THEN '\"(object)\"'::jsonb"
    " WHEN 'array' THEN '\"(list)\"'::jsonb WHEN 'null' THEN NULL ELSE found END"
    " FROM (SELECT {0} AS found OFFSET 0) AS once)",
}


class _UpstreamValue(_Unconverted):
    """The upstream object's value at a name or a dotted path."""

    def __init__(self, name: str, as_type: Type) -> None:
        super().__init__(F(WHOLE))
        self.name, self.as_type = name, as_type

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Compiled:
        ((data, _none),) = self._compiled(compiler)
        return f"query_value({data}, %s, %s)", (self.name, self.as_type.value)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Compiled:
        ((data, _none),) = self._compiled(compiler)
        found, names = self._lookup(_JSON.format(data))
        return _READ[self.as_type].format(found, f"'{MOMENT_PATTERN}'"), names

    def _lookup(self, json: str) -> Compiled:
        """Uses `->` with a text key, which matches object keys only; `#>` would match list indexes as well."""
        steps = self.name.split(".")
        if len(steps) == 1:
            return f"({json} -> %s::text)", (self.name,)
        path = " -> ".join(["%s::text"] * len(steps))
        return f"COALESCE({json} -> %s::text, {json} -> {path})", (self.name, *steps)


class Bucketed(_Unconverted):
    """The bucket (hour, day, week …) of a date or timestamp, in the form that `value` returns."""

    def __init__(self, moment: Func, bucket: Bucket) -> None:
        super().__init__(moment)
        self.bucket = bucket

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Compiled:
        ((moment, parameters),) = self._compiled(compiler)
        return f"query_bucket({moment}, %s)", (*parameters, self.bucket.value)

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Compiled:
        ((moment, parameters),) = self._compiled(compiler)
        return _BUCKETS[self.bucket].format(moment), parameters


_BUCKETS = {
    Bucket.HOUR: "replace(left({0}, 13), ' ', 'T')",
    Bucket.DAY: "left({0}, 10)",
    Bucket.WEEK: "to_char(left({0}, 10)::date, 'IYYY-\"W\"IW')",
    Bucket.MONTH: "left({0}, 7)",
    Bucket.QUARTER: "to_char(left({0}, 10)::date, 'YYYY-\"Q\"Q')",
    Bucket.YEAR: "left({0}, 4)",
}


class InCodePoints(_Unconverted):
    """A text that sorts by code point, whatever the database's collation."""

    template = "%(expressions)s"

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Compiled:
        sql, parameters = self.as_sql(compiler, connection, template='(%(expressions)s COLLATE "C")', **extra)
        return sql, tuple(parameters)


# -- Comparing --------------------------------------------------------------------------------------


def comparison(condition: Condition) -> "_Comparison":
    """The condition as SQL."""
    if condition.op is Op.ISNULL:
        template = "{0} IS NULL" if condition.value else "{0} IS NOT NULL"
        return _Comparison(_left(condition), sqlite=template, postgresql=template)
    values = condition.value if isinstance(condition.value, tuple) else (condition.value,)
    sqlite, postgresql = _TEMPLATES[condition.op]
    operands = [_operand(condition, each) for each in values]
    return _Comparison(_left(condition), *operands, sqlite=sqlite, postgresql=postgresql)


_SIGNS = {Op.EQ: "=", Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
# The equivalent of `fold_for_search` in Postgres.
_FOLDED = (
    """translate(normalize(regexp_replace(normalize(upper(lower({0} COLLATE "und-x-icu")), NFD), """
    f"""'[\\u0300-\\u036f]', '', 'g'), NFC), '{ACCENTED}', '{PLAIN}')"""
)
# Templates for SQLite and Postgres. The ICU collation changes case as Python does, whatever the database's collation.
_TEMPLATES = {op: (f"{{0}} {sign} {{1}}",) * 2 for op, sign in _SIGNS.items()} | {
    Op.NE: ("{0} IS NOT {1}", "{0} IS DISTINCT FROM {1}"),
    Op.IN: ("{0} IN ({1})", "{0} IN ({1})"),
    Op.CONTAINS: ("query_contains({0}, {1})", f"strpos({_FOLDED}, {{1}}) > 0"),
}


class _Comparison(_Unconverted):
    output_field = BooleanField()
    conditional = True

    def __init__(self, left: Any, *operands: Value, sqlite: str, postgresql: str) -> None:
        super().__init__(left, *operands)
        self.templates = {"sqlite": sqlite, "postgresql": postgresql}

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Compiled:
        (left, parameters), *operands = self._compiled(compiler)
        sql = self.templates[connection.vendor].format(left, ", ".join(each for each, _ in operands))
        return f"({sql})", (*parameters, *(value for _, values in operands for value in values))


class _Number(Value):
    """An exact number. SQLite has no exact type, so it receives the nearest number that it can store."""

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Compiled:
        return "%s", (in_sqlite(self.value),)


def _left(condition: Condition) -> Any:
    column = condition.column
    # A column that can be compared directly stays bare, so that the database can use its index.
    found = F(column.column) if column.column and column.type is not Type.MOMENT else value(column, condition.type)
    by_order = condition.op in (Op.GT, Op.GTE, Op.LT, Op.LTE)
    return InCodePoints(found) if by_order and condition.type is Type.TEXT else found


def _operand(condition: Condition, each: Any) -> Value:
    if condition.op is Op.CONTAINS:
        return Value(fold_for_search(each), output_field=Field())
    if isinstance(each, Decimal):
        return _Number(each, output_field=Field())
    if condition.column.column and condition.column.type is Type.DATE:
        return Value(date.fromisoformat(each), output_field=DateField())
    return Value(each, output_field=Field())


# -- Reducing ---------------------------------------------------------------------------------------


def reduced(metric: GroupMetric, values: Sequence[str], vendor: str) -> list[Compiled]:
    """The SQL aggregates of a metric. `values` names the columns that hold its values, one for each of its types."""
    if not values:
        return [("count(*)", ())]
    name, sum_ = values[0], "query_sum" if vendor == "sqlite" else "sum"
    match metric.reduction:
        case Reduction.COUNT:
            return [(f"count({name})", ())]
        case Reduction.COUNT_DISTINCT:
            return [(f"count(DISTINCT {name})", ())]
        case Reduction.SUM:
            return [(f"{sum_}({name})", ())]
        case Reduction.AVG:
            return [(f"{sum_}({name})", ()), (f"count({name})", ())]
        case Reduction.MIN | Reduction.MAX:
            typed = zip(values, metric.types, strict=True)
            return [(f"{metric.reduction}({_by_code_point(each, of, vendor)})", ()) for each, of in typed]
        case Reduction.PERCENTILE:
            return [_percentile(name, metric.fraction, vendor)]


def _by_code_point(name: str, as_type: Type, vendor: str) -> str:
    return f'{name} COLLATE "C"' if vendor == "postgresql" and as_type is not Type.NUMBER else name


def _percentile(name: str, fraction: Decimal, vendor: str) -> Compiled:
    """An exact percentile: Postgres' own percentile_cont works on floats only."""
    if vendor == "sqlite":
        return f"query_percentile({name}, %s)", (str(fraction),)
    rank = f"(%s::numeric * (count({name}) - 1))"
    ranked = f"(array_agg({name} ORDER BY {name}))"  # nulls sort last, beyond every rank
    low, high = f"{ranked}[floor({rank})::int + 1]", f"{ranked}[ceil({rank})::int + 1]"
    sql = f"({low} + ({high} - {low}) * ({rank} - floor({rank})))"
    return sql, (fraction,) * sql.count("%s")
