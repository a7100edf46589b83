"""The figures of the calls in both arms, by caller. A task is a sequence of calls without a pause of five minutes."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gateway.staff.experiments.models import Experiment
from gateway.staff.rollouts.figures import CallerFigures, mark_slow, slow_from
from telemetry.models import TelemetryRecord
from telemetry.queries.clients import GAP

NEWEST = 100_000  # calls that are read
COLUMNS = (
    "caller",
    "arm",
    "outcome",
    "origin",
    "latency_ms",
    "oversized",
    "chain",
    "page",
    "item_count",
    "total_rows",
    "created_at",
    "claude_tokens",
    "estimated_tokens",
    "baseline_tokens",
)


@dataclass(slots=True)
class TaskFigures(CallerFigures):
    """Also the caller's tasks, the tokens that were sent, and the calls that fetched more of an earlier answer."""

    tasks: int = 0
    tokens: int = 0
    follow_ups: int = 0
    last_at: datetime | None = None

    def add(self, call: Mapping[str, object]) -> None:
        """Calls must be added in order of time."""
        CallerFigures.add(self, call)  # a dataclass with slots has no super() of its own
        at = call["created_at"]
        assert isinstance(at, datetime)
        self.tasks += self.last_at is None or at - self.last_at >= GAP
        self.last_at = at
        self.tokens += int(call["claude_tokens"] or call["estimated_tokens"])  # type: ignore[call-overload]
        self.follow_ups += call["outcome"] != "error" and not call["baseline_tokens"]


@dataclass(frozen=True, slots=True)
class ExperimentSides:
    """Figures by caller, with protection on and off. `is_cut`: only the newest calls were read."""

    on: Sequence[TaskFigures]
    off: Sequence[TaskFigures]
    calls: int
    is_cut: bool


def sides(experiment: Experiment) -> ExperimentSides:
    """Queries the database."""
    found = TelemetryRecord.objects.in_figures().filter(arm__in=(experiment.on_arm, experiment.off_arm))
    rows = list(found.order_by("-created_at").values(*COLUMNS)[:NEWEST])
    by_arm: dict[str, defaultdict[str, TaskFigures]] = {
        arm: defaultdict(TaskFigures) for arm in (experiment.on_arm, experiment.off_arm)
    }
    for row in reversed(rows):
        by_arm[row["arm"]][row["caller"]].add(row)
    on, off = (list(by_arm[arm].values()) for arm in (experiment.on_arm, experiment.off_arm))
    mark_slow([*on, *off], slow_from(off))
    return ExperimentSides(on, off, len(rows), is_cut=len(rows) >= NEWEST)
