"""SELECTs of rows by a key. Every page of a list and every record runs one, and compiling it with the ORM takes longer
than running it, so compiled statements are cached."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import DateField, Model, QuerySet, TextField
from django.db.models.functions import Cast


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT for a fixed number of keys. `converters`: Django's value converters and expression, by column index.
    `dates`: the indexes of columns that are selected as text."""

    database: str
    sql: str
    converters: Mapping[int, tuple[Sequence[Any], Any]]
    dates: Sequence[int]

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
        for at in self.dates:
            columns[at] = list(map(_date if None in columns[at] else date.fromisoformat, columns[at]))
        return list(zip(*columns, strict=True))


def _date(text: str | None) -> date | None:
    return None if text is None else date.fromisoformat(text)


def unconverted(queryset: QuerySet[Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a queryset of values in blocks, as the driver returns them. Only for numbers and texts, which Django
    does not convert. Django's own iteration takes as long as the query."""
    try:
        sql, parameters = queryset.query.get_compiler(queryset.db).as_sql()
    except EmptyResultSet:  # Django knows without a query that no row matches
        return
    with connections[queryset.db].chunked_cursor() as cursor:
        cursor.execute(sql, parameters)
        while block := cursor.fetchmany(size):
            yield block


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
    return Statement(rows.db, sql, compiler.get_converters(selected), dates)


def _is_text(model: type[Model], column: str, database: str) -> bool:
    """Whether the database stores the column's dates as text. Django converts each of them with four function calls."""
    is_date = column != "pk" and type(model._meta.get_field(column)) is DateField
    return is_date and connections[database].vendor == "sqlite"
