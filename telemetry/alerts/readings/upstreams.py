"""The rule on upstreams that are down. It looks at the breakers and probes that processes report, and at the calls.

Calls show whether a busy upstream is down; probes show it for a quiet one. A failing probe counts only if the upstream
has ever answered, because NSIP, for example, is also configured on machines without a network.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from telemetry import processes, queries
from telemetry.alerts import words
from telemetry.alerts.conditions import Reading, RuleCondition, ToolShare, matches
from telemetry.alerts.readings.measures import MeasuredValue
from telemetry.models.alerts import AlertRule
from telemetry.queries import Selection, Span

BUSY_WINDOW = timedelta(minutes=3)
BUSY_CALLS = 6  # an upstream with at least this many calls in BUSY_WINDOW is busy
FORGOTTEN_AFTER = timedelta(days=30)
SILENCE = timedelta(seconds=20)  # a busy upstream whose failures go on for this long without a success is down


@dataclass(frozen=True, slots=True)
class UpstreamHealth:
    """The state of an upstream, merged from all processes. Times are None if the event never happened."""

    name: str
    succeeded_at: datetime | None = None
    failed_at: datetime | None = None
    failure: str = ""
    breaker_failed_at: datetime | None = None  # the last failure in a process whose breaker is not closed
    probed_at: datetime | None = None
    probe_ok: bool = True
    probe_message: str = ""
    has_ever_answered: bool = True

    def has_answered_since(self, moment: datetime) -> bool:
        answered = [each for each in (self.succeeded_at, self.probed_at if self.probe_ok else None) if each]
        return any(each > moment for each in answered)


def read(rule: AlertRule, condition: RuleCondition, now: datetime) -> Sequence[Reading]:
    """The readings of all upstreams. `rule.memory` has the time when each last answered."""
    calls = _calls(condition, now - condition.window, now)
    busy = _calls(condition, now - BUSY_WINDOW, now)
    reported = healths(report.report for report in processes.alive(now=now))
    rule.memory = remembered(rule.memory, reported, now)
    known = {each.name: replace(each, has_ever_answered=each.name in rule.memory["answered"]) for each in reported}
    names = sorted({*calls, *(name for name in known if matches(name, condition.upstreams))})
    return [
        _reading(
            known.get(name, UpstreamHealth(name)),
            condition,
            calls.get(name, NOTHING),
            is_busy=busy.get(name, NOTHING).sample >= BUSY_CALLS,
            now=now,
        )
        for name in names
    ]


NOTHING = MeasuredValue(None, 0, 0)


def remembered(memory: Mapping[str, Any], reported: Sequence[UpstreamHealth], now: datetime) -> dict[str, Any]:
    """The next memory: {"answered": {name: ISO time}}. An upstream that no process reports is dropped FORGOTTEN_AFTER
    its last answer."""
    names, since = {each.name for each in reported}, (now - FORGOTTEN_AFTER).isoformat()
    answered = {name: at for name, at in memory.get("answered", {}).items() if name in names or at > since}
    for each in reported:
        times = [at for at in (each.succeeded_at, each.probed_at if each.probe_ok else None) if at]
        if times:
            answered[each.name] = max(times).isoformat()
    return {"answered": answered}


def _calls(condition: RuleCondition, since: datetime, until: datetime) -> dict[str, MeasuredValue]:
    chosen = {"upstream": list(condition.upstreams)} if condition.upstreams else {}
    grouped = queries.groups(Span.of(since, until), Selection.of(chosen), by=("upstream",), wanted=queries.SUMS)
    found = {}
    for group in grouped:
        calls, failed = group.figures.calls, group.figures.origins.get("upstream", 0)
        found[group.values[0]] = MeasuredValue(failed / calls if calls else None, calls, failed)
    found.pop("", None)
    return found


def healths(reports: Iterable[dict[str, Any]]) -> list[UpstreamHealth]:
    """The upstreams of all processes' reports, merged by name."""
    merged: dict[str, list[dict[str, Any]]] = {}
    for report in reports:
        for upstream in report.get("upstreams", ()):
            merged.setdefault(upstream["name"], []).append(upstream)
    return [_merged(name, seen) for name, seen in merged.items()]


