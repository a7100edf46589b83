"""Whether a rollout may go on: each guardrail compares the included callers with the others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.rollouts import statistics
from gateway.rollouts.figures import FEW_CALLERS, CallerFigures, Side, Sides
from gateway.rollouts.statistics import ConfidenceInterval

Counts = tuple[int, int]  # calls of a kind, of all
MANY_MORE = 2.0  # errors so many times the control's,
POINTS_MORE = 0.05  # and so many points more,
AT_ONCE = 50  # from so many calls on, roll back without waiting for an interval


class Standing(StrEnum):
    WITHIN = "within"
    OPEN = "not ruled out yet"
    OVER = "over the limit"
    UNKNOWN = "nothing to compare"


@dataclass(frozen=True, slots=True)
class GuardrailDeclaration:
    """`limit`: how much worse the included callers may be, as a share: 0.01 is one point."""

    title: str
    limit: float
    read: Callable[[CallerFigures], Counts]


GUARDRAILS: Mapping[str, GuardrailDeclaration] = {
    "errors": GuardrailDeclaration("errors", 0.01, lambda each: (each.failed, each.calls)),
    "slow": GuardrailDeclaration("slow calls", 0.02, lambda each: (each.slow, each.calls)),
    "oversized": GuardrailDeclaration("oversized", 0.01, lambda each: (each.oversized, each.calls)),
    "paging": GuardrailDeclaration("unfinished paging", 0.02, lambda each: each.pagings),
}


@dataclass(frozen=True, slots=True)
class GuardrailReading:
    """`control` and `treated`: shares of all calls; None if there was none. `difference`: by caller."""

    name: str
    title: str
    limit: float
    control: float | None
    treated: float | None
    difference: ConfidenceInterval
    standing: Standing


class Basis(StrEnum):
    """What the included callers are compared with. The text completes “Compared with …”."""

    CALLERS = "the other callers, by caller"
    PAST = "the same callers in the 7 days before, by call, because a side has fewer than 20 callers"
    CALLS = "the other callers, by call, because a side has fewer than 20 callers and these made few calls before"
    NOTHING = "nothing, because there are too few other calls: the limits hold for the shares themselves"


class Advice(StrEnum):
    WAIT = "wait"
    ADVANCE = "advance"
    ROLL_BACK = "roll back"


@dataclass(frozen=True, slots=True)
class GuardrailVerdict:
    advice: Advice
    reason: str
    readings: tuple[GuardrailReading, ...]
    basis: Basis
    treated_calls: int
    control_calls: int

    @property
    def about_intervals(self) -> str:
        """How far the intervals can be trusted."""
        if self.basis is Basis.CALLERS:
            return "Intervals hold at every look."
        return "Intervals by call are too narrow where callers differ: look at the calls before the next step."


def verdict(sides: Sides, *, minimum_calls: int, has_waited: bool, share: int) -> GuardrailVerdict:
    """What the calls so far say. `has_waited`: whether the step has lasted its least time. At 100 % there is no control
    any more, so the callers' own past is compared."""
    basis, compared = _basis(sides, share)
    readings = tuple(_reading(name, sides.treated, compared, basis) for name in GUARDRAILS)
    treated, control = Sides.calls(sides.treated), Sides.calls(compared)
    needed = control if basis in (Basis.CALLERS, Basis.CALLS) else minimum_calls
    advice, reason = _advice(readings, treated, needed, minimum_calls, has_waited)
    return GuardrailVerdict(advice, reason, readings, basis, treated, control)


def _basis(sides: Sides, share: int) -> tuple[Basis, Side]:
    if share < 100 and min(len(sides.treated), len(sides.control)) >= FEW_CALLERS:
        return Basis.CALLERS, sides.control
    if Sides.calls(sides.before) >= AT_ONCE:
        return Basis.PAST, sides.before
    if Sides.calls(sides.control) >= AT_ONCE:
        return Basis.CALLS, sides.control
    return Basis.NOTHING, {}


def _advice(
    readings: Sequence[GuardrailReading], treated: int, control: int, minimum: int, has_waited: bool
) -> tuple[Advice, str]:
    errors = readings[0]
    if _is_alarming(errors, treated):
        return Advice.ROLL_BACK, f"Errors rose from {errors.control:.1%} to {errors.treated:.1%}."
    for each in readings:
        if each.standing is Standing.OVER:
            points = 100 * each.difference.value
            return (
                Advice.ROLL_BACK,
                f"{each.title.capitalize()}: {points:+.1f} points, over the limit of {100 * each.limit:+.1f}.",
            )
    if not treated:
        return Advice.WAIT, "No call of an included caller yet."
    if treated < minimum or control < minimum:
        return Advice.WAIT, f"{treated:,} and {control:,} calls so far; both sides need {minimum:,}."
    if not has_waited:
        return Advice.WAIT, "The step has not lasted its least time yet."
    for each in readings:
        if each.standing is Standing.OPEN:
            return Advice.WAIT, f"{each.title.capitalize()}: a rise over the limit is not ruled out yet."
    return Advice.ADVANCE, "Every guardrail is within its limit."


def _is_alarming(errors: GuardrailReading, treated: int) -> bool:
    if errors.treated is None or errors.control is None or treated < AT_ONCE:
        return False
    return errors.treated >= MANY_MORE * errors.control and errors.treated - errors.control >= POINTS_MORE


def _reading(name: str, treated: Side, control: Side, basis: Basis) -> GuardrailReading:
    declared = GUARDRAILS[name]
    both = [[declared.read(each) for each in side.values()] for side in (treated, control)]
    totals = [_total(counts) for counts in both]
    if basis is Basis.NOTHING:
        difference = statistics.share_interval(*totals[0])
    elif basis is not Basis.CALLERS:
        difference = statistics.share_difference(totals[0], totals[1])
    else:
        treated_shares, control_shares = ([part / whole for part, whole in counts if whole] for counts in both)
        difference = statistics.difference(treated_shares, control_shares)
    shares = [part / whole if whole else None for part, whole in totals]
    standing = _standing(
        difference, declared.limit, known=shares[0] is not None and (basis is Basis.NOTHING or shares[1] is not None)
    )
    return GuardrailReading(name, declared.title, declared.limit, shares[1], shares[0], difference, standing)


def _standing(difference: ConfidenceInterval, limit: float, *, known: bool) -> Standing:
    if not known:
        return Standing.UNKNOWN
    if difference.is_above(limit):
        return Standing.OVER
    return Standing.WITHIN if difference.is_below(limit) else Standing.OPEN


def _total(counts: Sequence[Counts]) -> Counts:
    return sum(part for part, _ in counts), sum(whole for _, whole in counts)
