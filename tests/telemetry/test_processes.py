"""What processes have reported, while they run and after they have ended."""

from datetime import timedelta
from uuid import uuid4

import pytest

from telemetry import events, processes
from telemetry.events import EventKind
from telemetry.models import Event, ProcessReport
from tests.telemetry.examples import NOON

pytestmark = pytest.mark.django_db


def reported(seconds_ago: float, *, lag: float = 0.0, pid: int = 7) -> ProcessReport:
    """A process that reported for the last time so long before noon."""
    return ProcessReport.objects.create(
        process=uuid4(),
        kind="web",
        host="here",
        pid=pid,
        started_at=NOON - timedelta(hours=1),
        seen_at=NOON - timedelta(seconds=seconds_ago),
        version="1",
        report={"recorder": {"lagSeconds": lag}},
    )


def a_breaker(state: str, minutes: float, *, pid: int = 7, host: str = "here") -> None:
    """It opened or closed so many minutes before noon."""
    events.record(
        kind=EventKind.BREAKER,
        summary="acme",
        subject="acme",
        after=state,
        actor=events.actor_of(host, pid),
        at=NOON - timedelta(minutes=minutes),
    )


@pytest.mark.parametrize(
    ("ago", "lags", "expected"),
    [
        ((4, 9), (0.5, 0.2), 0.5),
        ((4, 12), (0.5, 0.2), 0.5),  # one process writes, so writing is possible
        ((12, 14), (0.5, 0.2), 12),  # none can
        ((12, 14), (0.5, 40), 40),
    ],
)
def test_recording_is_behind_where_no_process_can_write_its_report(ago, lags, expected):
    running = [reported(seconds, lag=lag) for seconds, lag in zip(ago, lags, strict=True)]
    assert processes.recorder_lag(running, now=NOON) == expected


def test_without_reports_nothing_is_known_to_be_behind():
    assert processes.recorder_lag([], now=NOON) == 0


def test_an_open_breaker_ends_with_its_process_as_it_was_seen_last():
    reported(660)
    reported(1, pid=8)
    a_breaker("open", 20)
    a_breaker("open", 15, pid=8)
    assert processes.purge(now=NOON) == 1
    ended = Event.objects.get(after="closed")
    assert (ended.subject, ended.actor) == ("acme", "process 7 on here")
    assert ended.at == NOON - timedelta(seconds=660)


def test_a_breaker_that_had_closed_does_not_end_again():
    process = reported(1)
    a_breaker("open", 20)
    a_breaker("closed", 10)
    processes.forget(process.process)
    assert not ProcessReport.objects.exists()
    assert Event.objects.count() == 2


def test_a_breaker_of_another_host_does_not_end_with_a_process_of_the_same_number():
    process = reported(1)
    a_breaker("open", 20, host="there")
    processes.forget(process.process)
    assert Event.objects.count() == 1


def test_a_breaker_of_an_earlier_process_with_the_same_number_is_another():
    process = reported(1)
    a_breaker("open", 90)
    processes.forget(process.process)
    assert Event.objects.count() == 1
