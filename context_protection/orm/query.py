"""`where` and `aggregate` of a database list, computed by the database without reading rows into Python.

SQLite and Postgres give the same results as conditions.py and grouping.py do in memory.
"""

import operator
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from functools import cache, reduce
from itertools import islice
from typing import Any

import orjson
from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, Q, QuerySet, Value

from context_protection.core.errors import InvalidArgument, shown
from context_protection.core.query.aggregation import (
    Aggregation,
    CommonUnit,
    Group,
    GroupKey,
    GroupMetric,
    Groups,
    Reduction,
)
from context_protection.core.query.columns import QueryColumn, QueryColumns, Scalar, Type, read_as
from context_protection.core.query.conditions import Condition, Conditions, Op
from context_protection.core.query.grouping import aggregate, answer, average, rounded, with_units
from context_protection.core.query.words import PARAMETER, SearchWords
from context_protection.orm import sqlite
from context_protection.orm.expressions import WHOLE, Bucketed, comparison, reduced, value

SAMPLED = 25
MAX_READ = 20_000  # rows whose JSON one query may read

sqlite.teach_all()


def known_from(model: type[Model], columns: QueryColumns) -> QueryColumns:
    """The columns for one call; undeclared names are looked up in the oldest and newest rows of the model.

    Objects of one kind share nearly all names; a few depend on the object's age. Searching all rows for a name would
    cost more than the query itself. The sample is read at most once, and only when a requested name is not declared.
    """
    return columns.with_sample(cache(lambda: _sample(model)))


def filtered(queryset: QuerySet[Any], conditions: Conditions) -> QuerySet[Any]:
    """The matching rows (conditions.Conditions.match), as an unevaluated queryset. Raises InvalidArgument if the query
    would read the JSON of too many rows."""
    by_columns = Conditions(tuple(each for each in conditions.every if each.column.column))
    check_reading(queryset.filter(_predicate(by_columns)), [each.column for each in conditions], "where")
    return queryset.filter(_predicate(conditions))


def aggregated(queryset: QuerySet[Any], spec: Aggregation) -> Groups:
    """The groups of the queryset's rows (grouping.aggregate). Raises InvalidArgument for too many groups or rows."""
    rows = queryset.order_by()
    check_reading(rows, spec.columns, "aggregate")
    try:
        spec, notes = with_units(spec, lambda unit: _units_of(rows, unit))
        with closing(_groups(rows, spec)) as groups:
            return answer(spec, groups, notes)
    except EmptyResultSet:  # Django knows without a query that no row matches
        return aggregate([], spec)


def check_reading(rows: QuerySet[Any], columns: Sequence[QueryColumn], parameter: str) -> None:
    """Raises InvalidArgument if a query for `columns` would read the JSON of more than MAX_READ rows. A value without
    a database column is read from the row's JSON, at about 0.1 ms per row."""
    in_json = [column.name for column in columns if not column.column]
    if in_json:
        names = ", ".join(str(shown(name)) for name in dict.fromkeys(in_json))
        fields = "Add conditions to where, for example on a date or an id, or use only canonical fields."
        _check_count(rows, names, parameter, names, fields)


def check_searching(rows: QuerySet[Any], words: SearchWords) -> None:
    """Raises InvalidArgument if a search would read the JSON of more than MAX_READ rows."""
    _check_count(rows, PARAMETER, PARAMETER, words.text, "Add filters or where, for example on a date, to the search.")


def _check_count(rows: QuerySet[Any], what: str, parameter: str, value: str, suggestion: str) -> None:
    if rows.order_by()[: MAX_READ + 1].count() > MAX_READ:
        raise InvalidArgument(
            f"{what}: this would read the JSON of more than {MAX_READ:,} rows.",
            reason="too_many_rows",
            parameter=parameter,
            value=value,
            expected=f"conditions on other fields that leave at most {MAX_READ:,} rows",
            suggestion=suggestion,
        )


def _sample(model: type[Model]) -> Sequence[Mapping[str, Any]]:
    rows = model._default_manager.values_list(WHOLE, flat=True)
    return [orjson.loads(data) for order in ("pk", "-pk") for data in rows.order_by(order)[:SAMPLED]]


