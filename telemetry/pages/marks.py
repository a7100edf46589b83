"""Changes, deployments, breakers, tool-list flips and alerts as marks on charts."""

from collections.abc import Sequence
from datetime import datetime

from telemetry import events, page_memory
from telemetry.alerts import links
from telemetry.models import Event
from telemetry.pages.charts import Mark

AT_MOST = 100


def marks(since: datetime, until: datetime, subjects: Sequence[str] = ()) -> tuple[Mark, ...]:
    """The newest events of [since, until), oldest first. `subjects`: only those of these objects, and deployments."""
    found = [
        event
        for event in page_memory.remembered(("events", since, until), lambda: events.between(since, until))
        if not subjects or event.subject in subjects or event.kind == Event.EventKind.DEPLOYMENT
    ]
    return tuple(mark_of(event) for event in reversed(found[:AT_MOST]))


def mark_of(event: Event) -> Mark:
    return Mark(event.at, event.kind, _words(event), links.of_event(event))


def _words(event: Event) -> str:
    """upstream acme: base address changed, by ops-2"""
    said = event.summary.rstrip(".")
    if event.kind == Event.EventKind.CHANGE and event.subject and said.startswith(event.subject):
        said = f"{event.subject_type} {said}".strip()
    is_person = event.actor and event.kind != Event.EventKind.BREAKER  # the actor of a breaker event is a process
    return f"{said}, by {event.actor}" if is_person else said
