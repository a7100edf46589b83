"""Confidence intervals that stay valid however often they are looked at.

An ordinary 95 % interval is right 95 % of the time if it is looked at once. A check every minute would sooner or later
see a difference that is not there. A confidence sequence covers the true value at all times together (Waudby-Smith and
others, "Time-uniform central limit theory and asymptotic confidence sequences", 2021).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance

CONFIDENCE = 0.95
TIGHTEST_AT = 30  # observations at which the interval is about as narrow as such intervals can be


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A value, and limits for the true value that hold at all looks together."""

    value: float
    low: float
    high: float

    def is_below(self, limit: float) -> bool:
        """Whether the whole interval is on the good side of an upper limit."""
        return self.high <= limit

    def is_above(self, limit: float) -> bool:
        """Whether the whole interval is on the bad side of an upper limit."""
        return self.low > limit

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> ConfidenceInterval:
    """The mean of independent observations. With fewer than two of them nothing is known: the limits are infinite."""
    if len(values) < 2:
        value = values[0] if values else 0.0
        return ConfidenceInterval(value, -math.inf, math.inf)
    return _interval(fmean(values), variance(values), len(values), confidence)


def difference(
    treated: Sequence[float], control: Sequence[float], confidence: float = CONFIDENCE
) -> ConfidenceInterval:
    """The mean of `treated` minus that of `control`, two independent groups of observations."""
    each = (1 + confidence) / 2  # both intervals hold together with `confidence`
    one, other = mean_interval(treated, each), mean_interval(control, each)
    return ConfidenceInterval(one.value - other.value, one.low - other.high, one.high - other.low)


def share_interval(part: int, whole: int, confidence: float = CONFIDENCE) -> ConfidenceInterval:
    """The share of calls of a kind, each call an observation. The variance is never taken as zero, because a hundred
    good calls do not prove that no call fails."""
    if whole < 2:
        return ConfidenceInterval(part / whole if whole else 0.0, -math.inf, math.inf)
    likely = (part + 1) / (whole + 2)
    return _interval(part / whole, likely * (1 - likely), whole, confidence)


def share_difference(treated: tuple[int, int], control: tuple[int, int]) -> ConfidenceInterval:
    """The difference of two shares, each given as (part, whole)."""
    each = (1 + CONFIDENCE) / 2
    one, other = share_interval(*treated, each), share_interval(*control, each)
    return ConfidenceInterval(one.value - other.value, one.low - other.high, one.high - other.low)


def _interval(mean: float, spread: float, count: int, confidence: float) -> ConfidenceInterval:
    scaled = count / TIGHTEST_AT
    width = math.sqrt(2 * (scaled + 1) / (count * scaled) * math.log(math.sqrt(scaled + 1) / (1 - confidence)))
    half = math.sqrt(spread) * width
    return ConfidenceInterval(mean, mean - half, mean + half)
