"""The reports of processes about themselves, every few seconds: models.ProcessReport, one row a process.

`report` is JSON:

    recorder   {queued, stored, dropped, lastDroppedAt, lagSeconds, lastError}
    stores     {database: {ms, ok, poolUsed, poolSize}, redis: {ms, ok} | null, room}
    upstreams  [{name, connector, breaker, lastSuccessAt, lastFailureAt, lastFailure, rateLeft, rateLimit,
                 nextTryInSeconds, probe: {at, ok, ms, status, message} | null}]
    toolList   {tokens, budget, tools, isSearch} | null: only processes that serve MCP
    ruler      "ok", or why Claude's tokens are not counted well
    accuracy   {n, claudeWithin, formulaWithin}
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from telemetry import page_memory
from telemetry.models import ProcessReport

ALIVE = timedelta(seconds=30)  # a process that has not reported for longer is gone or hangs
GONE = timedelta(minutes=10)  # its row is deleted after this time

Probe = Callable[[str], Mapping[str, Any] | None]
_probe: Probe | None = None


def write(process: UUID, **fields: Any) -> None:
    """Stores the report of a process."""
    ProcessReport.objects.update_or_create(process=process, defaults={**fields, "seen_at": timezone.now()})


def forget(process: UUID) -> None:
    """Deletes the report of a process that ends."""
    ProcessReport.objects.filter(process=process).delete()


def purge(*, now: datetime | None = None) -> int:
    """Deletes the reports of processes that are gone; returns how many."""
    return ProcessReport.objects.filter(seen_at__lt=(now or timezone.now()) - GONE).delete()[0]


def alive(*, now: datetime | None = None) -> list[ProcessReport]:
    since = (now or timezone.now()) - ALIVE
    return page_memory.remembered("processes", lambda: list(ProcessReport.objects.filter(seen_at__gte=since)))


def last_contacts(*, now: datetime | None = None) -> dict[str, datetime]:
    """The time at which any living process last heard from each upstream or failed to reach it. Probes do not count."""
    contacts: dict[str, datetime] = {}
    for upstream in (each for report in alive(now=now) for each in report.report.get("upstreams", ())):
        for text in (upstream["lastSuccessAt"], upstream["lastFailureAt"]):
            if text is not None:
                at = datetime.fromisoformat(text)
                contacts[upstream["name"]] = max(at, contacts.get(upstream["name"], at))
    return contacts


def probe_with(function: Probe) -> None:
    """Registers how an upstream is asked. The gateway does this at start."""
    global _probe
    _probe = function


def probe_now(name: str) -> Mapping[str, Any] | None:
    """Asks an upstream at once: {at, ok, ms, status, message}. None if there is no such upstream. Blocks."""
    return None if _probe is None else _probe(name)
