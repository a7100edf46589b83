"""The figures of the calls on both sides of a rollout, by caller."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.db.models import Q

from gateway.staff.rollouts.models import Rollout
from telemetry.measurement import CallOutcome, Origin
from telemetry.models import TelemetryRecord

NEWEST = 50_000  # calls that are read
BEFORE = timedelta(days=7)
FEW_CALLERS = 20  # a side with fewer is compared with its own past
COLUMNS = ("caller", "arm", "outcome", "origin", "latency_ms", "oversized", "chain", "page", "item_count", "total_rows")


@dataclass(slots=True)
class CallerFigures:
    """Counts of one caller's calls."""

    calls: int = 0
    failed: int = 0
    oversized: int = 0
    slow: int = 0
    latencies: list[float] = field(default_factory=list)
    chains: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)  # chain → page → (sent, found)

    def add(self, call: Mapping[str, Any]) -> None:
        self.calls += 1
        self.failed += call["outcome"] == CallOutcome.ERROR and call["origin"] != Origin.CALLER
        self.oversized += bool(call["oversized"])
        self.latencies.append(call["latency_ms"])
        if call["chain"] and call["page"]:
            self.chains.setdefault(call["chain"], {})[call["page"]] = call["item_count"], call["total_rows"]

    @property
    def pagings(self) -> tuple[int, int]:
        """The number of paged lists that were not read to their end, and the number of all paged lists."""
        begun = [pages for pages in self.chains.values() if max(pages) > 1]
        unfinished = sum(
            sum(sent for sent, _ in pages.values()) < max(found for _, found in pages.values()) for pages in begun
        )
        return unfinished, len(begun)


Side = Mapping[str, CallerFigures]  # by caller


@dataclass(frozen=True, slots=True)
class Sides:
    """`treated` and `control` since the step began. `before`: the calls of the treated callers in the 7 days before the
    rollout, for when a side has too few callers. `is_cut`: only the newest calls were read."""

    treated: Side
    control: Side
    before: Side
    is_cut: bool = False

    @staticmethod
    def calls(side: Side) -> int:
        return sum(each.calls for each in side.values())


def sides(rollout: Rollout, now: datetime) -> Sides:
    """Queries the database."""
    arms = (rollout.treated_arm, rollout.control_arm)
    found = _calls(Q(arm__in=arms, created_at__gte=rollout.step_since, created_at__lte=now))
    treated = _by_caller(each for each in found if each["arm"] == rollout.treated_arm)
    control = _by_caller(each for each in found if each["arm"] == rollout.control_arm)
    before = _before(rollout, list(treated)) if len(treated) < FEW_CALLERS or len(control) < FEW_CALLERS else {}
    other = control if len(control) >= FEW_CALLERS or not before else before
    mark_slow([*treated.values(), *control.values(), *before.values()], slow_from(other.values()))
    return Sides(treated, control, before, is_cut=len(found) >= NEWEST)


def _before(rollout: Rollout, callers: Sequence[str]) -> Side:
    first = (
        rollout.history.filter(state="running").order_by("history_date").values_list("history_date", flat=True).first()
    )
    if first is None:
        return {}
    in_time = Q(created_at__gte=first - BEFORE, created_at__lt=first, caller__in=callers)
    return _by_caller(_calls(in_time & _of_tools(rollout.patterns)))


def _of_tools(patterns: Iterable[str]) -> Q:
    wanted = Q()
    for each in patterns:
        wanted |= Q(operation__regex=f"^{_regex(each)}$") if "*" in each else Q(operation=each)
    return wanted


def _regex(pattern: str) -> str:
    """A regular expression for both databases. Names have only letters, digits, hyphens and underscores."""
    return pattern.replace(".", r"\.").replace("*", ".*")


def _calls(wanted: Q) -> list[dict[str, Any]]:
    found = TelemetryRecord.objects.in_figures().filter(wanted).order_by("-created_at")
    return list(found.values(*COLUMNS)[:NEWEST])


def _by_caller(calls: Iterable[Mapping[str, Any]]) -> dict[str, CallerFigures]:
    found: defaultdict[str, CallerFigures] = defaultdict(CallerFigures)
    for each in calls:
        found[each["caller"]].add(each)
    return dict(found)


def slow_from(callers: Iterable[CallerFigures]) -> float:
    """The 95th percentile of the times of these callers' calls, in ms. Infinite if there are no calls."""
    times = sorted(each for caller in callers for each in caller.latencies)
    return times[ceil(0.95 * len(times)) - 1] if times else float("inf")


def mark_slow(callers: Iterable[CallerFigures], limit: float) -> None:
    for each in callers:
        each.slow = sum(taken > limit for taken in each.latencies)
