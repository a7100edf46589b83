"""Shows when the breaker of an upstream was open, from the events that processes recorded."""

from collections.abc import Sequence
from datetime import datetime

from telemetry import processes
from telemetry.models import Event
from telemetry.pages.strips import Strip, stretches, strip
from telemetry.states import State
from telemetry.upstream_reports import UpstreamReport

NEWEST = 500  # events


def breaker_strip(name: str, report: UpstreamReport | None, since: datetime, until: datetime) -> Strip | None:
    """The breaker counts as open while any process has it open. None: it was closed all the time, or has no events."""
    newest = Event.objects.filter(kind=Event.EventKind.BREAKER, subject=name, at__lt=until).order_by("-at", "-pk")[
        :NEWEST
    ]
    changes = _changes(list(newest)[::-1])
    if changes and changes[-1][1] is State.DOWN and report and report.breaker == "closed":
        # A killed process cannot record that its open breaker ended. That is recorded when its report is deleted.
        opened_at, ended_at = changes[-1][0], processes.last_seen_of_gone(now=until)
        changes.append((max(opened_at, ended_at or opened_at), State.OK, "closed"))
    if changes and changes[0][0] > since:
        changes.insert(0, (since, State.OK, "closed"))
    found = stretches(changes, until)
    was_open = any(each.state is State.DOWN and each.until > since for each in found)
    return strip(found, since, until) if was_open else None


def _changes(events: Sequence[Event]) -> list[tuple[datetime, State, str]]:
    """The changes of the breaker across all processes, oldest first. It is open while any process has it open."""
    found: list[tuple[datetime, State, str]] = []
    opened: set[str] = set()
    for event in events:
        was_open = bool(opened)
        (opened.add if event.after == Event.OPEN else opened.discard)(event.actor)
        if bool(opened) != was_open:
            found.append((event.at, State.DOWN, "open") if opened else (event.at, State.OK, "closed"))
    return found
