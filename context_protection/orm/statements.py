"""SELECTs of rows by a key. Every page of a list and every record runs one, and compiling it with the ORM takes longer
than running it, so compiled statements are cached."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import Model, QuerySet


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT for a fixed number of keys. `converters`: Django's value converters and expression, by column index."""

    database: str
    sql: str
    converters: Mapping[int, tuple[Sequence[Any], Any]]

    def rows(self, keys: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        connection = connections[self.database]
        with connection.cursor() as cursor:
            cursor.execute(self.sql, list(keys))
            found = cursor.fetchall()
        for row in map(list, found):
            for column, (converters, expression) in self.converters.items():
                for convert in converters:
                    row[column] = convert(row[column], expression, connection)
            yield tuple(row)


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
    rows = model._default_manager.filter(**{f"{by}__in": keys}).order_by().values_list(*columns)
    compiler: Any = rows.query.get_compiler(rows.db)
    sql, parameters = compiler.as_sql()
    assert tuple(parameters) == keys, "the keys are the only parameters of the statement"
    selected = [expression for expression, _, _ in compiler.select]
    return Statement(rows.db, sql, compiler.get_converters(selected))
