"""Each process reports about itself every few seconds, in its own row of models.ProcessReport.

`report` is JSON:

    recorder   {queued, stored, dropped, lastDroppedAt, lagSeconds, lastError}
    stores     {database: {ms, ok, poolUsed, poolSize}, redis: {ms, ok} | null, room}
    upstreams  [{name, connector, breaker, lastSuccessAt, lastFailureAt, lastFailure, rateLeft, rateLimit,
                 nextTryInSeconds, probe: {at, ok, ms, status, message} | null}]
    toolList   {tokens, budget, tools, isSearch} | null: only processes that serve MCP
    ruler      "ok", or why Claude's tokens are not counted exactly
    accuracy   {n, claudeWithin, formulaWithin}
"""

import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from telemetry import events, page_memory
from telemetry.models import ProcessReport

SILENCE = timedelta(seconds=10)  # twice the time between two reports
ALIVE = timedelta(seconds=30)  # a process that has not reported for longer is gone or hangs
GONE = timedelta(minutes=10)  # the report of a silent process is deleted after this time

Probe = Callable[[str], Mapping[str, Any] | None]
_probe: Probe | None = None


def write(process: UUID, **fields: Any) -> None:
    """Stores the report of a process."""
    ProcessReport.objects.update_or_create(process=process, defaults={**fields, "seen_at": timezone.now()})


def this_host() -> str:
    """The name of this machine, or the container's, in reports."""
    return platform.node()[:100]


def forget(process: UUID) -> None:
    """Deletes the report of a process that ends."""
    _delete(ProcessReport.objects.filter(process=process))


def purge(*, now: datetime | None = None) -> int:
    """Deletes the reports of processes that are gone; returns how many."""
    return _delete(ProcessReport.objects.filter(seen_at__lt=(now or timezone.now()) - GONE))


def _delete(ended: "QuerySet[ProcessReport]") -> int:
    """Deletes the reports, and records the end of each process's breakers. If two processes purge at once, only the
    one that deletes a report records its breakers."""
    count = 0
    for report in ended:
        if ProcessReport.objects.filter(pk=report.pk).delete()[0]:
            actor = events.actor_of(report.host, report.pid)
            events.end_breakers(actor, since=report.started_at, at=report.seen_at)
            count += 1
    return count


def last_seen_of_gone(*, now: datetime | None = None) -> datetime | None:
    """The time of the latest report of any process that has crashed or hangs. None: no such report is stored."""
    gone = ProcessReport.objects.filter(seen_at__lt=(now or timezone.now()) - ALIVE).order_by("-seen_at")
    return gone.values_list("seen_at", flat=True).first()


def alive(*, now: datetime | None = None) -> list[ProcessReport]:
    since = (now or timezone.now()) - ALIVE
    return page_memory.remembered("processes", lambda: list(ProcessReport.objects.filter(seen_at__gte=since)))


def recorder_lag(running: Sequence[ProcessReport], *, now: datetime) -> float:
    """The seconds that recording is behind: the largest lag that a process reports. If no process has reported for a
    while, the database takes no calls either, so the lag is at least the time since the last report."""
    lags = [float(each.report["recorder"].get("lagSeconds") or 0) for each in running if each.report.get("recorder")]
    silence = now - max((each.seen_at for each in running), default=now)
    return max([*lags, silence.total_seconds() if silence > SILENCE else 0.0])


def last_contacts(*, now: datetime | None = None) -> dict[str, datetime]:
    """Upstream → the last time that a living process heard from it or failed to reach it. Probes do not count."""
    contacts: dict[str, datetime] = {}
    for upstream in (each for report in alive(now=now) for each in report.report.get("upstreams", ())):
        for text in (upstream["lastSuccessAt"], upstream["lastFailureAt"]):
            if text is not None:
                at = datetime.fromisoformat(text)
                contacts[upstream["name"]] = max(at, contacts.get(upstream["name"], at))
    return contacts


def probe_with(function: Probe) -> None:
    """Registers the function that probes an upstream. The gateway does this at start."""
    global _probe
    _probe = function


def probe_now(name: str) -> Mapping[str, Any] | None:
    """Probes an upstream now: {at, ok, ms, status, message}. None if there is no such upstream, or no function to
    probe with. Blocks."""
    return None if _probe is None else _probe(name)
