"""`where` and `aggregate` of a database list, answered by the database: no row is read.

The same answers as conditions.py and aggregates.py give in memory, on SQLite and on Postgres.
"""

import operator
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
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
from context_protection.core.query.aggregates import (
    Aggregation,
    Group,
    Groups,
    Key,
    Metric,
    Reduction,
    Unit,
    aggregate,
    answer,
    average,
    rounded,
    with_units,
)
from context_protection.core.query.columns import AskedColumn, AskedColumns, Scalar, Type, read_as
from context_protection.core.query.conditions import Condition, Conditions, Op
from context_protection.orm import sqlite
from context_protection.orm.expressions import WHOLE, Bucketed, comparison, reduced, value

SAMPLED = 25
MOST_READ = 20_000  # rows

sqlite.teach_all()


def known_from(model: type[Model], columns: AskedColumns) -> AskedColumns:
    """The columns, for one call, with upstream's names known from the oldest and the newest rows of the model.

    Upstream gives every object of a kind the same names but for a few of its age, and to look through all rows for a
    name would cost more than the answer. It is done once, and only when a name is asked that is not declared.
    """
    return replace(columns, sample=cache(lambda: _sample(model)))


def filtered(queryset: QuerySet[Any], conditions: Conditions) -> QuerySet[Any]:
    """The rows that match (conditions.Conditions.match), as a queryset that is not read yet. Raises InvalidArgument
    where too many rows' JSON would have to be read for it."""
    by_columns = Conditions(tuple(each for each in conditions.every if each.column.column))
    check_reading(queryset.filter(_predicate(by_columns)), [each.column for each in conditions], "where")
    return queryset.filter(_predicate(conditions))


def aggregated(queryset: QuerySet[Any], spec: Aggregation) -> Groups:
    """The groups of the queryset's rows (aggregates.aggregate). Raises InvalidArgument when there are too many."""
    rows = queryset.order_by()
    check_reading(rows, spec.columns, "aggregate")
    try:
        spec, notes = with_units(spec, lambda unit: _units_of(rows, unit))
        with closing(_groups(rows, spec)) as groups:
            return answer(spec, groups, notes)
    except EmptyResultSet:  # Django knows without asking that there are none
        return aggregate([], spec)


def check_reading(rows: QuerySet[Any], asked: Sequence[AskedColumn], parameter: str) -> None:
    """Upstream's own names stand in the JSON of each row, a tenth of a millisecond to read: not for any number of rows
    while somebody waits."""
    in_json = [column.name for column in asked if not column.column]
    if in_json and rows.order_by()[: MOST_READ + 1].count() > MOST_READ:
        names = ", ".join(str(shown(name)) for name in dict.fromkeys(in_json))
        raise InvalidArgument(
            f"{names}: this would read the JSON of more than {MOST_READ:,} rows.",
            reason="too_many_rows",
            parameter=parameter,
            value=names,
            expected=f"conditions on other fields that leave at most {MOST_READ:,} rows",
            suggestion="Add conditions to where, for example on a date or an id, or ask for canonical fields alone.",
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
                    _figure(metric, list(islice(found, width)))
                    for metric, width in zip(spec.metrics, widths, strict=True)
                ),
            ]


def _statement(
    rows: QuerySet[Any], spec: Aggregation, connection: BaseDatabaseWrapper
) -> tuple[str, list[Any], list[int]]:
    """The query, its parameters, and how many columns each metric has.

    The values are read first, each once for each row, and then reduced: were they read where they are used, Postgres
    would parse upstream's JSON several times for each, and SQLite would sort whole rows.
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
    # All of it is ours: callers' names and values are among the parameters.
    sql = f"WITH asked AS MATERIALIZED ({inner}) SELECT {', '.join(columns)} FROM asked{grouped}"  # noqa: S608
    more = [parameter for each in reductions for _, of in each for parameter in of]
    return sql, [*parameters, *more], [len(each) for each in reductions]


def _key(key: Key) -> Any:
    found = value(key.column, key.type)
    return Bucketed(found, key.bucket) if key.bucket else found


def _figure(metric: Metric, parts: Sequence[Any]) -> Scalar | None:
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
    """A value as it came from the database, as memory has it."""
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


def _units_of(rows: QuerySet[Any], unit: Unit) -> list[Scalar | None]:
    """Two of the units at most: whether there is more than one is all that counts."""
    columns = [metric.column for metric in unit.metrics if metric.column]
    measured = (Q(comparison(Condition(column, Op.ISNULL, Type.NUMBER, False))) for column in columns)
    found = rows.filter(reduce(operator.or_, measured)).annotate(unit=value(unit.column, unit.column.type))
    return [_scalar(each, unit.column.type) for each in found.values_list("unit", flat=True).distinct()[:2]]