def _merged(name: str, seen: Sequence[dict[str, Any]]) -> UpstreamHealth:
    failures = sorted((at, each) for each in seen if (at := _moment(each.get("lastFailureAt"))))
    probes = [each["probe"] for each in seen if each.get("probe")]
    probe = max(probes, key=lambda each: str(each["at"]), default=None)
    opened = [at for at, each in failures if each.get("breaker") != "closed"]
    return UpstreamHealth(
        name=name,
        succeeded_at=max((at for each in seen if (at := _moment(each.get("lastSuccessAt")))), default=None),
        failed_at=failures[-1][0] if failures else None,
        failure=str(failures[-1][1].get("lastFailure") or "") if failures else "",
        breaker_failed_at=opened[-1] if opened else None,
        probed_at=_moment(probe["at"]) if probe else None,
        probe_ok=bool(probe["ok"]) if probe else True,
        probe_message=str(probe.get("message") or "") if probe else "",
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


# -- Judgement ----------------------------------------------------------------------------------------


def why_down(health: UpstreamHealth, *, is_busy: bool, now: datetime) -> str:
    """Why the upstream is down regardless of the share of failed calls; "" if there is no such reason."""
    if health.breaker_failed_at and not health.has_answered_since(health.breaker_failed_at):
        return "its breaker is open"
    if health.has_ever_answered and _fails_its_check(health):
        return f"the health check failed: {health.probe_message}" if health.probe_message else "the health check failed"
    if is_busy and _is_silent(health, now):
        return f"nothing was answered for {words.span(SILENCE)} or longer"
    return ""


def _fails_its_check(health: UpstreamHealth) -> bool:
    return bool(health.probed_at and not health.probe_ok and not health.has_answered_since(health.probed_at))


def _is_silent(health: UpstreamHealth, now: datetime) -> bool:
    if health.failed_at is None or health.has_answered_since(health.failed_at):
        return False
    last = health.succeeded_at
    return now - health.failed_at < BUSY_WINDOW and (last is None or health.failed_at - last >= SILENCE)


def _reading(
    health: UpstreamHealth, condition: RuleCondition, calls: MeasuredValue, *, is_busy: bool, now: datetime
) -> Reading:
    reason = why_down(health, is_busy=is_busy, now=now)
    value = 1.0 if reason else calls.value
    if value is None and health.probed_at and health.probe_ok and now - health.probed_at < BUSY_WINDOW:
        value = 0.0
    return Reading(
        subject=health.name,
        value=value,
        limit=condition.limit,
        recovery=condition.recovery,
        message=_sentence(health, condition, calls, reason),
        sample=max(calls.sample, condition.minimum) if reason else calls.sample,
        affected=calls.affected,
        tools=_tools(health.name, condition, now) if value and value > condition.recovery else (),
        calls={"upstream": [health.name], "origin": ["upstream"]},
    )


def _tools(name: str, condition: RuleCondition, now: datetime) -> Sequence[ToolShare]:
    span, selection = Span.of(now - condition.window, now), Selection.of({"upstream": [name]})
    grouped = queries.groups(span, selection, by=("tool",), wanted=queries.COUNTS)
    shares = [
        ToolShare(each.values[0], each.figures.origins.get("upstream", 0), each.figures.calls) for each in grouped
    ]
    return sorted((share for share in shares if share.affected), key=lambda share: (-share.affected, share.tool))


def _sentence(health: UpstreamHealth, condition: RuleCondition, calls: MeasuredValue, reason: str) -> str:
    window = words.span(condition.window)
    counted = f"{calls.affected:,} of {words.plural(calls.sample, 'call')} failed in {window}" if calls.sample else ""
    if reason:
        last = f"; {health.failure} at {health.failed_at:%H:%M:%S} UTC" if health.failure and health.failed_at else ""
        return f"{health.name} is down: {reason}{last}." + (f" {counted}." if counted else "")
    if counted:
        limit = words.amount(condition.limit, condition.declared.unit)
        return f"{counted} ({words.amount(calls.value, condition.declared.unit)}); the limit is {limit}."
    if health.probed_at and health.probe_ok:
        return f"{health.name} answered its health check at {health.probed_at:%H:%M:%S} UTC."
    if _fails_its_check(health):
        return f"{health.name} was not called for {window}, and has never answered its health check."
    return f"{health.name} was not called for {window}, and not checked."
