"""Single facts about calls, for /health and the admin."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from django.db.models import Count, Max
from django.utils import timezone

from telemetry import page_memory
from telemetry.call_figures import CallFigures, Health
from telemetry.measurement import CallOutcome
from telemetry.models.calls import TelemetryRecord
from telemetry.models.rollups import Level, Rollup
from telemetry.queries.selection import DIMENSIONS
from telemetry.queries.sources import COUNTS, SUMS, Calls, Question, values
from telemetry.queries.span import Span
from telemetry.queries.sums import ALL, totals

LACKING = 12  # the most rows that `lacking` returns
DAY = timedelta(hours=24)


def health(*, now: datetime | None = None) -> Health:
    """Adoption rate and average response size (FR-032)."""
    now = now or timezone.now()
    first = first_call_at()
    return Health(
        last_24_hours=totals(Span.of(now - DAY, now)),
        ever=totals(Span.of(min(first, now - DAY), now), wanted=SUMS) if first else CallFigures(),
        last_call_at=last_call_at(),
    )


def last_call_at(caller: str | None = None) -> datetime | None:
    """The end of the newest stored call: of any caller, or of this one."""
    calls = TelemetryRecord.objects.in_figures().order_by("-created_at")
    mine = calls if caller is None else calls.filter(caller=caller)
    return mine.values_list("created_at", flat=True).first()


def first_call_at() -> datetime | None:
    """The start of the oldest daily rollup, or the time of the oldest call if that is earlier."""
    return page_memory.remembered("first call", _first_call_at)


def _first_call_at() -> datetime | None:
    summed = Rollup.objects.filter(level=Level.DAY, scope="all").order_by("start").values_list("start", flat=True)
    stored = TelemetryRecord.objects.order_by("created_at").values_list("created_at", flat=True)
    known = [moment.astimezone(UTC) for moment in (summed.first(), stored.first()) if moment]
    return min(known, default=None)


def names(dimension: str, part: str = "", *, span: Span | None = None, now: datetime | None = None) -> list[str]:
    """The values of a dimension that contain `part`, in any case: of the calls of the span, or of all calls."""
    now = now or timezone.now()
    first = first_call_at()
    if span is None and (first is None or first >= now):
        return []
    ever = span or Span.of(cast(datetime, first), now)
    found = values(Question(ever, ALL, (DIMENSIONS[dimension],), wanted=COUNTS), now=now)
    return sorted(each for each in found if each and part.lower() in each.lower())


def lacking(calls: Calls) -> list[Mapping[str, Any]]:
    """Fields of previews that were missing in upstreams' records: rows of `operation`, `missing_fields` and `count` (of
    calls), the most frequent first."""
    found = calls.exclude(missing_fields="").values("operation", "missing_fields").annotate(count=Count("pk"))
    return [*found.order_by("-count", "operation", "missing_fields")[:LACKING]]


def last_answer(operations: Collection[str], since: datetime) -> datetime | None:
    """The time of the last call of one of the operations that their upstream answered. An answer from a cache, which
    may replace a failed one, does not count."""
    calls = TelemetryRecord.objects.filter(created_at__gte=since, operation__in=operations)
    answered = calls.filter(attempts__gt=0, upstream_status__range=(200, 399))
    return cast(
        "datetime | None", answered.exclude(outcome=CallOutcome.ERROR).aggregate(last=Max("created_at"))["last"]
    )


def last_failure(
    operations: Collection[str], since: datetime, prefix: str, others: Collection[str]
) -> tuple[datetime | None, str]:
    """The last error of the operations whose reason begins with `prefix` and is none of `others`: time and reason."""
    calls = TelemetryRecord.objects.filter(created_at__gte=since, operation__in=operations, outcome=CallOutcome.ERROR)
    failed = calls.filter(error_reason__startswith=prefix).exclude(error_reason__in=others).order_by("-created_at")
    return failed.values_list("created_at", "error_reason").first() or (None, "")
