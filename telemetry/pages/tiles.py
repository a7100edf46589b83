"""Tiles: one large figure each, with its change since the span before."""

from dataclasses import dataclass
from enum import Enum

from telemetry import wording


class Better(Enum):
    """The direction in which a change is good. Unknown: the change has no colour."""

    MORE = 1
    LESS = -1
    UNKNOWN = 0


@dataclass(frozen=True, slots=True)
class PeriodChange:
    """A change such as "+12% vs previous 24 hours". `tone`: better, worse, or "" if neither."""

    words: str
    against: str
    tone: str = ""
    arrow: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """`exact`: the figure without rounding, for screen readers. `link`: "" if it leads nowhere."""

    label: str
    value: str
    exact: str = ""
    notes: tuple[str, ...] = ()
    change: PeriodChange | None = None
    link: str = ""
    help: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure that is shown as a line instead of a tile."""

    label: str
    value: str
    link: str = ""


def changed(now: float | None, before: float | None, against: str, better: Better) -> PeriodChange | None:
    """The change of a figure; None if nothing is compared, or there was nothing before."""
    return _change(wording.change(now, before), (now or 0) - (before or 0), against, better)


def changed_share(now: float | None, before: float | None, against: str, better: Better) -> PeriodChange | None:
    return _change(wording.points(now, before), (now or 0) - (before or 0), against, better)


def _change(words: str, difference: float, against: str, better: Better) -> PeriodChange | None:
    if not against or words == wording.NOTHING:
        return None
    if not words.startswith(("+", wording.MINUS)) or better is Better.UNKNOWN:
        return PeriodChange(words, against)
    is_better = difference * better.value > 0
    return PeriodChange(words, against, "better" if is_better else "worse", "▲" if difference > 0 else "▼")
