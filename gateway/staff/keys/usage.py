"""What keys have used, from telemetry."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from django.db.models import OuterRef, QuerySet, Subquery

from gateway.access.models import ApiKey
from gateway.access.quota_totals import recorded_totals
from telemetry import queries
from telemetry.call_figures import CallFigures
from telemetry.models import TelemetryRecord
from telemetry.queries import Selection, Span

NOTHING = CallFigures()


def with_last_use(keys: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
    """Each key with `last_used`, in the same query. It is None if no call of a client is stored."""
    calls = TelemetryRecord.objects.in_figures().filter(caller=OuterRef("name")).order_by("-created_at")
    return keys.annotate(last_used=Subquery(calls.values("created_at")[:1]))


def today(now: datetime) -> Mapping[str, CallFigures]:
    """Key name → its figures since midnight UTC, from the rollups and the newest calls."""
    span = Span.of(_midnight(now), now + timedelta(seconds=1))
    found = queries.groups(span, by=("key",), at_most=100_000, wanted=queries.SUMS)
    return {str(group.values[0]): group.figures for group in found}


def of_quotas(keys: Iterable[ApiKey], now: datetime) -> Mapping[str, int]:
    """Name → the tokens that count towards the quota today, of the keys that have one: errors do not count."""
    return recorded_totals({key.name: key.name for key in keys if key.daily_tokens}, _midnight(now))


def by_day(name: str, now: datetime, days: int = 7) -> list[tuple[str, int]]:
    """The calls of one key on each of the last days, UTC, oldest first."""
    first = (now - timedelta(days=days - 1)).astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    series = queries.series(Span.of(first, now), Selection.of({"key": [name]}), wanted=queries.COUNTS)
    counts = {f"{first + timedelta(days=n):%Y-%m-%d}": 0 for n in range(days)}
    for bucket in series.buckets:
        counts[f"{bucket.start.astimezone(UTC):%Y-%m-%d}"] += bucket.figures.calls
    return list(counts.items())


def last_24_hours(name: str, now: datetime) -> CallFigures:
    span = Span.of(now - timedelta(hours=24), now)
    return queries.totals(span, Selection.of({"key": [name]}), wanted=queries.COUNTS)


def _midnight(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
