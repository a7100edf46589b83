"""SELECTs of rows by a key, and of the keys of a list. Every page and every record runs one, and compiling it with the
ORM takes longer than running it, so compiled statements are cached."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, cast

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import connections
from django.db.models import DateField, DecimalField, Model, OrderBy, QuerySet, TextField
from django.db.models.functions import Cast
from django.db.models.sql import Query

_decimal_of_15_digits = Context(prec=15).create_decimal_from_float


@dataclass(frozen=True, slots=True)
class DecimalColumn:
    """Reads a column of decimals as Django does on SQLite. Django makes a new context for each value, which takes five
    times as long."""

    smallest: Decimal  # step between two values: 0.01 for two decimal places
    context: Context

    @classmethod
    def of(cls, field: "DecimalField[Any, Any]") -> "DecimalColumn":
        return cls(Decimal(1).scaleb(-field.decimal_places), field.context)

    def read(self, column: Sequence[float | None]) -> list[Decimal | None]:
        smallest, context = self.smallest, self.context
        return [
            None if value is None else _decimal_of_15_digits(value).quantize(smallest, context=context)
            for value in column
        ]


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT for a fixed number of keys. `converters`: Django's value converters and expression, by column index.
    `dates`: the indexes of columns that are selected as text. `decimals`: columns that SQLite stores as binary numbers,
    by index."""

    database: str
    sql: str
    converters: Mapping[int, tuple[Sequence[Any], Any]]
    dates: Sequence[int]
    decimals: Mapping[int, DecimalColumn]

    def rows(self, keys: Sequence[int]) -> list[tuple[Any, ...]]:
        connection = connections[self.database]
        with connection.cursor() as cursor:
            cursor.execute(self.sql, list(keys))
            columns: list[Sequence[Any]] = list(zip(*cursor.fetchall(), strict=True))
        if not columns:
            return []
        for at, (converters, expression) in self.converters.items():
            for convert in converters:
                columns[at] = [convert(value, expression, connection) for value in columns[at]]
        for at, decimals in self.decimals.items():
            columns[at] = decimals.read(columns[at])
        for at in self.dates:
            columns[at] = list(map(_date if None in columns[at] else date.fromisoformat, columns[at]))
        return list(zip(*columns, strict=True))


def _date(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def unconverted(
    queryset: QuerySet[Any], columns: Sequence[str], order: Sequence[str | OrderBy], most: int | None, size: int
) -> Iterator[list[tuple[Any, ...]]]:
    """The values of the first `most` rows (None: of all), in blocks of `size` rows, as the driver returns them. Only
    for columns of numbers and texts, which need no conversion. Iterating over the queryset takes as long again."""
    try:
        sql, parameters = _select(queryset, tuple(columns), tuple(order), most)
    except EmptyResultSet:  # Django knows without a query that no row matches
        return
    with connections[queryset.db].chunked_cursor() as cursor:
        cursor.execute(sql, parameters)
        while block := cursor.fetchmany(size):
            yield block


def _select(
    queryset: QuerySet[Any], columns: tuple[str, ...], order: tuple[str | OrderBy, ...], most: int | None
) -> tuple[str, Sequence[Any]]:
    """The statement and its parameters. For a queryset that only filters, just its conditions are compiled: that takes
    a tenth of the time."""
    query, model = queryset.query, cast(type[Model], queryset.model)
    if most is None and _only_filters(query):
        with suppress(FullResultSet):  # Django knows that all rows match, and leaves the conditions out
            conditions, parameters = query.get_compiler(queryset.db).compile(query.where)
            before, after = _around_conditions(model, queryset.db, columns, order)
            return f"{before}{conditions}{after}", parameters
    compiler: Any = queryset.order_by(*order).values_list(*columns)[:most].query.get_compiler(queryset.db)
    sql, parameters = compiler.as_sql()
    return sql, parameters


def _only_filters(query: Query) -> bool:
    """Whether the query has nothing but conditions, apart from columns and an order, and joins no other table."""
    has_more = query.annotations or query.distinct or query.combinator or query.extra_tables or query.is_sliced
    is_plain = not has_more and query.standard_ordering and not query.select_for_update
    return is_plain and len(query.alias_map) == 1


@lru_cache(maxsize=1024)
def _around_conditions(
    model: type[Model], database: str, columns: tuple[str, ...], order: tuple[str | OrderBy, ...]
) -> tuple[str, str]:
    """The SQL before and after the conditions of a statement with these columns and this order."""
    first = model._meta.pk_fields[0].attname
    rows = model._default_manager.using(database).filter(**{f"{first}__isnull": False})
    conditions, _ = rows.query.get_compiler(database).compile(rows.query.where)
    sql, parameters = rows.order_by(*order).values_list(*columns).query.get_compiler(database).as_sql()
    assert not parameters, "only the conditions of a statement have parameters"
    before, after = sql.split(f" WHERE {conditions}")
    return f"{before} WHERE ", after


@lru_cache(maxsize=4096)
def statement(model: type[Model], columns: tuple[str, ...], count: int, by: str = "pk") -> Statement:
    """The statement that selects `columns` of the model's rows for `count` keys (at least one) in the column `by`."""
    keys = tuple(range(1, count + 1))
    rows = model._default_manager.filter(**{f"{by}__in": keys}).order_by()
    dates = [at for at, name in enumerate(columns) if _is_text(model, name, rows.db)]
    rows = rows.values_list(*(Cast(name, TextField()) if at in dates else name for at, name in enumerate(columns)))
    compiler: Any = rows.query.get_compiler(rows.db)
    sql, parameters = compiler.as_sql()
    assert tuple(parameters) == keys, "the keys are the only parameters of the statement"
    selected = [expression for expression, _, _ in compiler.select]
    fields = {at: model._meta.get_field(name) for at, name in enumerate(columns) if name != "pk"}
    has_binary = connections[rows.db].vendor == "sqlite"
    decimals = {at: DecimalColumn.of(each) for at, each in fields.items() if has_binary and type(each) is DecimalField}
    converters = {at: each for at, each in compiler.get_converters(selected).items() if at not in decimals}
    return Statement(rows.db, sql, converters, dates, decimals)


def _is_text(model: type[Model], column: str, database: str) -> bool:
    """Whether the database stores the column's dates as text. Django converts each of them with four function calls."""
    is_date = column != "pk" and type(model._meta.get_field(column)) is DateField
    return is_date and connections[database].vendor == "sqlite"
