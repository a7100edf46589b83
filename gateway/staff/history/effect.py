"""What the calls looked like before and after a change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from telemetry import wording
from telemetry.call_figures import CallFigures
from telemetry.queries import Span
from telemetry.queries.selection import Selection
from telemetry.queries.sums import totals

AROUND = timedelta(minutes=30)
ENOUGH = 20  # the fewest calls on each side that are compared


@dataclass(frozen=True, slots=True)
class ChangeEffect:
    """`rows`: the name of a figure, before and after. `note`: how to read the rows, or why there are none."""

    rows: tuple[tuple[str, str, str], ...]
    note: str


def effect(at: datetime, selection: Selection) -> ChangeEffect:
    """The figures of the selected calls in the half hours before and after a change."""
    until = min(at + AROUND, timezone.now())
    if until <= at:
        return ChangeEffect((), "No time has passed since the change.")
    before, after = totals(Span.of(at - AROUND, at), selection), totals(Span.of(at, until), selection)
    if min(before.calls, after.calls) < ENOUGH:
        note = f"Too few calls to compare: {before.calls:,} before and {after.calls:,} after; {ENOUGH} are needed."
        return ChangeEffect((), note)
    rows = tuple((name, read(before), read(after)) for name, read in FIGURES.items())
    return ChangeEffect(rows, "30 minutes before and after. A difference may have other reasons.")


FIGURES: Mapping[str, Callable[[CallFigures], str]] = {
    "Calls": lambda each: wording.whole(each.calls),
    "Failed": lambda each: wording.share(each.error_share),
    "Over budget": lambda each: wording.share(each.oversized_share),
    "Tokens sent per call": lambda each: wording.whole(each.average_tokens),
}
