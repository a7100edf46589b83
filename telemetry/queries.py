"""All queries on calls. The database computes sums, groups and percentiles; Python receives only the results.

Percentiles are exact up to 50,000 calls. Above that they use every second, third, … call, so that at most 50,000 rows
are sorted.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack, cast

from django.db.models import Count, F, Func, IntegerField, Max, Min, Q, QuerySet, Sum, Window
from django.db.models.functions import Mod, RowNumber
from django.utils import timezone

from telemetry.call_figures import (
    MIN_CALLS_FOR_PERCENTILES,
    CallFigures,
    Health,
    IntervalFigures,
    Latency,
    OperationFigures,
    Series,
)
from telemetry.intervals import Intervals, cut
from telemetry.measurement import FIGURES, CallOutcome
from telemetry.models import TelemetryRecord

Calls = QuerySet[TelemetryRecord]

SORT_AT_MOST = 50_000  # rows
LACKING = 12  # rows that `lacking` returns

COUNTS: dict[str, Any] = {
    "calls": Count("pk"),
    "plain": Count("pk", filter=Q(outcome=CallOutcome.PLAIN)),
    "paginated": Count("pk", filter=Q(outcome=CallOutcome.PAGINATED)),
    "summarized": Count("pk", filter=Q(outcome=CallOutcome.SUMMARIZED)),
    "chunked": Count("pk", filter=Q(outcome=CallOutcome.CHUNKED)),
    "errors": Count("pk", filter=Q(outcome=CallOutcome.ERROR)),
    "oversized_calls": Count("pk", filter=Q(oversized=True)),
    "list_calls": Count("pk", filter=Q(kind="list") & ~Q(outcome=CallOutcome.ERROR)),
    "paginated_list_calls": Count("pk", filter=Q(kind="list", pagination_used=True) & ~Q(outcome=CallOutcome.ERROR)),
    "counted_calls": Count("pk", filter=Q(claude_tokens__gt=0)),
    "counted_estimate": Sum("estimated_tokens", filter=Q(claude_tokens__gt=0), default=0),
}


TOTALS = {f"total_{name}": Sum(figure.field, default=0) for name, figure in FIGURES.items() if figure.is_totalled}
AGGREGATES = {**COUNTS, **TOTALS}
NO_CALLS: Mapping[str, int] = dict.fromkeys(AGGREGATES, 0)


class Chosen(TypedDict, total=False):
    """Conditions for calls, combined with AND (FR-031); those that are None or left out are ignored."""

    since: datetime | None  # at or after
    until: datetime | None  # before
    operation: str | None
    endpoint: str | None
    transport: str | None
    outcome: str | None
    calls: Calls | None  # to start from; default: all


def select(**chosen: Unpack[Chosen]) -> Calls:
    """The chosen calls, unordered."""
    conditions = {
        "created_at__gte": chosen.get("since"),
        "created_at__lt": chosen.get("until"),
        **{name: chosen.get(name) for name in ("operation", "endpoint", "transport", "outcome")},
    }
    calls = chosen.get("calls")
    calls = TelemetryRecord.objects.all() if calls is None else calls
    return calls.filter(**{name: wanted for name, wanted in conditions.items() if wanted is not None}).order_by()


def summary(**chosen: Unpack[Chosen]) -> CallFigures:
    """The figures of all chosen calls."""
    calls = select(**chosen)
    row = calls.aggregate(**AGGREGATES)
    return _figures(row, _percentiles(calls, row["calls"]).get(None))


def series(*, buckets: int = 60, **chosen: Unpack[Chosen]) -> Series:
    """The figures over time, in about `buckets` or fewer intervals of equal length (such as 5 minutes).

    Without `since` it starts with the first chosen call, without `until` it ends now.
    """
    calls = select(**chosen)
    until = chosen.get("until") or timezone.now()
    since = chosen.get("since") or calls.aggregate(first=Min("created_at"))["first"] or until - timedelta(hours=1)
    intervals = cut(since, until, buckets)
    placed = calls.annotate(interval=_interval(intervals))
    rows = {row["interval"]: row for row in _grouped(placed, "interval")}
    latency = _percentiles(placed, sum(row["calls"] for row in rows.values()), "interval")
    return Series(
        intervals.step,
        tuple(
            IntervalFigures(start, _figures(rows.get(n, NO_CALLS), latency.get(n)))
            for n, start in enumerate(intervals.starts)
        ),
    )


def by_operation(*, at_most: int = 100, **chosen: Unpack[Chosen]) -> tuple[OperationFigures, ...]:
    """The figures of each operation, the busiest first."""
    calls = select(**chosen)
    rows = _grouped(calls, "operation")[:at_most]
    latency = _percentiles(calls, sum(row["calls"] for row in rows), "operation")
    return tuple(OperationFigures(row["operation"], _figures(row, latency.get(row["operation"]))) for row in rows)


def lacking(calls: Calls) -> list[Mapping[str, Any]]:
    """Calls whose preview lacks fields that the upstream's record does not have: rows of `operation`, `missing_fields`
    and `count` (of calls), the most frequent first."""
    found = calls.exclude(missing_fields="").values("operation", "missing_fields").annotate(count=Count("pk"))
    return [*found.order_by("-count", "operation", "missing_fields")[:LACKING]]


def last_answer(operations: Collection[str], since: datetime) -> datetime | None:
    """When a call of one of the operations was last answered."""
    calls = select(since=since).filter(operation__in=operations).exclude(outcome=CallOutcome.ERROR)
    return cast("datetime | None", calls.aggregate(last=Max("created_at"))["last"])


def last_failure(
    operations: Collection[str], since: datetime, prefix: str, others: Collection[str]
) -> tuple[datetime | None, str]:
    """The last error of the operations whose reason begins with `prefix` and is none of `others`: time and reason."""
    calls = select(since=since).filter(operation__in=operations, outcome=CallOutcome.ERROR)
    failed = calls.filter(error_reason__startswith=prefix).exclude(error_reason__in=others).order_by("-created_at")
    return failed.values_list("created_at", "error_reason").first() or (None, "")


def health(*, now: datetime | None = None) -> Health:
    """Adoption rate and average response size, computed from the stored calls (FR-032)."""
    since = (now or timezone.now()) - timedelta(hours=24)
    return Health(
        last_24_hours=summary(since=since),
        ever=_figures(select().aggregate(**AGGREGATES)),
        last_call_at=select().aggregate(last=Max("created_at"))["last"],
    )


class Interval(Func):
    """The number of the interval that a call falls in."""

    output_field = IntegerField()
    template = "FLOOR((EXTRACT(EPOCH FROM %(expressions)s) - %(start)d) / %(seconds)d)::integer"

    def __init__(self, *expressions: Any, start: int, seconds: int) -> None:
        super().__init__(*expressions, start=start, seconds=seconds)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "(CAST(strftime('%%%%s', %(expressions)s) AS INTEGER) - %(start)d) / %(seconds)d"
        return super().as_sql(compiler, connection, template=template, **context)


def _interval(intervals: Intervals) -> Interval:
    start, seconds = intervals.start.timestamp(), intervals.step.total_seconds()
    return Interval("created_at", start=int(start), seconds=int(seconds))


def _grouped(calls: Calls, by: str) -> list[dict[str, Any]]:
    """A row of AGGREGATES for each value of `by`, the one with the most calls first."""
    rows = cast("list[dict[str, Any]]", list(calls.values(by).annotate(**AGGREGATES)))
    return sorted(rows, key=lambda row: (-row["calls"], row[by]))


def _percentiles(calls: Calls, count: int, by: str | None = None) -> dict[Any, Latency]:
    """Latency per value of `by`, or of all calls under the key None. `count` is the number of calls."""
    lots = -(-count // SORT_AT_MOST)
    if lots > 1:
        calls = calls.annotate(lot=Mod("pk", lots)).filter(lot=0)
    ranked = calls.annotate(
        rank=Window(RowNumber(), partition_by=by, order_by="latency_ms"),
        n=Window(Count("pk"), partition_by=by),
    )
    wanted = Q(rank=_rank(F("n"), 50)) | Q(rank=_rank(F("n"), 95)) | Q(rank=_rank(F("n"), 99))
    rows = ranked.filter(wanted, n__gte=MIN_CALLS_FOR_PERCENTILES).values(
        *[by] if by else [], "rank", "n", "latency_ms"
    )
    found = {(row[by] if by else None, row["rank"]): row for row in rows}
    sizes = {key: row["n"] for (key, _), row in found.items()}
    return {
        key: Latency(*(found[key, _rank(n, percent) // 1]["latency_ms"] for percent in (50, 95, 99)))
        for key, n in sizes.items()
    }


def _rank(n: Any, percent: int) -> Any:
    """The smallest rank with at least `percent` % of `n` values at or below it (integer arithmetic)."""
    return (n * percent + 99) / 100


def _figures(row: Mapping[str, Any], latency: Latency | None = None) -> CallFigures:
    totals = {name.removeprefix("total_"): row[name] for name in TOTALS}
    return CallFigures(**{name: row[name] for name in COUNTS}, totals=totals, latency=latency or Latency())
