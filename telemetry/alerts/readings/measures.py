"""Computes the value of a rule from the figures of calls, for the evaluation and for look_back.py."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from telemetry.alert_kinds import RuleKind
from telemetry.alerts.conditions import RuleCondition
from telemetry.call_figures import CallFigures, Latency
from telemetry.queries import COUNTS, COUNTS_AND_TIMES, MeasureSet

CURSOR_REASONS = ("cursor_expired", "cursor_invalid", "cursor_mismatch")


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """`value` is None if the calls are too few to compute it."""

    value: float | None
    sample: int
    affected: int


def _failed(figures: CallFigures, condition: RuleCondition) -> MeasuredValue:
    return share(sum(figures.origins.get(origin, 0) for origin in condition.origins), figures.calls)


def _oversized(figures: CallFigures, condition: RuleCondition) -> MeasuredValue:
    return share(figures.oversized_calls, figures.calls)


def _slow(figures: CallFigures, condition: RuleCondition) -> MeasuredValue:
    return slowness(figures.latency, figures.calls)


def _with_bad_cursors(figures: CallFigures, condition: RuleCondition) -> MeasuredValue:
    return count(figures.calls)


def share(affected: int, calls: int) -> MeasuredValue:
    return MeasuredValue(affected / calls if calls else None, calls, affected)


def slowness(latency: Latency, calls: int) -> MeasuredValue:
    return MeasuredValue(latency.p95, calls, 0)


def count(calls: int) -> MeasuredValue:
    """For calls that were already filtered by CURSOR_REASONS."""
    return MeasuredValue(float(calls), calls, calls)


Measure = Callable[[CallFigures, RuleCondition], MeasuredValue]

MEASURES: Mapping[RuleKind, Measure] = {
    RuleKind.ERROR_RATE: _failed,
    RuleKind.SLOW: _slow,
    RuleKind.OVERSIZED: _oversized,
    RuleKind.PAGING: _with_bad_cursors,
    RuleKind.UPSTREAM_DOWN: _failed,
}


def measured(figures: CallFigures, condition: RuleCondition) -> MeasuredValue:
    return MEASURES[condition.kind](figures, condition)


def wanted(condition: RuleCondition) -> MeasureSet:
    return COUNTS_AND_TIMES if condition.kind is RuleKind.SLOW else COUNTS


def filters(condition: RuleCondition) -> dict[str, list[str]]:
    """The filters for `Selection.of` that select the condition's calls. Tools with their own limit are excluded."""
    tools = [*condition.tools, *(f"!{tool}" for tool in condition.own_limits)]
    chosen = {
        "tool": tools,
        "connector": list(condition.connectors),
        "upstream": list(condition.upstreams),
        "reason": list(CURSOR_REASONS) if condition.kind is RuleKind.PAGING else [],
    }
    return {name: values for name, values in chosen.items() if values}
