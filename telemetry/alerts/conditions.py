"""The condition of a rule, frozen for one evaluation, and the readings that an evaluation finds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from fnmatch import fnmatchcase

from django.conf import settings

from telemetry.alert_kinds import KindDeclaration, NoData, Per, RuleKind, kind_of
from telemetry.alert_states import RuleTiming, Signal
from telemetry.models.alerts import Alert, AlertRule

DEFAULT_RECOVERY = 0.8  # the recovery threshold as a share of the limit; OVERSIZED_ALERT_RECOVERY can replace it


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """`limit` and `recovery` are in the kind's unit; `own_limits` replace `limit` for single tools."""

    kind: RuleKind
    per: Per
    limit: float
    recovery: float
    minimum: int
    window: timedelta
    timing: RuleTiming
    no_data: NoData
    tools: tuple[str, ...] = ()
    connectors: tuple[str, ...] = ()
    upstreams: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    own_limits: Mapping[str, float] = field(default_factory=dict)

    @property
    def declared(self) -> KindDeclaration:
        return kind_of(self.kind)

    def for_tool(self, tool: str) -> "RuleCondition":
        """The condition for a tool with its own limit. It recovers at the same fraction of its limit as the rule."""
        limit = self.own_limits[tool]
        part = self.recovery / self.limit if self.limit else DEFAULT_RECOVERY
        return replace(self, per=Per.TOOL, limit=limit, recovery=limit * part, tools=(tool,), own_limits={})


def condition_of(rule: AlertRule) -> RuleCondition:
    condition = RuleCondition(
        kind=RuleKind(rule.kind),
        per=Per(rule.per),
        limit=rule.limit,
        recovery=rule.recovery_limit,
        minimum=rule.minimum,
        window=timedelta(seconds=rule.window_seconds),
        timing=RuleTiming(timedelta(seconds=rule.pending_seconds), timedelta(seconds=rule.recovery_seconds)),
        no_data=NoData(rule.no_data),
        tools=patterns(rule.tools),
        connectors=patterns(rule.connectors),
        upstreams=patterns(rule.upstreams),
        origins=patterns(rule.origins),
        own_limits=dict(rule.limits_by_tool),
    )
    return _with_settings(condition) if rule.follows_settings else condition


def condition_of_alert(alert: Alert) -> RuleCondition:
    """The condition that the alert's subject is checked by."""
    condition = condition_of(alert.rule)
    return condition.for_tool(alert.subject) if alert.subject in condition.own_limits else condition


def patterns(text: str) -> tuple[str, ...]:
    """ "list_*, !list_documents" as single patterns."""
    return tuple(each.strip() for each in text.split(",") if each.strip())


def matches(name: str, wanted: Sequence[str]) -> bool:
    """Whether the patterns select a name. A pattern that begins with ! excludes names; * matches any characters. If
    all patterns exclude, or there are none, every other name is selected."""
    chosen = [each for each in wanted if not each.startswith("!")]
    is_in = any(fnmatchcase(name, each) for each in chosen) if chosen else True
    return is_in and not any(fnmatchcase(name, each[1:]) for each in wanted if each.startswith("!"))


def unmatched(condition: RuleCondition, tools: Collection[str]) -> list[str]:
    """The patterns and names in a condition that match none of these tools."""
    wanted = (*condition.tools, *condition.own_limits)
    return [each for each in wanted if not any(fnmatchcase(tool, each.removeprefix("!")) for tool in tools)]


def _with_settings(condition: RuleCondition) -> RuleCondition:
    """The condition with the values of the settings OVERSIZED_ALERT_…, which the shipped rule uses until somebody
    saves it."""
    declared = condition.declared
    limit = getattr(settings, "OVERSIZED_ALERT_SHARE", declared.limit)
    return replace(
        condition,
        limit=limit,
        recovery=limit * getattr(settings, "OVERSIZED_ALERT_RECOVERY", DEFAULT_RECOVERY),
        minimum=getattr(settings, "OVERSIZED_ALERT_MIN_CALLS", declared.minimum),
        window=timedelta(minutes=getattr(settings, "OVERSIZED_ALERT_WINDOW_MINUTES", declared.window / 60)),
    )


@dataclass(frozen=True, slots=True)
class ToolShare:
    """A tool's share of a reading: `affected` of its `calls`."""

    tool: str
    affected: int
    calls: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of one evaluation for one subject ("" is everything). `value` is None without calls, or if the sample
    is too small.

    `calls` are the filters that select the counted calls in the list of calls.
    """

    subject: str
    value: float | None
    limit: float
    recovery: float
    message: str
    sample: int = 0
    affected: int = 0
    tools: Sequence[ToolShare] = ()
    calls: Mapping[str, Sequence[str]] = field(default_factory=dict)


def signal(reading: Reading, *, minimum: int, no_data: NoData) -> Signal | None:
    """The signal of a reading; None keeps the state. A sample below `minimum` cannot fire. If it is too small to have a
    value, it cannot recover either. A reading with neither value nor sample follows `no_data`."""
    if reading.value is None:
        return Signal.BETWEEN if reading.sample else _of_no_data(no_data)
    if reading.value > reading.limit:
        return Signal.OVER if reading.sample >= minimum else Signal.BETWEEN
    return Signal.UNDER if reading.value <= reading.recovery else Signal.BETWEEN


def _of_no_data(no_data: NoData) -> Signal | None:
    match no_data:
        case NoData.SAY:
            return Signal.NO_DATA
        case NoData.OK:
            return Signal.UNDER
        case NoData.FIRE:
            return Signal.OVER
        case NoData.KEEP:
            return None
