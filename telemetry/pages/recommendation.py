"""What a tool's budget could be, from what its answers would have been without one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from telemetry import wording
from telemetry.facts import ToolFacts
from telemetry.measurement import CallOutcome
from telemetry.pages.address import Address
from telemetry.queries import Selection, Span, select

MONTH = timedelta(days=30)
NEWEST = 1000  # calls
FEWEST = 200
FITS = 0.05  # of the answers: so many may be shortened
STEP = 500  # tokens, which budgets are rounded to


@dataclass(frozen=True, slots=True)
class AnswerSize:
    """In tokens by the formula, which decides budgets: the answer as it was asked for, and what was sent. They differ
    where the answer was oversized; an ordinary page of a list is what was asked for."""

    asked: int
    sent: int

    @property
    def is_shortened(self) -> bool:
        return self.asked > self.sent


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`budget`: None if the present one stays. `basis`: what it is computed from."""

    sentence: str
    basis: str
    budget: int | None = None


def recommendation(address: Address, known: ToolFacts | None) -> Recommendation | None:
    """None: the tool is gone."""
    if known is None:
        return None
    selection = Selection().and_also(tool=known.name).and_also(cache="no")
    calls = select(Span.of(address.now - MONTH, address.now), selection).exclude(outcome=CallOutcome.ERROR)
    figures = calls.order_by("-created_at").values_list("original_tokens", "estimated_tokens", "oversized")[:NEWEST]
    answers = [AnswerSize(original if oversized else sent, sent) for original, sent, oversized in figures]
    return recommend(answers, known.budget, known.hard_cap)


def recommend(answers: Sequence[AnswerSize], budget: int, hard_cap: int) -> Recommendation:
    """A budget is raised until FITS is met, if it can be met below the hard cap. It is never lowered: nobody knows from
    figures whether a shorter answer would have been enough."""
    count = len(answers)
    basis = f"From the newest {wording.plural(count, 'answer')} of 30 days. Tokens by the formula, as budgets are."
    if count < FEWEST:
        return Recommendation(f"{wording.plural(count, 'answer')} in 30 days, too few ({FEWEST} needed).", "")
    over = sum(each.is_shortened for each in answers)
    share = wording.share(over / count)
    shortened = f"{wording.whole(over)} of {wording.whole(count)} answers were shortened ({share})"
    if over <= FITS * count:
        return Recommendation(f"The budget of {wording.whole(budget)} tokens fits: {shortened}.", basis)
    wanted = _budget_for(answers)
    if wanted > hard_cap:
        said = f"{shortened}, and no budget below the hard cap of {wording.whole(hard_cap)} would change that for most"
        return Recommendation(f"{said}. Filters and fields make answers small enough; see how it is called.", basis)
    left = sum(each.asked > wanted for each in answers)
    more = wording.change(_sent_under(answers, wanted), sum(each.sent for each in answers))
    said = f"A budget of {wording.whole(wanted)} tokens instead of {wording.whole(budget)}: {shortened}"
    return Recommendation(f"{said}, and {wording.whole(left)} would be. Tokens sent: {more}.", basis, wanted)


def _budget_for(answers: Sequence[AnswerSize]) -> int:
    ordered = sorted(each.asked for each in answers)
    needed = ordered[int(len(ordered) * (1 - FITS))]
    return -(-needed // STEP) * STEP


def _sent_under(answers: Sequence[AnswerSize], wanted: int) -> int:
    return sum(each.asked if each.asked <= wanted else each.sent for each in answers)
