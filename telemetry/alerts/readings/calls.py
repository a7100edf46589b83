"""Rules on the figures of calls: errors, slowness, oversized answers, rejected cursors."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from telemetry import queries
from telemetry.alert_kinds import Per, RuleKind
from telemetry.alerts import words
from telemetry.alerts.conditions import Reading, RuleCondition, ToolShare
from telemetry.alerts.readings.measures import CURSOR_REASONS, MeasuredValue, filters, measured, wanted
from telemetry.call_figures import MIN_CALLS_FOR_PERCENTILES, CallFigures
from telemetry.queries import Selection, Span

MOST_SUBJECTS = 200  # only the busiest are checked; narrower patterns in a rule reach the others


def read(condition: RuleCondition, now: datetime) -> Sequence[Reading]:
    """A reading for each subject with calls, and for each tool with its own limit."""
    found = [
        _reading(subject, condition, measured(figures, condition), now)
        for subject, figures in _figures_by_subject(condition, now)
    ]
    for tool in condition.own_limits:
        own = condition.for_tool(tool)
        figures = queries.totals(_window(own, now), Selection.of(filters(own)), wanted=queries.COUNTS)
        found.append(_reading(tool, own, measured(figures, own), now))
    return found


def _figures_by_subject(condition: RuleCondition, now: datetime) -> Sequence[tuple[str, CallFigures]]:
    span, selection = _window(condition, now), Selection.of(filters(condition))
    if condition.per is Per.ALL:
        return [("", queries.totals(span, selection, wanted=wanted(condition)))]
    grouped = queries.groups(
        span,
        selection,
        by=(condition.per.value,),
        at_most=MOST_SUBJECTS,
        wanted=wanted(condition),
    )
    return [(group.values[0], group.figures) for group in grouped if group.values[0]]


def _window(condition: RuleCondition, now: datetime) -> Span:
    return Span.of(now - condition.window, now)


def _reading(subject: str, condition: RuleCondition, seen: MeasuredValue, now: datetime) -> Reading:
    is_notable = seen.value is not None and seen.value > condition.recovery
    tools = _tools(subject, condition, now) if is_notable else ()
    return Reading(
        subject=subject,
        value=seen.value,
        limit=condition.limit,
        recovery=condition.recovery,
        message=sentence(condition, seen, () if subject and condition.per is Per.TOOL else tools),
        sample=seen.sample,
        affected=seen.affected,
        tools=tools,
        calls=_calls_behind(subject, condition),
    )


def _tools(subject: str, condition: RuleCondition, now: datetime) -> Sequence[ToolShare]:
    """The tools with affected calls, those with the most first."""
    chosen = Selection.of({**filters(condition), **_of_subject(subject, condition)})
    span = _window(condition, now)
    grouped = queries.groups(span, chosen, by=("tool",), at_most=MOST_SUBJECTS, wanted=queries.COUNTS)
    seen = [(group.values[0], measured(group.figures, condition)) for group in grouped]
    shares = [ToolShare(tool, each.affected, each.sample) for tool, each in seen if each.affected]
    return sorted(shares, key=lambda share: (-share.affected, share.tool))


def _of_subject(subject: str, condition: RuleCondition) -> Mapping[str, list[str]]:
    if not subject:
        return {}
    return {"upstream" if condition.per is Per.UPSTREAM else "tool": [subject]}


def _calls_behind(subject: str, condition: RuleCondition) -> Mapping[str, Sequence[str]]:
    """Filters of the list of calls that select the counted calls."""
    chosen: dict[str, Sequence[str]] = {**filters(condition), **_of_subject(subject, condition)}
    match condition.kind:
        case RuleKind.ERROR_RATE:
            chosen |= {"origin": list(condition.origins)}
        case RuleKind.OVERSIZED:
            chosen |= {"oversized": ["yes"]}
        case RuleKind.PAGING:
            chosen |= {"reason": list(CURSOR_REASONS)}
    return chosen


# -- Sentences ----------------------------------------------------------------------------------------


def sentence(condition: RuleCondition, seen: MeasuredValue, tools: Sequence[ToolShare]) -> str:
    if not seen.sample and condition.kind is not RuleKind.PAGING:
        return f"No calls to check for {words.span(condition.window)}."
    if seen.value is None:
        calls = words.plural(seen.sample, "call")
        return (
            f"{calls} in {words.span(condition.window)}, too few for percentiles ({MIN_CALLS_FOR_PERCENTILES} needed)."
        )
    unit = condition.declared.unit
    value, limit = words.amount(seen.value, unit), words.amount(condition.limit, unit)
    window = words.span(condition.window)
    named = f": {words.tools(tools)}" if tools else ""
    match condition.kind:
        case RuleKind.OVERSIZED:
            return (
                f"{value} of answers were over budget (limit {limit}){named}{' of' if named else ';'} "
                f"{words.plural(seen.sample, 'call')} in {window}. All were made smaller before sending."
            )
        case RuleKind.SLOW:
            return (
                f"1 of 20 calls takes {value} or longer (95th percentile of {words.plural(seen.sample, 'call')} in "
                f"{window}); the limit is {limit}."
            )
        case RuleKind.PAGING:
            return f"{words.plural(seen.sample, 'call')} in {window} came with an expired or invalid cursor{named}."
        case _:
            return (
                f"{seen.affected:,} of {words.plural(seen.sample, 'call')} failed in {window} ({value}); "
                f"the limit is {limit}{named and '. Failed' + named}."
            )
