"""Adds up calls and rollups in one SQL statement, which returns sums and histograms.

    calls   ──grouped──┐
                       ├──UNION ALL──► grouped ──► rows of columns, sums and histograms
    rollups ───────────┘

One statement sees one state of the database, so its results are consistent without a transaction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Case, Count, F, Func, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, NullIf

from telemetry.measures import FRACTIONAL, MEASURES

HISTOGRAMS: Mapping[str, Any] = {
    "latency": F("latency_bucket"),
    "upstream_latency": Case(When(upstream="", then=None), default=F("upstream_bucket")),
}
READ_AT_ONCE = 2_000  # rows
JOIN = {"postgresql": "STRING_AGG", "sqlite": "GROUP_CONCAT"}


@dataclass(frozen=True, slots=True)
class MeasureSet:
    """The names of MEASURES and of HISTOGRAMS to add up. Each name costs time for every row."""

    measures: tuple[str, ...]
    histograms: tuple[str, ...] = ()

    def has(self, other: "MeasureSet") -> bool:
        return {*other.measures} <= {*self.measures} and {*other.histograms} <= {*self.histograms}


@dataclass(frozen=True, slots=True)
class Added:
    """`key`: a value for each column. `measures` and `histograms`: in the order of the MeasureSet. Histograms are texts
    for `histogram.joined`, because parsing them takes longer than all the rest."""

    key: tuple[Any, ...]
    measures: Sequence[float]
    histograms: Sequence[str | None]


def of_calls(calls: QuerySet[Any], columns: Sequence[str], wanted: MeasureSet) -> QuerySet[Any]:
    """The calls as a part for `added_up`, grouped by the columns and by the buckets of their durations."""
    buckets = {f"{name}_of": HISTOGRAMS[name] for name in wanted.histograms}
    rows = calls.order_by().annotate(**buckets).values(*columns, *buckets)
    texts = {name: _as_json(f"{name}_of") for name in wanted.histograms}
    measures = {name: MEASURES[name] for name in wanted.measures}
    added: QuerySet[Any] = rows.annotate(**measures, **texts).values_list(*columns, *measures, *texts)
    return added


def of_rollups(rollups: QuerySet[Any], columns: Sequence[str], wanted: MeasureSet) -> QuerySet[Any]:
    texts = [NullIf(name, Value("", output_field=TextField())) for name in wanted.histograms]
    return rollups.order_by().values_list(*columns, *wanted.measures, *texts)


def added_up(parts: Sequence[QuerySet[Any]], columns: Sequence[str], wanted: MeasureSet) -> Iterator[Added]:
    """The sums of all parts for each combination of values of the columns. Needs at least one column and one part."""
    compiled = [part.query.sql_with_params() for part in parts]
    first, second = len(columns), len(columns) + len(wanted.measures)
    with connection.cursor() as cursor:
        cursor.execute(
            _statement([sql for sql, _ in compiled], len(columns), wanted),
            [parameter for _, parameters in compiled for parameter in parameters],
        )
        while rows := cursor.fetchmany(READ_AT_ONCE):
            for row in rows:
                yield Added(row[:first], row[first:second], row[second:])


def _as_json(bucket: str) -> Func:
    """{"212":7} for the calls of one bucket; NULL for calls without one."""
    parts = (Value('{"'), Cast(bucket, TextField()), Value('":'), Cast(Count("pk"), TextField()), Value("}"))
    return Func(*parts, template="(%(expressions)s)", arg_joiner=" || ", output_field=TextField())


def _statement(parts: Sequence[str], columns: int, wanted: MeasureSet) -> str:
    keys = ", ".join(f"k{n}" for n in range(columns))
    measures = [f"m{n}" for n in range(len(wanted.measures))]
    texts = [f"h{n}" for n in range(len(wanted.histograms))]
    sums = [
        f"SUM({column})" if name in FRACTIONAL else f"CAST(SUM({column}) AS bigint)"
        for column, name in zip(measures, wanted.measures, strict=True)
    ]
    joined = [f"{JOIN[connection.vendor]}({column}, ',')" for column in texts]
    return (
        f"WITH parts ({', '.join([keys, *measures, *texts])}) AS ({' UNION ALL '.join(parts)}) "  # noqa: S608 (our own)
        f"SELECT {', '.join([keys, *sums, *joined])} FROM parts GROUP BY {keys}"
    )
