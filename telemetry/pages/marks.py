"""Changes, deployments, breakers, tool-list flips and alerts as marks on charts."""

from collections.abc import Sequence
from datetime import datetime

from telemetry import events, page_memory
from telemetry.models import Event
from telemetry.pages.charts import Mark

AT_MOST = 100


def marks(since: datetime, until: datetime, subjects: Sequence[str] = ()) -> tuple[Mark, ...]:
    """The newest events of [since, until), oldest first. `subjects`: only those of these objects, and deployments."""
    found = [
        event
        for event in page_memory.remembered(("events", since, until), lambda: events.between(since, until))
        if not subjects or event.subject in subjects or event.kind == Event.Kind.DEPLOYMENT
    ]
    return tuple(mark_of(event) for event in reversed(found[:AT_MOST]))


def mark_of(event: Event) -> Mark:
    return Mark(event.at, event.kind, f"{event.summary}{f', by {event.actor}' if event.actor else ''}", event.link)