def _predicate(conditions: Conditions) -> Q:
    every = [Q(comparison(condition)) for condition in conditions.every]
    either = [reduce(operator.or_, map(_predicate, alternatives)) for alternatives in conditions.either]
    return reduce(operator.and_, [*every, *either], Q())


def _groups(rows: QuerySet[Any], spec: Aggregation) -> Generator[Group]:
    connection = connections[rows.db]
    sql, parameters, widths = _statement(rows, spec, connection)
    with connection.chunked_cursor() as cursor:
        cursor.execute(sql, parameters)
        for row in cursor:
            found = iter(row)
            yield [
                *(_scalar(next(found), Type.TEXT if key.bucket else key.type) for key in spec.keys),
                *(
                    _metric_value(metric, list(islice(found, width)))
                    for metric, width in zip(spec.metrics, widths, strict=True)
                ),
            ]


def _statement(
    rows: QuerySet[Any], spec: Aggregation, connection: BaseDatabaseWrapper
) -> tuple[str, list[Any], list[int]]:
    """The query, its parameters, and how many columns each metric has.

    A materialized CTE reads each value once per row; the outer query aggregates them. Without it, Postgres would parse
    the JSON several times for each row, and SQLite would sort whole rows.
    """
    keys = {f"key_{index}": _key(key) for index, key in enumerate(spec.keys)}
    values = [
        {f"value_{index}_{as_type}": value(metric.column, as_type) for as_type in metric.types} if metric.column else {}
        for index, metric in enumerate(spec.metrics)
    ]
    read = {**keys, **{name: each for of in values for name, each in of.items()}} or {"row": Value(1)}
    inner, parameters = rows.annotate(**read).values_list(*read).query.get_compiler(connection=connection).as_sql()
    reductions = [reduced(metric, list(of), connection.vendor) for metric, of in zip(spec.metrics, values, strict=True)]
    columns = [*keys, *(sql for each in reductions for sql, _ in each)]
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    # The statement is built from our own strings only; callers' names and values are parameters.
    sql = f"WITH queried AS MATERIALIZED ({inner}) SELECT {', '.join(columns)} FROM queried{grouped}"  # noqa: S608
    more = [parameter for each in reductions for _, of in each for parameter in of]
    return sql, [*parameters, *more], [len(each) for each in reductions]


def _key(key: GroupKey) -> Any:
    found = value(key.column, key.type)
    return Bucketed(found, key.bucket) if key.bucket else found


def _metric_value(metric: GroupMetric, parts: Sequence[Any]) -> Scalar | None:
    match metric.reduction:
        case Reduction.MIN | Reduction.MAX:
            found = zip(parts, metric.types, strict=True)
            return next((_scalar(part, as_type) for part, as_type in found if part is not None), None)
        case Reduction.AVG:
            return average(_decimal(parts[0]), parts[1])
        case Reduction.PERCENTILE:
            return rounded(_decimal(parts[0]))
        case _:
            return _decimal(parts[0])


def _scalar(found: Any, as_type: Type) -> Scalar | None:
    """Converts a value from the database into the type that the in-memory code uses."""
    if found is None:
        return None
    match as_type:
        case Type.NUMBER:
            return _decimal(found)
        case Type.BOOLEAN:
            return bool(found)
        case Type.ANY:
            return read_as(orjson.loads(found), Type.ANY)
        case _:
            return str(found)


def _decimal(number: Any) -> Decimal | None:
    return None if number is None else Decimal(str(number))


def _units_of(rows: QuerySet[Any], unit: CommonUnit) -> list[Scalar | None]:
    """The distinct units, two at most, because callers only need to know whether there is more than one."""
    columns = [metric.column for metric in unit.metrics if metric.column]
    measured = (Q(comparison(Condition(column, Op.ISNULL, Type.NUMBER, False))) for column in columns)
    found = rows.filter(reduce(operator.or_, measured)).annotate(unit=value(unit.column, unit.column.type))
    return [_scalar(each, unit.column.type) for each in found.values_list("unit", flat=True).distinct()[:2]]
