"""Rules on the reports of processes: lost records, and the tool list."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from telemetry import processes
from telemetry.alerts import words
from telemetry.alerts.conditions import Reading, RuleCondition
from telemetry.models import ProcessReport
from telemetry.models.alerts import AlertRule

NO_REPORT = "No process has reported for 30 seconds."


# -- Lost records -------------------------------------------------------------------------------------


def read_lost_records(rule: AlertRule, condition: RuleCondition, now: datetime) -> Sequence[Reading]:
    """Compares the counters of processes with those of the last evaluation, which are in `rule.memory` together with
    the losses of the rule's window."""
    reports = list(ProcessReport.objects.filter(seen_at__gt=now - condition.window - processes.ALIVE))
    rule.memory = remembered(rule.memory, reports, now, condition.window)
    lost = rule.memory["lost"]
    count = sum(number for _, number in lost)
    return [
        Reading(
            subject="",
            value=float(count) if reports else None,
            limit=condition.limit,
            recovery=condition.recovery,
            message=_lost(count, lost) if reports else NO_REPORT,
            sample=count,
            affected=count,
        )
    ]


def remembered(
    memory: Mapping[str, Any], reports: Iterable[ProcessReport], now: datetime, window: timedelta
) -> dict[str, Any]:
    """The next memory: {"dropped": {process: counter}, "lost": [[ISO time, number]], "at": ISO time}."""
    before = memory.get("dropped", {})
    last = datetime.fromisoformat(memory["at"]) if "at" in memory else now
    dropped, new = {}, 0
    for report in reports:
        process, count = str(report.process), int(report.report.get("recorder", {}).get("dropped", 0))
        # A process that is not in the memory adds its whole counter only if it started after the last evaluation.
        new += max(0, count - before.get(process, 0 if report.started_at > last else count))
        dropped[process] = count
    kept = [[at, number] for at, number in memory.get("lost", []) if datetime.fromisoformat(at) > now - window]
    return {"dropped": dropped, "lost": kept + ([[now.isoformat(), new]] if new else []), "at": now.isoformat()}


def _lost(count: int, lost: Sequence[Sequence[Any]]) -> str:
    if not count:
        return "Every call was recorded."
    at = datetime.fromisoformat(lost[-1][0])
    return (
        f"{words.plural(count, 'call')} around {at:%H:%M} UTC "
        f"{'was' if count == 1 else 'were'} answered but not recorded. Totals are too low by that number."
    )


# -- Tool list ----------------------------------------------------------------------------------------


def read_tool_list(condition: RuleCondition, now: datetime) -> Sequence[Reading]:
    lists = [report.report["toolList"] for report in processes.alive(now=now) if report.report.get("toolList")]
    largest = max(lists, key=lambda each: (bool(each["isSearch"]), each["tokens"]), default=None)
    return [
        Reading(
            subject="",
            value=float(bool(largest["isSearch"])) if largest else None,
            limit=condition.limit,
            recovery=condition.recovery,
            message=_tool_list(largest) if largest else NO_REPORT,
            sample=largest["tools"] if largest else 0,
        )
    ]


def _tool_list(tool_list: Mapping[str, Any]) -> str:
    figures = f"{tool_list['tools']} tools take {tool_list['tokens']:,} of {tool_list['budget']:,} tokens"
    return f"{figures}: clients get search tools instead of them." if tool_list["isSearch"] else f"{figures}."
