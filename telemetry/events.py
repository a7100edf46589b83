"""Changes, deployments and other events. Charts mark them, and pages list them beside a bad verdict.

`record` writes at once. `record_soon` is for the event loop: a writer thread stores the event.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from telemetry.models import Event
from telemetry.recorder import ProcessRecorder
from telemetry.storage import StoreResult, release_connection

EventKind = Event.EventKind
LOCK = 0x51_75_1C_E1  # an advisory lock of Postgres: one process at a time decides whether a state is new


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """The fields of models.Event. Texts may have any length; `row` cuts them to the columns' lengths."""

    kind: EventKind
    summary: str
    at: datetime
    subject_type: str = ""
    subject: str = ""
    actor: str = ""
    before: str = ""
    after: str = ""
    reason: str = ""
    revision: str = ""
    link: str = ""
    object: str = ""
    differences: Sequence[Sequence[str]] = ()

    def row(self) -> Event:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return Event(**{name: _fitting(name, value) for name, value in values.items()})


def _fitting(name: str, value: Any) -> Any:
    longest: int | None = getattr(Event._meta.get_field(name), "max_length", None)
    if longest is None:
        return value
    text = str(value).replace("\x00", "").encode("utf-8", "replace").decode()
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def record(*, kind: EventKind, summary: str, at: datetime | None = None, **others: Any) -> Event:
    """Stores an event. Blocks."""
    row = NewEvent(kind=kind, summary=summary, at=at or timezone.now(), **others).row()
    row.save()
    return row


def record_soon(*, kind: EventKind, summary: str, at: datetime | None = None, **others: str) -> None:
    """Queues an event. Does not block or raise."""
    _writer.record(NewEvent(kind=kind, summary=summary, at=at or timezone.now(), **others))


def record_if_new(
    *, kind: EventKind, subject: str, after: str, summary: str, usual: str | None = None, **others: str
) -> Event | None:
    """Stores an event unless the newest one of this kind and subject, from any process, has the same `after`. `usual`
    is the state that needs no event if none is stored yet. Blocks."""
    with transaction.atomic():
        if connection.vendor == "postgresql":  # SQLite runs one transaction at a time anyway
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        known = Event.objects.filter(kind=kind, subject=subject).values_list("after", flat=True).first()
        if after == known or (known is None and after == usual):
            return None
        return record(kind=kind, subject=subject, before=known or "", after=after, summary=summary, at=None, **others)


def actor_of(host: str, pid: int) -> str:
    """The actor of a process's breaker events. Each process has its own breakers. In a container, the
    first process is always number 1."""
    return f"process {pid} on {host}"


def end_breakers(actor: str, *, since: datetime, at: datetime) -> None:
    """Records as closed the breakers that an ended process (`actor`) left open. It ran from `since` to `at`. Events of
    earlier versions do not have its host. Blocks."""
    newest: dict[str, Event] = {}
    actors = (actor, actor.partition(" on ")[0])
    for event in Event.objects.filter(kind=EventKind.BREAKER, actor__in=actors, at__gte=since):
        newest.setdefault(event.subject, event)
    for name, event in newest.items():
        if event.after == Event.OPEN:
            record(
                kind=EventKind.BREAKER,
                summary=f"The process that paused calls to {name} has ended.",
                at=max(at, event.at),
                subject_type=event.subject_type,
                subject=name,
                actor=event.actor,
                before=Event.OPEN,
                after=Event.CLOSED,
            )


def between(since: datetime, until: datetime, subjects: Collection[str] | None = None) -> list[Event]:
    """The events in [since, until), the newest first. `subjects`: only events of these names."""
    found = Event.objects.filter(at__gte=since, at__lt=until)
    return list(found if subjects is None else found.filter(subject__in=subjects))


def store(events: Sequence[NewEvent]) -> StoreResult:
    try:
        Event.objects.bulk_create([each.row() for each in events])
    finally:
        release_connection()
    return StoreResult(stored=len(events))


_writer: ProcessRecorder[NewEvent] = ProcessRecorder(store, name="events")
flush = _writer.flush
stop = _writer.stop
on_callers_thread = _writer.on_callers_thread
