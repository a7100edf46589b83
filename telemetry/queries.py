"""All reads of calls. The database computes sums, groups and percentiles; Python receives only the results.

Percentiles are exact up to 50,000 calls. Above that they use every second, third, … call, so that at most 50,000 rows
are sorted.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict, Unpack, cast

from django.db.models import Count, F, Func, IntegerField, Max, Min, Q, QuerySet, Sum, Window
from django.db.models.functions import Mod, RowNumber
from django.utils import timezone

from telemetry.figures import (
    MIN_CALLS_FOR_PERCENTILES,
    Bucket,
    Figures,
    Health,
    Latency,
    OperationFigures,
    Series,
)
from telemetry.intervals import Intervals, cut
from telemetry.models import Outcome, TelemetryRecord

Calls = QuerySet[TelemetryRecord]

SORT_AT_MOST = 50_000  # rows
LACKING = 12  # rows that `lacking` returns

FIGURES: dict[str, Any] = {
    "calls": Count("pk"),
    "plain": Count("pk", filter=Q(outcome=Outcome.PLAIN)),
    "paginated": Count("pk", filter=Q(outcome=Outcome.PAGINATED)),
    "summarized": Count("pk", filter=Q(outcome=Outcome.SUMMARIZED)),
    "chunked": Count("pk", filter=Q(outcome=Outcome.CHUNKED)),
    "errors": Count("pk", filter=Q(outcome=Outcome.ERROR)),
    "tokens_sent": Sum("estimated_tokens", default=0),
    "tokens_original": Sum("original_tokens", default=0),
    "tokens_baseline": Sum("baseline_tokens", default=0),
    "bytes_sent": Sum("response_bytes", default=0),
    "oversized_calls": Count("pk", filter=Q(oversized=True)),
    "list_calls": Count("pk", filter=Q(kind="list") & ~Q(outcome=Outcome.ERROR)),
    "paginated_list_calls": Count("pk", filter=Q(kind="list", pagination_used=True) & ~Q(outcome=Outcome.ERROR)),
    "counted_calls": Count("pk", filter=Q(claude_tokens__gt=0)),
    "accurate_calls": Count(
        "pk",
        filter=Q(
            claude_tokens__gt=0,
            estimated_tokens__gte=0.8 * F("claude_tokens"),
            estimated_tokens__lte=1.2 * F("claude_tokens"),
        ),
    ),
}


NO_CALLS: Mapping[str, int] = dict.fromkeys(FIGURES, 0)


class Chosen(TypedDict, total=False):
    """Conditions for calls, combined with AND (FR-031); those that are None or left out are ignored."""

    since: datetime | None  # at or after
    until: datetime | None  # before
    operation: str | None
    endpoint: str | None
    door: str | None
    outcome: str | None
    calls: Calls | None  # to start from; default: all


def select(**chosen: Unpack[Chosen]) -> Calls:
    """The chosen calls, unordered."""
    conditions = {
        "created_at__gte": chosen.get("since"),
        "created_at__lt": chosen.get("until"),
        **{name: chosen.get(name) for name in ("operation", "endpoint", "door", "outcome")},
    }
    calls = chosen.get("calls")
    calls = TelemetryRecord.objects.all() if calls is None else calls
    return calls.filter(**{name: wanted for name, wanted in conditions.items() if wanted is not None}).order_by()


def summary(**chosen: Unpack[Chosen]) -> Figures:
    """The figures of all chosen calls."""
    calls = select(**chosen)
    row = calls.aggregate(**FIGURES)
    return _figures(row, _percentiles(calls, row["calls"]).get(None))


def series(*, buckets: int = 60, **chosen: Unpack[Chosen]) -> Series:
    """The figures over time, in at most about `buckets` intervals of a common length (such as 5 minutes).

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
            Bucket(start, _figures(rows.get(n, NO_CALLS), latency.get(n))) for n, start in enumerate(intervals.starts)
        ),
    )


def by_operation(*, at_most: int = 100, **chosen: Unpack[Chosen]) -> tuple[OperationFigures, ...]:
    """The figures of each operation, the busiest first."""
    calls = select(**chosen)
    rows = _grouped(calls, "operation")[:at_most]
    latency = _percentiles(calls, sum(row["calls"] for row in rows), "operation")
    return tuple(OperationFigures(row["operation"], _figures(row, latency.get(row["operation"]))) for row in rows)


def lacking(calls: Calls) -> list[Mapping[str, Any]]:
    """Previews with missing fields, because upstream records did not have them: rows of `operation`, `missing_fields`
    and `count` (of calls), the most frequent first."""
    found = calls.exclude(missing_fields="").values("operation", "missing_fields").annotate(count=Count("pk"))
    return [*found.order_by("-count", "operation", "missing_fields")[:LACKING]]


def health(*, now: datetime | None = None) -> Health:
    """Adoption rate and average response size, computed from the stored calls (FR-032)."""
    since = (now or timezone.now()) - timedelta(hours=24)
    return Health(
        last_24_hours=summary(since=since),
        ever=_figures(select().aggregate(**FIGURES)),
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
    """A row of FIGURES for each value of `by`, the one with the most calls first."""
    rows = cast("list[dict[str, Any]]", list(calls.values(by).annotate(**FIGURES)))
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


def _figures(row: Mapping[str, Any], latency: Latency | None = None) -> Figures:
    return Figures(**{name: row[name] for name in FIGURES}, latency=latency or Latency())
