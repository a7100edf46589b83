"""Recommends a tool's budget from the sizes of its unprotected answers, and the fields of its short answers from what
callers request after them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from urllib.parse import urlencode

from telemetry import wording
from telemetry.facts import ToolFacts
from telemetry.measurement import CallOutcome
from telemetry.pages.address import Address
from telemetry.queries import Selection, Span, select
from telemetry.queries.drill_downs import DrillDowns, drill_downs

MONTH = timedelta(days=30)
NEWEST = 1000  # calls
FEWEST = 200
FITS = 0.05  # the share of answers that may be shortened
STEP = 500  # tokens; budgets are rounded up to a multiple of it
FEWEST_SHORT = 20  # fields are recommended from this many short answers, and this many calls for more with known fields
OFTEN = 0.3  # a field belongs in the short answer if this share of the calls for more ask for it


@dataclass(frozen=True, slots=True)
class AnswerSize:
    """The requested and the sent size of an answer, in tokens by the formula, as budgets are. They differ only for an
    oversized answer, because an ordinary page of a list is all that was requested."""

    asked: int
    sent: int

    @property
    def is_shortened(self) -> bool:
        return self.asked > self.sent


@dataclass(frozen=True, slots=True)
class Recommendation:
    """`outcome`: the sentence in a few words. `basis`: the data that the budget is computed from. `budget`: None if the
    present one should stay. `fields`: the fields for short answers; empty if the present ones should stay. `reading`:
    how short answers are used."""

    sentence: str
    outcome: str
    basis: str
    budget: int | None = None
    fields: tuple[str, ...] = ()
    reading: str = ""

    @property
    def values(self) -> dict[str, str]:
        """The proposed settings, by their names in forms; empty if all stay."""
        budget = {"token_budget_threshold": str(self.budget)} if self.budget is not None else {}
        return {**budget, **({"summary_fields": ", ".join(self.fields)} if self.fields else {})}

    @property
    def query(self) -> str:
        """The query string that fills the form on the budget's page with the values."""
        return f"?{urlencode(self.values)}" if self.values else ""


def recommendation(address: Address, known: ToolFacts | None) -> Recommendation | None:
    """None: the tool is gone."""
    if known is None:
        return None
    used = drill_downs(Span.of(address.now - MONTH, address.now), known.name, known.opened_by)
    fields, reading = recommend_fields(used, known.short_fields)
    return replace(budget_recommendation(address, known), fields=fields, reading=reading)


def budget_recommendation(address: Address, known: ToolFacts) -> Recommendation:
    """The budget alone, which takes one query."""
    selection = Selection().and_also(tool=known.name).and_also(cache="no")
    calls = select(Span.of(address.now - MONTH, address.now), selection).exclude(outcome=CallOutcome.ERROR)
    figures = calls.order_by("-created_at").values_list("original_tokens", "estimated_tokens", "oversized")[:NEWEST]
    answers = [AnswerSize(original if oversized else sent, sent) for original, sent, oversized in figures]
    return recommend(answers, known.budget, known.hard_cap)


def recommend(answers: Sequence[AnswerSize], budget: int, hard_cap: int) -> Recommendation:
    """Raises the budget until FITS is met, if that is possible below the hard cap. It never lowers the budget, because
    figures do not show whether a shorter answer would have been enough."""
    count = len(answers)
    basis = f"From the newest {wording.plural(count, 'answer')} of 30 days that were not from the cache."
    basis += " Tokens by the formula, as budgets are."
    if count < FEWEST:
        said = f"{wording.plural(count, 'answer')} in 30 days, too few ({FEWEST} needed)."
        return Recommendation(said, f"too few answers ({FEWEST} needed)", "")
    over = sum(each.is_shortened for each in answers)
    share = wording.share(over / count)
    said_over = f"{wording.whole(over)} of {wording.whole(count)} answers were over budget ({share})"
    if over <= FITS * count:
        return Recommendation(f"The budget of {wording.whole(budget)} tokens fits: {said_over}.", "fits", basis)
    wanted = _budget_for(answers)
    if wanted > hard_cap:
        said = f"{said_over}, and no budget below the hard cap of {wording.whole(hard_cap)} would change that for most"
        said = f"{said}. Filters and fields make answers small enough; see how it is called."
        return Recommendation(said, "filters, not a budget", basis)
    left = sum(each.asked > wanted for each in answers)
    more = wording.change(_sent_under(answers, wanted), sum(each.sent for each in answers))
    said = f"A budget of {wording.whole(wanted)} tokens instead of {wording.whole(budget)}: {said_over}"
    said = f"{said}, and {wording.whole(left)} would be. Tokens sent: {more}."
    return Recommendation(said, f"{wording.whole(wanted)} tokens", basis, wanted)


def recommend_fields(used: DrillDowns, present: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The fields that short answers should have, empty if the present ones stay; and how short answers are used."""
    if used.short < FEWEST_SHORT:
        few = wording.plural(used.short, "short answer")
        return (
            (),
            f"{few} in 30 days, too few to say which fields they need ({FEWEST_SHORT} needed)." if used.short else "",
        )
    said = (
        f"After {wording.whole(used.followed)} of {wording.plural(used.short, 'short answer')} "
        f"({wording.share(used.followed / used.short)}) the same key asked for more within 5 minutes."
    )
    if used.known < FEWEST_SHORT:
        kept = f"The fields of {wording.whole(used.known)} of these calls are known, too few ({FEWEST_SHORT} needed)"
        return (
            (),
            f"{said} {kept}: store the arguments of this tool's successful calls to learn them."
            if used.followed
            else said,
        )
    asked = {name: count / used.known for name, count in (used.fields or {}).items() if name not in present}
    often = [name for name, part in asked.items() if part >= OFTEN]
    unread = [name for name in present if name not in (used.fields or {})]
    if used.everything:
        said += f" {wording.share(used.everything / used.known)} asked for all fields."
    if not often:
        return (), f"{said} No field outside the short answer is asked for often."
    named = ", ".join(f"{name} ({wording.share(asked[name])})" for name in often)
    never = f" Nobody asked by name for {', '.join(unread)}." if unread and present else ""
    return (*present, *often), f"{said} They often asked for {named}.{never}"


def _budget_for(answers: Sequence[AnswerSize]) -> int:
    ordered = sorted(each.asked for each in answers)
    needed = ordered[int(len(ordered) * (1 - FITS))]
    return -(-needed // STEP) * STEP


def _sent_under(answers: Sequence[AnswerSize], wanted: int) -> int:
    return sum(each.asked if each.asked <= wanted else each.sent for each in answers)
