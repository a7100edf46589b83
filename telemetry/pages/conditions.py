"""The state of a tool or key, derived from its calls, with a sentence. An upstream's state is its light."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from telemetry import queries, wording
from telemetry.call_figures import CallFigures
from telemetry.lights.verdict import BECAUSE_OF
from telemetry.pages.address import Address
from telemetry.queries import Selection, Span
from telemetry.states import State

RECENT = timedelta(minutes=5)  # the end of the span, which decides the state if it has enough calls
LOOKED_BACK = timedelta(hours=6)
DOWN_SHARE, DOWN_CALLS = 0.5, 5
DEGRADED_SHARE, DEGRADED_CALLS = 0.05, 20


@dataclass(frozen=True, slots=True)
class SubjectHealth:
    state: State
    sentence: str


def condition(address: Address, selection: Selection) -> SubjectHealth:
    """Down: at least half of at least 5 calls failed. Degraded: more than 5% of at least 20 calls failed. The calls are
    those of the span's last 5 minutes; if these are fewer than 5, those of the whole span."""
    since, until = address.span
    whole = queries.totals(Span.of(since, until), selection, wanted=queries.COUNTS)
    recent = queries.totals(Span.of(max(since, until - RECENT), until), selection, wanted=queries.COUNTS)
    state = _state(recent if recent.calls >= DOWN_CALLS else whole)
    if state is State.NO_DATA:
        return SubjectHealth(state, f"No calls {address.during}.")
    counts = _counts(whole)
    if state is State.DOWN:
        return SubjectHealth(state, f"Failing since {_since(selection, until)}. {counts}")
    return SubjectHealth(state, counts)


def bad_state(figures: CallFigures) -> State | None:
    """The state for a table row, which shows only bad states; None if the state is not bad."""
    state = _state(figures)
    return state if state in (State.DOWN, State.DEGRADED) else None


def counted(address: Address, selection: Selection) -> str:
    """A sentence: how many calls failed in the page's span, and the origin of most failures."""
    whole = queries.totals(Span.of(*address.span), selection, wanted=queries.COUNTS)
    return _counts(whole) if whole.calls else f"No calls {address.during}."


def _state(figures: CallFigures) -> State:
    share = figures.error_share
    if share is None:
        return State.NO_DATA
    if share >= DOWN_SHARE and figures.calls >= DOWN_CALLS:
        return State.DOWN
    if share > DEGRADED_SHARE and figures.calls >= DEGRADED_CALLS:
        return State.DEGRADED
    return State.OK


def _counts(figures: CallFigures) -> str:
    calls = wording.plural(figures.calls, "call")
    if not figures.errors:
        return f"{calls}, none failed."
    count, origin = max((count, name) for name, count in figures.origins.items())
    whose = f"{wording.whole(count)} because of {BECAUSE_OF[origin]}" if origin in BECAUSE_OF else "of unknown origin"
    return f"{wording.whole(figures.errors)} of {calls} failed ({wording.share(figures.error_share)}), {whose}."


def _since(selection: Selection, until: datetime) -> str:
    """The first minute of the unbroken stretch in which half of the calls or more failed."""
    span = Span(until - LOOKED_BACK, until, timedelta(minutes=1))
    first = None
    for bucket in reversed(queries.series(span, selection, wanted=queries.COUNTS).buckets):
        if bucket.figures.calls and (bucket.figures.error_share or 0) < DOWN_SHARE:
            break
        first = bucket.start if bucket.figures.calls else first
    if first is None:
        return f"before {wording.clock(span.since, until)}"
    before = "before " if first <= span.starts[1] else ""
    return f"{before}{wording.clock(first, until)} ({wording.age(until - first)})"
