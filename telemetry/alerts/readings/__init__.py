"""The readings of rules. Each source of figures has a module; each kind of rule has a function in one of the tables."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from telemetry.alert_kinds import RuleKind
from telemetry.alerts.conditions import Reading, RuleCondition
from telemetry.alerts.readings import calls, drift, keys, processes, rollouts, upstreams
from telemetry.models.alerts import AlertRule

Reader = Callable[[RuleCondition, datetime], Sequence[Reading]]

READERS: Mapping[RuleKind, Reader] = {
    RuleKind.ERROR_RATE: calls.read,
    RuleKind.SLOW: calls.read,
    RuleKind.OVERSIZED: calls.read,
    RuleKind.PAGING: calls.read,
    RuleKind.REFUSED_KEYS: keys.read,
    RuleKind.DRIFT: drift.read,
    RuleKind.TOOL_LIST: processes.read_tool_list,
    RuleKind.ROLLOUT: rollouts.read,
}

# These compare with the last evaluation, so they store what the next one needs in `rule.memory`.
WITH_MEMORY: Mapping[RuleKind, Callable[[AlertRule, RuleCondition, datetime], Sequence[Reading]]] = {
    RuleKind.LOST_RECORDS: processes.read_lost_records,
    RuleKind.UPSTREAM_DOWN: upstreams.read,
}


def read(rule: AlertRule, condition: RuleCondition, now: datetime) -> Sequence[Reading]:
    """The rule's readings at `now`. Raises whatever its source raises."""
    if condition.kind in WITH_MEMORY:
        return WITH_MEMORY[condition.kind](rule, condition, now)
    return READERS[condition.kind](condition, now)
