"""Decides whether a rollout may advance: each guardrail compares the included callers with the others."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.staff.rollouts import statistics
from gateway.staff.rollouts.figures import FEW_CALLERS, CallerFigures, Side, Sides
from gateway.staff.rollouts.statistics import ConfidenceInterval

Counts = tuple[int, int]  # (calls of a kind, all calls)
# A rollout is rolled back at once if, after AT_ONCE calls, its share of errors exceeds the control's by both of these.
MANY_MORE = 2.0  # times the control's share
POINTS_MORE = 0.05  # above the control's share
AT_ONCE = 50  # calls
SPREAD = 0.20  # how far the share of one caller may be from that of others by chance: 20 points


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
    """`control` and `treated`: shares of all calls; None if there was none. `difference`: by caller or by call, as the
    basis says; without a basis, the treated share. `is_sure`: the rise exceeds the limit by more than callers differ
    among themselves."""

    name: str
    title: str
    limit: float
    control: float | None
    treated: float | None
    difference: ConfidenceInterval
    standing: Standing
    is_sure: bool


class Basis(StrEnum):
    """What the included callers are compared with. The text completes “Compared with …”."""

    CALLERS = "the other callers, by caller"
    PAST = "the same callers in the 7 days before, by call, because a side has fewer than 20 callers"
    CALLS = "the other callers, by call, because a side has fewer than 20 callers and these made few calls before"
    NOTHING = "nothing, because there are too few other calls: the limits apply to the shares themselves"


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
            return "The intervals are valid however often you look."
        return "Intervals by call are too narrow where callers differ: look at the calls before the next step."


def verdict(sides: Sides, *, minimum_calls: int, has_waited: bool, share: int) -> GuardrailVerdict:
    """The verdict on the calls so far. `has_waited`: whether the step has lasted its minimum time. At 100 % no control
    is left, so the callers are compared with their own past."""
    basis, compared = _basis(sides, share)
    references = [compared, sides.control] if Sides.calls(sides.control) >= AT_ONCE else [compared]
    readings = tuple(_reading(name, sides.treated, compared, basis, references) for name in GUARDRAILS)
    treated, control = Sides.calls(sides.treated), Sides.calls(compared)
    beside = control if basis in (Basis.CALLERS, Basis.CALLS) else None
    advice, reason = _advice(readings, basis, treated, beside, minimum_calls, has_waited)
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
    readings: Sequence[GuardrailReading],
    basis: Basis,
    treated: int,
    control: int | None,
    minimum: int,
    has_waited: bool,
) -> tuple[Advice, str]:
    """`control`: calls of the other callers; None if the comparison is not with these."""
    errors = readings[0]
    if _is_alarming(errors, treated):
        return Advice.ROLL_BACK, f"Errors rose from {errors.control:.1%} to {errors.treated:.1%}."
    over = [each for each in readings if each.standing is Standing.OVER]
    for each in over:
        if _is_caused(each, basis):
            return Advice.ROLL_BACK, f"{_over_words(each)}."
    if over:
        return Advice.WAIT, f"{_over_words(over[0])}. So few callers can differ that much by chance: look at the calls."
    if not treated:
        return Advice.WAIT, "No call of an included caller yet."
    if control is None and treated < minimum:
        return Advice.WAIT, f"The included callers made {treated:,} of the {minimum:,} calls that a step needs."
    if control is not None and min(treated, control) < minimum:
        return Advice.WAIT, f"{treated:,} and {control:,} calls so far; both sides need {minimum:,}."
    if not has_waited:
        return Advice.WAIT, "The step has not lasted its minimum time yet."
    for each in readings:
        if each.standing is Standing.OPEN:
            return Advice.WAIT, f"{each.title.capitalize()}: a rise over the limit is not ruled out yet."
    return Advice.ADVANCE, "Every guardrail is within its limit."


def _is_alarming(errors: GuardrailReading, treated: int) -> bool:
    if errors.treated is None or errors.control is None or treated < AT_ONCE:
        return False
    is_much = errors.treated >= MANY_MORE * errors.control and errors.treated - errors.control >= POINTS_MORE
    return is_much and errors.is_sure


def _is_caused(over: GuardrailReading, basis: Basis) -> bool:
    """Whether a rise over the limit is attributed to the rollout. An interval by caller takes into account how much
    callers differ. One by call does not, so the rise must exceed that difference too. If the callers have no past, only
    a rise of errors is attributed, because slow and large answers depend on what a caller asks for."""
    if basis is Basis.CALLERS:
        return True
    return over.is_sure and (basis is Basis.PAST or over.name == "errors")


def _over_words(over: GuardrailReading) -> str:
    points = 100 * over.difference.value
    return f"{over.title.capitalize()}: {points:+.1f} points, over the limit of {100 * over.limit:+.1f}"


def _reading(name: str, treated: Side, control: Side, basis: Basis, references: Sequence[Side]) -> GuardrailReading:
    """`references`: a rise is sure only if it exceeds the limit against each of them. The past alone would not show
    that an outage also affects the other callers."""
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
    limit = declared.limit + SPREAD / math.sqrt(_equal_callers(treated) or 1.0)
    is_sure = all(_rise(declared, treated, each).is_above(limit) for each in references)
    return GuardrailReading(name, declared.title, declared.limit, shares[1], shares[0], difference, standing, is_sure)


def _rise(declared: GuardrailDeclaration, treated: Side, reference: Side) -> ConfidenceInterval:
    """The rise by call; without a reference, the share itself."""
    included, others = (_total([declared.read(each) for each in side.values()]) for side in (treated, reference))
    return statistics.share_difference(included, others) if reference else statistics.share_interval(*included)


def _equal_callers(side: Side) -> float:
    """How many callers with equally many calls would give the same certainty (Kish's effective sample size): twenty
    callers, of which one makes nearly all calls, count little more than one."""
    calls = [each.calls for each in side.values()]
    return sum(calls) ** 2 / sum(each**2 for each in calls) if any(calls) else 0.0


def _standing(difference: ConfidenceInterval, limit: float, *, known: bool) -> Standing:
    if not known:
        return Standing.UNKNOWN
    if difference.is_above(limit):
        return Standing.OVER
    return Standing.WITHIN if difference.is_below(limit) else Standing.OPEN


def _total(counts: Sequence[Counts]) -> Counts:
    return sum(part for part, _ in counts), sum(whole for _, whole in counts)
