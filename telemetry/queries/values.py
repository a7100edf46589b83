"""Counts the calls with each value of several dimensions, in one query."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import F

from telemetry.measurement import CallOutcome
from telemetry.queries.selection import DIMENSIONS
from telemetry.queries.sources import Calls


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a dimension: the number of failed and of other calls that have it."""

    dimension: str
    value: str
    failed: int
    others: int

    @property
    def calls(self) -> int:
        return self.failed + self.others


@dataclass(frozen=True, slots=True)
class Values:
    """`counts`: of all values but the empty one. `failed` and `others`: of all calls."""

    counts: tuple[Value, ...]
    failed: int
    others: int

    @property
    def calls(self) -> int:
        return self.failed + self.others


def values_of(calls: Calls, dimensions: Sequence[str], newest: int) -> Values:
    """The values of the newest calls. `newest`: the most calls that are read."""
    columns = {_name(name): F(DIMENSIONS[name]) for name in dimensions}
    rows_of = calls.order_by("-created_at").values(outcome_of=F("outcome"), **columns)[:newest]
    sql, parameters = rows_of.query.sql_with_params()
    statement = (_grouping_sets if connection.vendor == "postgresql" else _one_by_one)(sql, dimensions)
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    totals = [row for row in rows if row[0] is None]
    failed, others = (totals[0][2] or 0, totals[0][3] or 0) if totals else (0, 0)
    return Values(tuple(Value(*row) for row in rows if row[0] is not None and row[1]), failed, others)


FAILED = f"outcome_of = '{CallOutcome.ERROR}'"
COUNTS = f"COUNT(*) FILTER (WHERE {FAILED}) AS failed, COUNT(*) FILTER (WHERE NOT {FAILED}) AS others"


def _grouping_sets(calls: str, dimensions: Sequence[str]) -> str:
    """One pass over the calls. A column is NULL outside its own grouping set, so COALESCE finds the set's value."""
    columns = [_name(name) for name in dimensions]
    dimension = " ".join(f"WHEN GROUPING({_name(name)}) = 0 THEN '{name}'" for name in dimensions)
    sets = ", ".join(f"({column})" for column in columns)
    return (
        f"SELECT CASE {dimension} END, COALESCE({', '.join(columns)}), {COUNTS} "  # noqa: S608 (names of our own)
        f"FROM ({calls}) AS calls GROUP BY GROUPING SETS ({sets}, ())"
    )


def _one_by_one(calls: str, dimensions: Sequence[str]) -> str:
    """A count for each column, for databases without grouping sets."""
    selects = [f"SELECT NULL, NULL, {COUNTS} FROM calls"]  # noqa: S608 (names of our own)
    for name in dimensions:
        selects.append(f"SELECT '{name}', {_name(name)}, {COUNTS} FROM calls GROUP BY {_name(name)}")  # noqa: S608
    return f"WITH calls AS MATERIALIZED ({calls}) " + " UNION ALL ".join(selects)


def _name(dimension: str) -> str:
    """The prefix keeps the names apart from those of the model's fields, which Django refuses for annotations."""
    return f"of_{dimension}"
