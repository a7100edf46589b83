"""States over time, as a strip that the server draws. A state has a height as well as a colour."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from telemetry import wording
from telemetry.states import State

WIDTH, HEIGHT = 1000, 20
NARROWEST = 4  # the least width of a stretch, so that even a short one is visible
# The height of each state. The worst is the last, because it is drawn over the others.
HEIGHTS = {
    State.OK: 4,
    State.NO_DATA: 7,
    State.PENDING: 10,
    State.RECOVERING: 10,
    State.ERROR: 14,
    State.DEGRADED: 20,
    State.DOWN: 20,
}
RANKS = {state: rank for rank, state in enumerate(HEIGHTS)}


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in one state. `word`: the state's name for this kind of object, such as Firing."""

    since: datetime
    until: datetime
    state: State
    word: str


@dataclass(frozen=True, slots=True)
class StripPiece:
    """A stretch in the drawing's units."""

    colour: str
    x: str
    y: str
    width: str
    height: str
    words: str


@dataclass(frozen=True, slots=True)
class Strip:
    """`ends`: the first and the last moment. `words`: the strip as text, for screen readers."""

    pieces: tuple[StripPiece, ...]
    ends: tuple[str, str]
    words: str
    box: str = f"0 0 {WIDTH} {HEIGHT}"


def strip(stretches: Iterable[Stretch], since: datetime, until: datetime, *, named: int = 20) -> Strip:
    """`named`: how many of the newest stretches the text lists."""
    within = [each for each in stretches if each.until > since and each.since < until]
    drawn = [_piece(each, since, until) for each in sorted(within, key=lambda each: RANKS[each.state])]
    # Many short stretches of one state in the same place are drawn once.
    pieces = tuple({(each.colour, each.x, each.width): each for each in drawn}.values())
    said = [_words(each, until) for each in sorted(within, key=lambda each: each.since)[-named:]]
    return Strip(pieces, (wording.clock(since, until), wording.clock(until, until)), "; ".join(said))


def _piece(each: Stretch, since: datetime, until: datetime) -> StripPiece:
    whole = (until - since).total_seconds()
    left = WIDTH * max(0.0, (each.since - since).total_seconds()) / whole
    right = WIDTH * min(whole, (each.until - since).total_seconds()) / whole
    width = max(NARROWEST, right - left)
    height = HEIGHTS[each.state]
    x = min(left, WIDTH - width)
    place = f"{x:.0f}", f"{HEIGHT - height}", f"{width:.0f}", f"{height}"
    return StripPiece(each.state.key, *place, _words(each, until))


def _words(each: Stretch, now: datetime) -> str:
    """14:02: Firing (11 min)"""
    return f"{wording.clock(each.since, now)}: {each.word} ({wording.length(each.until - each.since)})"


def stretches(changes: Sequence[tuple[datetime, State, str]], end: datetime) -> list[Stretch]:
    """`changes`: the time, the new state and its word, in order. The last state lasts until `end`."""
    starts = [at for at, _, _ in changes]
    return [
        Stretch(at, until, state, word)
        for (at, state, word), until in zip(changes, [*starts[1:], end], strict=False)  # `changes` may be empty
    ]
