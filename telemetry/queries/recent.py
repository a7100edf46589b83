"""The calls of the last minutes by upstream, and the usual figures, from which the lights of "Now" are computed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from django.db.models import Count, Sum

from telemetry.call_figures import Latency
from telemetry.measurement import OUTSIDE_FIGURES
from telemetry.models.calls import TelemetryRecord
from telemetry.queries.sources import Calls
from telemetry.queries.span import Span
from telemetry.queries.sums import groups, totals
from telemetry.rollups.bucket_number import BucketNumber

MINUTES = 15
LATENCY_MINUTES = 5
HOUR, WEEK = timedelta(hours=1), timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Counted:
    """Calls with one upstream and origin, in one of the last minutes: 0 is the last 60 s."""

    minute: int
    upstream: str  # "" if none was needed
    origin: str  # "" if answered
    calls: int
    own_ms: float  # time in Sluice, all calls together


@dataclass(frozen=True, slots=True)
class Recent:
    """`p95`: of the time in each upstream in the last 5 minutes, in ms; None under 20 calls."""

    rows: tuple[Counted, ...] = ()
    p95: Mapping[str, float | None] = field(default_factory=dict)

    def calls(self, minutes: int, *, upstream: str | None = None, origin: str | None = None) -> int:
        """Calls of the last minutes, of one upstream or of one origin."""
        return sum(
            row.calls
            for row in self.rows
            if row.minute < minutes and upstream in (None, row.upstream) and origin in (None, row.origin)
        )

    def own_mean(self, minutes: int) -> float | None:
        """The mean time in Sluice of a call, in ms."""
        count = self.calls(minutes)
        return sum(row.own_ms for row in self.rows if row.minute < minutes) / count if count else None

    @property
    def upstreams(self) -> frozenset[str]:
        return frozenset(row.upstream for row in self.rows if row.upstream)


@dataclass(frozen=True, slots=True)
class Usual:
    """`p95`: of each upstream over 7 days. `own_mean`: of the same hour a week ago. In ms; None: too few calls."""

    p95: Mapping[str, float | None] = field(default_factory=dict)
    own_mean: float | None = None


def recent(now: datetime) -> Recent:
    start = int(now.timestamp()) - 60 * MINUTES
    calls = _since(now - timedelta(minutes=MINUTES)).annotate(
        bucket=BucketNumber("created_at", start=start, seconds=60)
    )
    counted = calls.values_list("bucket", "upstream", "origin").annotate(
        n=Count("pk"), whole=Sum("latency_ms"), upstream_time=Sum("upstream_ms")
    )
    rows = tuple(
        Counted(max(0, MINUTES - 1 - bucket), upstream, origin, n, max(0.0, whole - upstream_time))
        for bucket, upstream, origin, n, whole, upstream_time in counted
    )
    return Recent(rows, _p95(now))


def _p95(now: datetime) -> Mapping[str, float | None]:
    calls = _since(now - timedelta(minutes=LATENCY_MINUTES)).exclude(upstream="")
    histograms: dict[str, Counter[int]] = {}
    for upstream, bucket, n in calls.values_list("upstream", "upstream_bucket").annotate(n=Count("pk")):
        histograms.setdefault(upstream, Counter())[bucket] += n
    return {upstream: Latency.of(counts).p95 for upstream, counts in histograms.items()}


def _since(moment: datetime) -> Calls:
    return TelemetryRecord.objects.filter(created_at__gte=moment).exclude(transport__in=OUTSIDE_FIGURES).order_by()


def usual(now: datetime) -> Usual:
    """The usual figures, read once an hour in each process, since they change little."""
    return _usual(now.replace(minute=0, second=0, microsecond=0))


@lru_cache(maxsize=2)
def _usual(hour: datetime) -> Usual:
    week = groups(Span.of(hour - WEEK, hour), by=("upstream",))
    same_hour = totals(Span.of(hour - WEEK, hour - WEEK + HOUR), has_latency=False)
    p95 = {str(group.values[0]): group.figures.upstream_latency.p95 for group in week if group.values[0]}
    return Usual(p95, same_hour.gateway_ms if same_hour.calls >= 20 else None)


forget_usual = _usual.cache_clear
