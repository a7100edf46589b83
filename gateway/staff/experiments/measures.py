"""The measures of an experiment: both arms, their difference with its interval, and the word that describes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from gateway.staff.experiments.figures import ExperimentSides, TaskFigures
from gateway.staff.rollouts.statistics import ConfidenceInterval, difference

ENOUGH_CALLERS = 20  # the fewest callers on each side for an interval
UNLIKELY_SPLIT = 10.83  # chi-square of one degree of freedom: p < 0.001


class MeasureWord(StrEnum):
    """The only words for a difference. None of them says which arm is better."""

    LOWER = "lower"
    HIGHER = "higher"
    UNCLEAR = "unclear"  # the interval contains 0
    TOO_EARLY = "too early"
    NO_VERDICT = "split is off"


Counts = tuple[float, float]  # the sum, and what it is divided by


@dataclass(frozen=True, slots=True)
class MeasureDeclaration:
    """`is_share`: differences are in points; otherwise they are in percent of the arm without protection. `who`: the
    callers that have the measure."""

    title: str
    read: Callable[[TaskFigures], Counts]
    is_share: bool = True
    who: str = "callers"


MEASURES_OF_EXPERIMENTS: Mapping[str, MeasureDeclaration] = {
    "tokens_per_task": MeasureDeclaration("tokens per task", lambda each: (each.tokens, each.tasks), is_share=False),
    "calls_per_task": MeasureDeclaration("calls per task", lambda each: (each.calls, each.tasks), is_share=False),
    "errors": MeasureDeclaration("errors", lambda each: (each.failed, each.calls)),
    "slow_calls": MeasureDeclaration("slow calls", lambda each: (each.slow, each.calls)),
    "follow_ups": MeasureDeclaration("calls for more of an answer", lambda each: (each.follow_ups, each.calls)),
    "paging_finished": MeasureDeclaration(
        "paging finished", lambda each: _finished(each), who="callers that read a second page"
    ),
}


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """`off` and `on`: means over callers; None without callers. `difference`: `on` minus `off`, as a share of `off`, or
    in points if the measure is a share; None if there is no verdict. `on_callers`, `off_callers`: the number of callers
    that have the measure."""

    name: str
    title: str
    off: float | None
    on: float | None
    difference: ConfidenceInterval | None
    word: MeasureWord
    is_main: bool
    is_share: bool
    on_callers: int
    off_callers: int


@dataclass(frozen=True, slots=True)
class ExperimentReport:
    results: tuple[MeasureResult, ...]
    on_callers: int
    off_callers: int
    calls: int
    split_is_off: bool
    is_cut: bool

    @property
    def is_early(self) -> bool:
        return min(self.on_callers, self.off_callers) < ENOUGH_CALLERS


def report(sides: ExperimentSides, main: str) -> ExperimentReport:
    """The results so far. The intervals are valid however often they are looked at."""
    split_is_off = is_split_off(len(sides.on), len(sides.off))
    results = tuple(_result(name, sides, name == main, split_is_off) for name in MEASURES_OF_EXPERIMENTS)
    ordered = tuple(sorted(results, key=lambda each: not each.is_main))
    return ExperimentReport(ordered, len(sides.on), len(sides.off), sides.calls, split_is_off, sides.is_cut)


def is_split_off(on: int, off: int) -> bool:
    """Whether a split as uneven as this one would occur by chance in fewer than one of a thousand experiments."""
    expected = (on + off) / 2
    return expected > 0 and ((on - expected) ** 2 + (off - expected) ** 2) / expected > UNLIKELY_SPLIT


def _result(name: str, sides: ExperimentSides, is_main: bool, split_is_off: bool) -> MeasureResult:
    declared = MEASURES_OF_EXPERIMENTS[name]
    on, off = _by_caller(declared, sides.on), _by_caller(declared, sides.off)
    means = [fmean(values) if values else None for values in (off, on)]
    found = None
    if split_is_off:
        word = MeasureWord.NO_VERDICT
    elif min(len(on), len(off)) < ENOUGH_CALLERS:
        word = MeasureWord.TOO_EARLY
    else:
        found = _scaled(difference(on, off), 1.0 if declared.is_share else fmean(off))
        word = word_for(found)
    return MeasureResult(
        name, declared.title, means[0], means[1], found, word, is_main, declared.is_share, len(on), len(off)
    )


def _by_caller(declared: MeasureDeclaration, side: Sequence[TaskFigures]) -> list[float]:
    counts = (declared.read(each) for each in side)
    return [part / whole for part, whole in counts if whole]


def _scaled(found: ConfidenceInterval, by: float) -> ConfidenceInterval:
    scale = by or 1.0
    return ConfidenceInterval(found.value / scale, found.low / scale, found.high / scale)


def word_for(found: ConfidenceInterval) -> MeasureWord:
    if not found.excludes_zero:
        return MeasureWord.UNCLEAR
    return MeasureWord.LOWER if found.high < 0 else MeasureWord.HIGHER


def _finished(each: TaskFigures) -> Counts:
    unfinished, begun = each.pagings
    return begun - unfinished, begun
