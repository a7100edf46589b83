"""Rows by their keys, which every page of a list reads: compiled by Django once, and not for every page, where that
takes longer than the database does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import connections
from django.db.models import Model


@dataclass(frozen=True, slots=True)
class Statement:
    """A SELECT by so many keys. `converters`: what Django does with values as the database gives them, by column."""

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


@lru_cache(maxsize=4096)
def statement(model: type[Model], columns: tuple[str, ...], count: int) -> Statement:
    """For `count` keys of the model's rows, at least one."""
    keys = tuple(range(1, count + 1))
    rows = model._default_manager.filter(pk__in=keys).order_by().values_list(*columns)
    compiler: Any = rows.query.get_compiler(rows.db)
    sql, parameters = compiler.as_sql()
    assert tuple(parameters) == keys, "the keys are all that the statement is asked with"
    selected = [expression for expression, _, _ in compiler.select]
    return Statement(rows.db, sql, compiler.get_converters(selected))
