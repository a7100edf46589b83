"""How the figures of calls become the value of a rule. Evaluation and the look back at seven days use the same."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from telemetry.alerts.conditions import Condition
from telemetry.alerts.kinds import RuleKind
from telemetry.call_figures import CallFigures
from telemetry.queries import COUNTS, COUNTS_AND_TIMES, Wanted

CURSOR_REASONS = ("cursor_expired", "cursor_invalid", "cursor_mismatch")


@dataclass(frozen=True, slots=True)
class Measured:
    """`value` None: there is nothing to judge."""

    value: float | None
    sample: int
    affected: int


def _failed(figures: CallFigures, condition: Condition) -> Measured:
    failed = sum(figures.origins.get(origin, 0) for origin in condition.origins)
    return _share(failed, figures.calls)


def _oversized(figures: CallFigures, condition: Condition) -> Measured:
    return _share(figures.oversized_calls, figures.calls)


def _slow(figures: CallFigures, condition: Condition) -> Measured:
    return Measured(figures.latency.p95, figures.calls, 0)


def _with_bad_cursors(figures: CallFigures, condition: Condition) -> Measured:
    """The figures of calls that were selected by CURSOR_REASONS."""
    return Measured(float(figures.calls), figures.calls, figures.calls)


def _share(affected: int, calls: int) -> Measured:
    return Measured(affected / calls if calls else None, calls, affected)


Measure = Callable[[CallFigures, Condition], Measured]

MEASURES: Mapping[RuleKind, Measure] = {
    RuleKind.ERROR_RATE: _failed,
    RuleKind.SLOW: _slow,
    RuleKind.OVERSIZED: _oversized,
    RuleKind.PAGING: _with_bad_cursors,
    RuleKind.UPSTREAM_DOWN: _failed,
}


def measured(figures: CallFigures, condition: Condition) -> Measured:
    return MEASURES[condition.kind](figures, condition)


def wanted(condition: Condition) -> Wanted:
    return COUNTS_AND_TIMES if condition.kind is RuleKind.SLOW else COUNTS


def filters(condition: Condition) -> dict[str, list[str]]:
    """The calls that the condition looks at, as filters of `Selection.of`. Tools with a limit of their own are out."""
    tools = [*condition.tools, *(f"!{tool}" for tool in condition.own_limits)]
    chosen = {
        "tool": tools,
        "connector": list(condition.connectors),
        "upstream": list(condition.upstreams),
        "reason": list(CURSOR_REASONS) if condition.kind is RuleKind.PAGING else [],
    }
    return {name: values for name, values in chosen.items() if values}
