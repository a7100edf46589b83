"""The figures of a group of calls, shared by tiles, charts, tables, /health and exports."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

MIN_CALLS_FOR_PERCENTILES = 20


@dataclass(frozen=True, slots=True)
class Latency:
    """Nearest-rank percentiles in ms; None below 20 calls, which are too few."""

    p50: float | None = None
    p95: float | None = None
    p99: float | None = None


@dataclass(frozen=True, slots=True)
class CallFigures:
    """The figures of a group of calls. Shares are 0 to 1, or None where the denominator is 0. Properties with tokens
    are in Claude's count; what only the formula has counted is converted by `claude_factor`."""

    calls: int
    plain: int
    paginated: int
    summarized: int
    chunked: int
    errors: int
    oversized_calls: int
    list_calls: int  # without errors
    paginated_list_calls: int
    counted_calls: int  # calls that also have Claude's own count
    counted_estimate: int  # what the formula gives for the counted calls
    totals: Mapping[str, float]  # the sum of each figure of Measurement with `is_totalled`
    latency: Latency = Latency()

    @property
    def tokens_sent(self) -> int:
        uncounted = self.totals["estimated_tokens"] - self.counted_estimate
        return int(self.totals["claude_tokens"] + uncounted * (self.claude_factor or 1))

    @property
    def tokens_baseline(self) -> int:
        return int(self.totals["baseline_tokens"] * (self.claude_factor or 1))

    @property
    def claude_factor(self) -> float | None:
        """Claude's count of the counted calls for each token of the formula's."""
        return _share(self.totals["claude_tokens"], self.counted_estimate)

    @property
    def bytes_sent(self) -> int:
        return int(self.totals["response_bytes"])

    @property
    def error_share(self) -> float | None:
        return _share(self.errors, self.calls)

    @property
    def oversized_share(self) -> float | None:
        return _share(self.oversized_calls, self.calls)

    @property
    def pagination_adoption(self) -> float | None:
        """Paginated list calls among all successful list calls (FR-032)."""
        return _share(self.paginated_list_calls, self.list_calls)

    @property
    def tokens_saved(self) -> int:
        """Net of follow-up calls; negative if these cost more than was saved."""
        return self.tokens_baseline - self.tokens_sent

    @property
    def reduction(self) -> float | None:
        """Net savings as a share of the tokens that unprotected APIs would have sent."""
        return _share(self.tokens_saved, self.tokens_baseline)

    @property
    def average_response_bytes(self) -> float | None:
        return self.average("response_bytes")

    @property
    def average_tokens(self) -> float | None:
        return _share(self.tokens_sent, self.calls)

    def average(self, figure: str) -> float | None:
        """The average per call of a figure in `totals`."""
        return _share(self.totals[figure], self.calls)


@dataclass(frozen=True, slots=True)
class IntervalFigures:
    start: datetime
    figures: CallFigures


@dataclass(frozen=True, slots=True)
class Series:
    """CallFigures over time, without gaps: an interval without calls has zeros and no shares."""

    step: timedelta
    buckets: tuple[IntervalFigures, ...]


@dataclass(frozen=True, slots=True)
class OperationFigures:
    operation: str
    figures: CallFigures


@dataclass(frozen=True, slots=True)
class Health:
    """The figures of FR-032. `ever` covers all calls within the retention period, and has no percentiles."""

    last_24_hours: CallFigures
    ever: CallFigures
    last_call_at: datetime | None


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
