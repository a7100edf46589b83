"""What changed stands beside what broke: changes, deployments, breakers and flips of the tool list are events."""

from datetime import UTC, datetime, timedelta

import pytest

from telemetry import events
from telemetry.events import EventKind
from telemetry.models import Event

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def test_events_are_read_by_time_and_subject_newest_first():
    for minute, subject in ((0, "acme"), (1, "nsip"), (2, "acme")):
        events.record(kind=EventKind.CHANGE, summary="x", subject=subject, at=NOON + timedelta(minutes=minute))
    found = events.between(NOON, NOON + timedelta(minutes=2))
    assert [each.subject for each in found] == ["nsip", "acme"]
    found = events.between(NOON, NOON + timedelta(hours=1), subjects={"acme"})
    assert [each.at.minute for each in found] == [2, 0]


def test_texts_of_any_length_and_form_can_be_stored():
    event = events.record(kind=EventKind.CHANGE, summary="x\x00\ud800" * 300, subject="n" * 500)
    stored = Event.objects.get(pk=event.pk)
    assert len(stored.summary) == 300
    assert len(stored.subject) == 100


def test_a_state_is_an_event_only_when_it_is_new_whichever_process_saw_it():
    def seen(after: str) -> bool:
        event = events.record_if_new(
            kind=EventKind.TOOL_LIST, subject="tool list", after=after, summary="s", usual="all"
        )
        return event is not None

    assert [seen(each) for each in ("all", "search", "search", "all", "all")] == [False, True, False, True, False]
    assert [(each.before, each.after) for each in Event.objects.order_by("pk")] == [("", "search"), ("search", "all")]


def test_a_queued_event_is_stored_by_the_writer():
    events.record_soon(kind=EventKind.BREAKER, summary="acme is left alone.", subject="acme")
    assert not Event.objects.exists()
    assert events.flush()
    assert Event.objects.get().subject == "acme"
