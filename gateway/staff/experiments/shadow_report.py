"""The results of shadow mode: both sizes of the same calls, and their paired difference."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from django.db.models import Sum

from gateway.staff.experiments.measures import ENOUGH_CALLERS
from gateway.staff.experiments.models import Experiment, ShadowSize
from gateway.staff.rollouts.statistics import ConfidenceInterval, mean_interval

NEWEST = 50_000  # calls that are read
ENOUGH_CALLS = 20  # the fewest calls for an interval by call

TITLES = {"claude": "Claude's tokens per call", "formula": "tokens per call, by the formula"}

NOT_KNOWN = (
    "Whether callers would ask for details, or narrow their question, after another answer.",
    "Whether they would read a list to its end: only first answers are sized, and none of the pages after them.",
    "How many calls a task would take, how long they would take, and how many would fail.",
)

COLUMNS = (
    "caller",
    "on_claude",
    "on_formula",
    "on_summarized",
    "on_paged",
    "off_claude",
    "off_formula",
    "off_summarized",
    "off_paged",
    "off_refused",
)


@dataclass(frozen=True, slots=True)
class PairedMeasure:
    """The mean tokens of a call, over callers or, while these are few, over calls. `difference`: `on` minus `off`, as a
    share of `off`; None while there are too few calls."""

    name: str
    title: str
    off: float
    on: float
    difference: ConfidenceInterval | None


@dataclass(frozen=True, slots=True)
class ShadowCounts:
    """How many answers of one arm are shortened, come in pages or chunks, or are replaced by an error."""

    summarized: int
    paged: int
    refused: int


@dataclass(frozen=True, slots=True)
class ShadowReport:
    """`dropped` and `unknown`: see ShadowSize. `is_by_caller`: each caller is one observation; otherwise each call is
    one."""

    measures: tuple[PairedMeasure, ...]
    on: ShadowCounts
    off: ShadowCounts
    calls: int
    callers: int
    dropped: int
    unknown: int
    is_by_caller: bool
    is_cut: bool


def shadow_report(experiment: Experiment) -> ShadowReport:
    """Queries the database."""
    found = ShadowSize.objects.filter(experiment=experiment)
    calls = list(found.order_by("-at").values(*COLUMNS)[:NEWEST])
    losses = found.aggregate(dropped=Sum("dropped"), unknown=Sum("unknown"))
    by_caller: defaultdict[str, list[dict[str, int]]] = defaultdict(list)
    for each in calls:
        by_caller[each["caller"]].append(each)
    groups = list(by_caller.values())
    is_by_caller = len(groups) >= ENOUGH_CALLERS
    observed = groups if is_by_caller else [[each] for each in calls]
    return ShadowReport(
        measures=tuple(_paired(name, observed) for name in TITLES) if calls else (),
        on=_counts(calls, "on"),
        off=_counts(calls, "off"),
        calls=len(calls),
        callers=len(groups),
        dropped=losses["dropped"] or 0,
        unknown=losses["unknown"] or 0,
        is_by_caller=is_by_caller,
        is_cut=len(calls) >= NEWEST,
    )


def _paired(name: str, observed: Sequence[Sequence[dict[str, int]]]) -> PairedMeasure:
    """Each observation is the mean over its calls. The difference is taken within an observation, so that differences
    between calls do not widen the interval."""
    on, off = ([fmean(call[f"{arm}_{name}"] for call in each) for each in observed] for arm in ("on", "off"))
    scale = fmean(off) or 1.0
    enough = len(observed) >= ENOUGH_CALLS
    found = mean_interval([one - other for one, other in zip(on, off, strict=True)])
    difference = ConfidenceInterval(found.value / scale, found.low / scale, found.high / scale) if enough else None
    return PairedMeasure(name, TITLES[name], fmean(off), fmean(on), difference)


def _counts(calls: Sequence[dict[str, int]], arm: str) -> ShadowCounts:
    return ShadowCounts(
        sum(each[f"{arm}_summarized"] for each in calls),
        sum(each[f"{arm}_paged"] for each in calls),
        sum(each.get(f"{arm}_refused", 0) for each in calls),
    )
