"""The sentences of alerts: values with their unit, spans of time, conditions."""

from collections.abc import Sequence
from datetime import timedelta

from telemetry.alert_kinds import LimitUnit, NoData, Per
from telemetry.alerts.conditions import RuleCondition, ToolShare

NAMED_TOOLS = 5


def amount(value: float | None, unit: LimitUnit) -> str:
    """5%, 5.8%, 0.25%, 1,250 ms, 12"""
    if value is None:
        return "–"
    match unit:
        case LimitUnit.SHARE:
            return _percent(100 * value)
        case LimitUnit.MILLISECONDS:
            return f"{value:,.0f} ms"
        case LimitUnit.COUNT:
            return f"{value:,.0f}"
        case LimitUnit.FACT:
            return "yes" if value else "no"


def _percent(value: float) -> str:
    """With one decimal place; below 1%, where that would turn 0.04% into 0%, with two significant digits."""
    if 0 < value < 0.0001:
        return "<0.0001%"
    return (f"{value:.2g}" if value < 1 else f"{value:.1f}".removesuffix(".0")) + "%"


def span(time: timedelta) -> str:
    """30 seconds, 1 minute, 15 minutes, 2 hours, 2 days; 11 min 5 s where no unit fits."""
    seconds = round(time.total_seconds())
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length and seconds % length == 0:
            return plural(seconds // length, unit)
    if seconds < 60:
        return plural(seconds, "second")
    return f"{seconds // 60} min {seconds % 60} s" if seconds < 3_600 else f"{seconds / 3600:.1f} hours"


def age(time: timedelta) -> str:
    """11 min: an approximate span."""
    seconds = max(0, round(time.total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3_600:
        return f"{seconds // 60} min"
    return f"{seconds / 3600:.1f} h" if seconds < 86_400 else plural(seconds // 86_400, "day")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def together(words: Sequence[str], last: str = "and") -> str:
    """a, b and c"""
    *first, end = words
    return f"{', '.join(first)} {last} {end}" if first else end


def tools(shares: Sequence[ToolShare]) -> str:
    """list_bookings 61, get_listing 22 and 3 more"""
    named = [f"{share.tool} {share.affected:,}" for share in shares[:NAMED_TOOLS]]
    more = len(shares) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def condition_sentence(condition: RuleCondition) -> str:
    """ "more than 5% of calls fail, per tool, of at least 20 calls in 5 minutes, for 1 minute" """
    declared = condition.declared
    parts = [declared.condition.format(limit=amount(condition.limit, declared.unit))]
    if condition.per is not Per.ALL:
        parts.append(Per(condition.per).label)
    parts += _places(condition)
    if declared.has_origins and condition.origins:
        parts.append(f"because of {together([_origin(each) for each in condition.origins], 'or')}")
    parts += _sample(condition)
    if condition.timing.pending:
        parts.append(f"for {span(condition.timing.pending)}")
    return ", ".join(parts)


def _origin(origin: str) -> str:
    return {"sluice": "Sluice", "upstream": "the upstream", "caller": "the caller", "policy": "a policy"}[origin]


def _places(condition: RuleCondition) -> list[str]:
    if not condition.declared.has_places:
        return []
    places = (("tools", condition.tools), ("connectors", condition.connectors), ("upstreams", condition.upstreams))
    return [_selected(noun, patterns) for noun, patterns in places if patterns]


def _selected(noun: str, patterns: Sequence[str]) -> str:
    """ "on tools list_* or get_* except list_documents" """
    chosen = [each for each in patterns if not each.startswith("!")]
    excluded = [each[1:] for each in patterns if each.startswith("!")]
    on = f"on {noun} {together(chosen, 'or')}" if chosen else f"on all {noun}"
    return f"{on} except {together(excluded, 'and')}" if excluded else on


def _sample(condition: RuleCondition) -> list[str]:
    counted, window = condition.declared.counted, condition.window
    sample = f"of at least {condition.minimum:,} {counted}" if condition.minimum else ""
    span_of = f"in {span(window)}" if window else ""
    return [f"{sample} {span_of}".strip()] if sample or span_of else []


def recovery_sentence(condition: RuleCondition) -> str:
    """ "It recovers at 2% or less for 3 minutes." """
    unit = condition.declared.unit
    for_time = f" for {span(condition.timing.recovery)}" if condition.timing.recovery else ""
    if unit is LimitUnit.FACT:
        return f"It recovers when that has ended{for_time}."
    return f"It recovers at {amount(condition.recovery, unit)} or less{for_time}."


def rule_sentence(condition: RuleCondition, channels: Sequence[str]) -> str:
    """The whole rule in words."""
    who = f"Notify {together(channels)}" if channels else "Show it here, and notify nobody,"
    own = [f"{tool} {amount(limit, condition.declared.unit)}" for tool, limit in condition.own_limits.items()]
    own_limits = f" With limits of their own: {', '.join(own)}." if own else ""
    no_data = f" No calls at all: {NoData(condition.no_data).label}."
    sentence = f"{who} when {condition_sentence(condition)}. {recovery_sentence(condition)}"
    return sentence + own_limits + (no_data if condition.window else "")
