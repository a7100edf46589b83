"""The figures of a group of calls, shared by tiles, charts, tables, /health and exports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from telemetry.measurement import CallOutcome
from telemetry.measures import MEASURES
from telemetry.rollups import histogram
from telemetry.rollups.histogram import Histogram

MIN_CALLS_FOR_PERCENTILES = 20
NO_CALLS: Mapping[str, float] = dict.fromkeys(MEASURES, 0)


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles in ms, within 2.2 %; None for fewer than 20 calls."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None

    @classmethod
    def of(cls, counts: Histogram) -> "Latency":
        if sum(counts.values()) < MIN_CALLS_FOR_PERCENTILES:
            return cls()
        return cls(*(histogram.percentile(counts, percent) for percent in (50, 95, 99)))


@dataclass(frozen=True, slots=True)
class CallFigures:
    """The figures of a group of calls. Shares are 0 to 1, or None where the denominator is 0. Token properties are in
    Claude's count; tokens that only the formula counted are converted by `claude_factor`."""

    measures: Mapping[str, float] = field(default_factory=lambda: NO_CALLS)  # by the names of telemetry.measures
    outcomes: Mapping[str, int] = field(default_factory=dict)  # calls by CallOutcome
    origins: Mapping[str, int] = field(default_factory=dict)  # failed calls by Origin
    latency: Latency = Latency()
    upstream_latency: Latency = Latency()

    @property
    def calls(self) -> int:
        return int(self.measures["calls"])

    @property
    def plain(self) -> int:
        return self.outcomes.get(CallOutcome.PLAIN, 0)

    @property
    def paginated(self) -> int:
        return self.outcomes.get(CallOutcome.PAGINATED, 0)

    @property
    def summarized(self) -> int:
        return self.outcomes.get(CallOutcome.SUMMARIZED, 0)

    @property
    def chunked(self) -> int:
        return self.outcomes.get(CallOutcome.CHUNKED, 0)

    @property
    def errors(self) -> int:
        return self.outcomes.get(CallOutcome.ERROR, 0)

    @property
    def oversized_calls(self) -> int:
        return int(self.measures["oversized_calls"])

    @property
    def cached_calls(self) -> int:
        return int(self.measures["cached_calls"])

    @property
    def list_calls(self) -> int:
        """Successful list calls."""
        return int(self.measures["list_calls"])

    @property
    def paginated_list_calls(self) -> int:
        return int(self.measures["paginated_list_calls"])

    @property
    def later_pages(self) -> int:
        """Calls for later pages of a list."""
        return int(self.measures["later_pages"])

    @property
    def totals(self) -> Mapping[str, float]:
        """The sum of each figure of Measurement with `is_totalled`, by its name."""
        return {name[6:]: value for name, value in self.measures.items() if name.startswith("total_")}

    def total(self, figure: str) -> float:
        return self.measures[f"total_{figure}"]

    def average(self, figure: str) -> float | None:
        """The average per call of a figure in `totals`."""
        return share(self.total(figure), self.calls)

    @property
    def tokens_sent(self) -> int:
        uncounted = self.total("estimated_tokens") - self.measures["counted_estimate"]
        return int(self.total("claude_tokens") + uncounted * (self.claude_factor or 1))

    @property
    def tokens_baseline(self) -> int:
        return int(self.total("baseline_tokens") * (self.claude_factor or 1))

    @property
    def claude_factor(self) -> float | None:
        """Claude's tokens per formula token, over the calls that have both counts."""
        return share(self.total("claude_tokens"), self.measures["counted_estimate"])

    @property
    def tokens_saved(self) -> int:
        """Net of follow-up calls; negative if these cost more than was saved."""
        return self.tokens_baseline - self.tokens_sent

    @property
    def reduction(self) -> float | None:
        """Net savings as a share of the tokens that unprotected APIs would have sent."""
        return share(self.tokens_saved, self.tokens_baseline)

    @property
    def average_tokens(self) -> float | None:
        return share(self.tokens_sent, self.calls)

    @property
    def bytes_sent(self) -> int:
        return int(self.total("response_bytes"))

    @property
    def average_response_bytes(self) -> float | None:
        return self.average("response_bytes")

    @property
    def upstream_ms(self) -> float | None:
        """The mean time that a call waited for upstreams."""
        return self.average("upstream_ms")

    @property
    def gateway_ms(self) -> float | None:
        """The mean time that a call spent in Sluice."""
        return share(max(0.0, self.total("latency_ms") - self.total("upstream_ms")), self.calls)

    @property
    def error_share(self) -> float | None:
        return share(self.errors, self.calls)

    @property
    def oversized_share(self) -> float | None:
        return share(self.oversized_calls, self.calls)

    @property
    def pagination_adoption(self) -> float | None:
        """Paginated list calls among all successful list calls (FR-032)."""
        return share(self.paginated_list_calls, self.list_calls)


@dataclass(frozen=True, slots=True)
class IntervalFigures:
    """The figures of one bucket. `parts` has the figures of each value that the series is split by."""

    start: datetime
    figures: CallFigures
    parts: Mapping[Any, CallFigures] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Series:
    """CallFigures over time, without gaps: a bucket without calls has zeros and no shares."""

    step: timedelta
    buckets: tuple[IntervalFigures, ...]
    values: tuple[Any, ...] = ()  # the values by which the series is split, those with the most calls first


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The figures of the calls with these values of the dimensions that they are grouped by."""

    values: tuple[Any, ...]
    figures: CallFigures


@dataclass(frozen=True, slots=True)
class Health:
    """The figures of FR-032. `ever` covers all calls in records or rollups, and has no percentiles."""

    last_24_hours: CallFigures
    ever: CallFigures
    last_call_at: datetime | None


def share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
