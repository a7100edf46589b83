"""SQL functions that SQLite needs for `where` and `aggregate`. They call the in-memory implementation."""

import sqlite3
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from context_protection.core.folding import fold_for_search
from context_protection.core.query.buckets import Bucket, bucketed
from context_protection.core.query.columns import Scalar, Type, as_json, read_as, upstream
from context_protection.core.query.grouping import percentile, total

# A row's columns are read consecutively, so a one-entry cache parses its JSON only once.
_parsed = lru_cache(maxsize=1)(orjson.loads)


def _value(data: str, name: str, as_type: str) -> str | int | float | None:
    """The value under `name` in a row's JSON, read as the type; ANY as JSON text that is equal for equal values."""
    value = read_as(upstream(_parsed(data), name), Type(as_type))
    if as_type == Type.ANY and value is not None:
        return orjson.dumps(as_json(value)).decode()
    return in_sqlite(value)


def in_sqlite(value: Scalar | None) -> str | int | float | None:
    """The value as SQLite can store it. Its integers have 64 bits with a sign; larger ones become floats."""
    stored = as_json(value)
    return float(stored) if isinstance(stored, int) and stored >= 2**63 else stored


def _contains(text: str | None, folded: str) -> bool | None:
    return None if text is None else folded in fold_for_search(text)


def _bucketed(text: str | None, bucket: str) -> str | None:
    return None if text is None else bucketed(text, Bucket(bucket))


class _Numbers:
    """Base of the aggregates: collects the numbers of a group."""

    def __init__(self) -> None:
        self.numbers: list[Decimal] = []

    def _collect(self, number: float | None) -> None:
        if number is not None:
            self.numbers.append(Decimal(str(number)))


class _Sum(_Numbers):
    def step(self, number: float | None) -> None:
        self._collect(number)

    def finalize(self) -> str | None:
        return _as_text(total(self.numbers))


class _Percentile(_Numbers):
    def step(self, number: float | None, fraction: str) -> None:
        self._collect(number)
        self.fraction = Decimal(fraction)

    def finalize(self) -> str | None:
        return _as_text(percentile(self.numbers, self.fraction)) if self.numbers else None


def _as_text(number: Decimal | None) -> str | None:
    """SQLite has no exact numbers, so results are returned as text."""
    return None if number is None else str(number)


_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "query_value": (3, _value),
    "query_contains": (2, _contains),
    "query_bucket": (2, _bucketed),
}


def _register(connection: sqlite3.Connection) -> None:
    for name, (arguments, function) in _FUNCTIONS.items():
        connection.create_function(name, arguments, function, deterministic=True)
    # typeshed knows only aggregates of one integer
    connection.create_aggregate("query_sum", 1, _Sum)  # type: ignore[arg-type]
    connection.create_aggregate("query_percentile", 2, _Percentile)  # type: ignore[arg-type]


def teach(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Registers the functions on a SQLite connection; does nothing for other databases."""
    if connection.vendor == "sqlite" and connection.connection is not None:
        _register(connection.connection)


def teach_all() -> None:
    """Registers the functions on all open connections and on each new one."""
    connection_created.connect(teach)
    for connection in connections.all(initialized_only=True):
        teach(connection)
