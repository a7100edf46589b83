"""The values that failed calls share: their frequency among the failed calls, and among the others."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from telemetry.measurement import CallOutcome
from telemetry.queries.records import select
from telemetry.queries.selection import DIMENSIONS, Selection
from telemetry.queries.span import Span

COMPARED = ("upstream", "reason", "tool", "key", "client", "transport", "policy", "arm")
NEWEST = {"postgresql": 200_000, "sqlite": 50_000}  # calls that are compared
LEAST_FAILED = 5  # with fewer, chance alone makes them alike
LEAST_GAP = 0.0999  # 10 points, less what floats lose
SHOWN = 4


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a dimension: the number of failed and of other calls that have it."""

    dimension: str
    value: str
    failed: int
    others: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A value with its share of the failed and of the other calls, 0 to 1."""

    dimension: str
    value: str
    of_failed: float
    of_others: float

    @property
    def size(self) -> float:
        return self.of_failed - self.of_others


@dataclass(frozen=True, slots=True)
class Shares:
    """`is_cut`: the span has more calls than were compared, which are the newest."""

    values: tuple[Value, ...]
    failed: int
    others: int
    is_cut: bool

    @property
    def calls(self) -> int:
        return self.failed + self.others

    @property
    def is_comparable(self) -> bool:
        return self.failed >= LEAST_FAILED and self.others > 0

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Values that are more frequent among the failed calls, the largest difference first. Only one value of a
        dimension, since a second would say the same again."""
        if not self.is_comparable:
            return ()
        found: dict[str, Gap] = {}
        for gap in sorted(map(self._gap, self.values), key=lambda each: (-each.size, COMPARED.index(each.dimension))):
            if gap.size >= LEAST_GAP:
                found.setdefault(gap.dimension, gap)
        return tuple(found.values())[:SHOWN]

    def _gap(self, value: Value) -> Gap:
        return Gap(value.dimension, value.value, value.failed / self.failed, value.others / self.others)


def shares(span: Span, selection: Selection, *, newest: int | None = None) -> Shares:
    """Compares the newest calls of the span, in one query."""
    newest = newest or NEWEST[connection.vendor]
    calls = select(span, selection).order_by("-created_at")
    rows_of = calls.values("outcome", *(DIMENSIONS[name] for name in COMPARED))[:newest]
    sql, parameters = rows_of.query.sql_with_params()
    counted = _grouping_sets if connection.vendor == "postgresql" else _one_by_one
    with connection.cursor() as cursor:
        cursor.execute(counted(sql), parameters)
        rows = cursor.fetchall()
    totals = [row for row in rows if row[0] is None]
    failed, others = (totals[0][2] or 0, totals[0][3] or 0) if totals else (0, 0)
    return Shares(tuple(_values(rows)), failed, others, is_cut=failed + others >= newest)


def _values(rows: list[tuple[Any, ...]]) -> Iterator[Value]:
    for dimension, value, failed, others in rows:
        if dimension is not None and value:
            yield Value(dimension, value, failed, others)


FAILED = f"outcome = '{CallOutcome.ERROR}'"
COUNTS = f"COUNT(*) FILTER (WHERE {FAILED}) AS failed, COUNT(*) FILTER (WHERE NOT {FAILED}) AS others"


def _grouping_sets(calls: str) -> str:
    """Counts all columns in one pass over the calls. A column outside a row's set is NULL, so the column that is not
    NULL names the set."""
    columns = [DIMENSIONS[name] for name in COMPARED]
    dimension = " ".join(f"WHEN GROUPING({DIMENSIONS[name]}) = 0 THEN '{name}'" for name in COMPARED)
    sets = ", ".join(f"({column})" for column in columns)
    return (
        f"SELECT CASE {dimension} END, COALESCE({', '.join(columns)}), {COUNTS} "  # noqa: S608 (names of our own)
        f"FROM ({calls}) AS calls GROUP BY GROUPING SETS ({sets}, ())"
    )


def _one_by_one(calls: str) -> str:
    """Counts each column by itself, for databases without grouping sets."""
    selects = [f"SELECT NULL, NULL, {COUNTS} FROM calls"]  # noqa: S608 (names of our own)
    for name in COMPARED:
        column = DIMENSIONS[name]
        selects.append(f"SELECT '{name}', {column}, {COUNTS} FROM calls GROUP BY {column}")  # noqa: S608
    return f"WITH calls AS MATERIALIZED ({calls}) " + " UNION ALL ".join(selects)
