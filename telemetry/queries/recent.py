"""The calls of the last minutes by upstream, and the usual figures. The lights of the page "Now" compare the two."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache

from telemetry.call_figures import Latency
from telemetry.models.calls import TelemetryRecord
from telemetry.queries.sources import SUMS, SUMS_AND_UPSTREAM_TIMES
from telemetry.queries.span import Span
from telemetry.queries.sums import groups, totals
from telemetry.rollups import histogram, summation
from telemetry.rollups.bucket_number import BucketNumber
from telemetry.rollups.summation import MeasureSet

MINUTES = 15
LATENCY_MINUTES = 5
HOUR, WEEK = timedelta(hours=1), timedelta(days=7)
COLUMNS = ("interval", "upstream", "origin")
WANTED = MeasureSet(("calls", "total_latency_ms", "total_upstream_ms"), ("upstream_latency",))


@dataclass(frozen=True, slots=True)
class Counted:
    """The calls of one minute with the same upstream and origin. `minute`: how many minutes ago; 0 is the last 60 s."""

    minute: int
    upstream: str  # "" if none was needed
    origin: str  # "" if answered
    calls: int
    own_ms: float  # time in Sluice, all calls together


@dataclass(frozen=True, slots=True)
class Recent:
    """The calls of the last 15 minutes. `p95`: by upstream, the p95 of the time that a call spent in it, over the last
    5 minutes, in ms; None for fewer than 20 calls."""

    rows: tuple[Counted, ...] = ()
    p95: Mapping[str, float | None] = field(default_factory=dict)

    def calls(self, minutes: int, *, upstream: str | None = None, origin: str | None = None) -> int:
        """The number of calls of the last minutes; if given, only those with this upstream and this origin."""
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
    """The usual figures in ms; None: too few calls. `p95`: by upstream, the p95 of the time that a call spent in it,
    over 7 days. `own_mean`: the mean time in Sluice in the same hour a week ago."""

    p95: Mapping[str, float | None] = field(default_factory=dict)
    own_mean: float | None = None


def recent(now: datetime) -> Recent:
    """The calls of the last 15 minutes, read by one query."""
    start = int(now.timestamp()) - 60 * MINUTES
    calls = TelemetryRecord.objects.in_figures().filter(created_at__gte=now - timedelta(minutes=MINUTES))
    calls = calls.annotate(interval=BucketNumber("created_at", start=start, seconds=60))
    rows: list[Counted] = []
    histograms: dict[str, Counter[int]] = {}
    for added in summation.added_up([summation.of_calls(calls, COLUMNS, WANTED)], COLUMNS, WANTED):
        (interval, upstream, origin), (count, whole, in_upstream) = added.key, added.measures
        minute = MINUTES - 1 - interval
        rows.append(Counted(max(0, minute), upstream, origin, int(count), max(0.0, whole - in_upstream)))
        if upstream and minute < LATENCY_MINUTES:
            histograms.setdefault(upstream, Counter()).update(histogram.joined(added.histograms[0]))
    return Recent(tuple(rows), {upstream: Latency.of(counts).p95 for upstream, counts in histograms.items()})


def usual(now: datetime) -> Usual:
    """The usual figures, read once an hour in each process, since they change little."""
    return _usual(now.replace(minute=0, second=0, microsecond=0))


@lru_cache(maxsize=2)
def _usual(hour: datetime) -> Usual:
    week = groups(Span.of(hour - WEEK, hour), by=("upstream",), wanted=SUMS_AND_UPSTREAM_TIMES)
    same_hour = totals(Span.of(hour - WEEK, hour - WEEK + HOUR), wanted=SUMS)
    p95 = {str(group.values[0]): group.figures.upstream_latency.p95 for group in week if group.values[0]}
    return Usual(p95, same_hour.gateway_ms if same_hour.calls >= 20 else None)


forget_usual = _usual.cache_clear
