"""The figures of a group of calls, shared by tiles, charts, tables, /health and exports."""

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
class Figures:
    """The figures of a group of calls. Shares are 0 to 1, or None where the denominator is 0."""

    calls: int
    plain: int
    paginated: int
    summarized: int
    chunked: int
    errors: int
    tokens_sent: int
    tokens_original: int
    tokens_baseline: int  # what unprotected APIs would have sent
    bytes_sent: int
    oversized_calls: int
    list_calls: int  # without errors
    paginated_list_calls: int
    counted_calls: int  # that have Claude's own count as well
    accurate_calls: int  # of these, with an estimate within 20 % of that count
    latency: Latency = Latency()

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
    def estimate_accuracy(self) -> float | None:
        """Estimates within 20 % of Claude's count, among those compared (FR-014, O2)."""
        return _share(self.accurate_calls, self.counted_calls)

    @property
    def average_response_bytes(self) -> float | None:
        return _share(self.bytes_sent, self.calls)

    @property
    def average_tokens(self) -> float | None:
        return _share(self.tokens_sent, self.calls)


@dataclass(frozen=True, slots=True)
class Bucket:
    start: datetime
    figures: Figures


@dataclass(frozen=True, slots=True)
class Series:
    """Figures over time, without gaps: an interval without calls has zeros and no shares."""

    step: timedelta
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class OperationFigures:
    operation: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Health:
    """The figures of FR-032. `ever` covers all calls within the retention, and has no percentiles."""

    last_24_hours: Figures
    ever: Figures
    last_call_at: datetime | None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
