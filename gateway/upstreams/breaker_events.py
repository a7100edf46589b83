"""Tells telemetry that a breaker has opened or closed. Each process reports its own breakers. Nothing here blocks."""

import os

from telemetry import events, processes
from telemetry.models import Event


def opened(upstream: str, reason: str) -> None:
    _record(upstream, f"Calls to {upstream} are paused after several failures.", Event.CLOSED, Event.OPEN, reason)


def closed(upstream: str) -> None:
    _record(upstream, f"{upstream} answers again.", Event.OPEN, Event.CLOSED, "")


def dropped(upstream: str) -> None:
    """For an upstream that is replaced or removed while its breaker is open."""
    _record(upstream, f"The connection to {upstream} was changed or removed.", Event.OPEN, Event.CLOSED, "")


def _record(upstream: str, summary: str, before: str, after: str, reason: str) -> None:
    events.record_soon(
        kind=events.EventKind.BREAKER,
        summary=summary,
        subject_type="upstream",
        subject=upstream,
        actor=events.actor_of(processes.this_host(), os.getpid()),
        before=before,
        after=after,
        reason=reason,
    )
