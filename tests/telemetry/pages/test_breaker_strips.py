"""When a breaker was open: in any process, also in one that has ended."""

from datetime import timedelta

import pytest
from django.utils import timezone

from telemetry import processes
from telemetry.pages.breaker_strips import breaker_strip
from tests.telemetry.examples import NOON
from tests.telemetry.lights.examples import a_report
from tests.telemetry.test_processes import a_breaker, reported

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def words(breaker: str = "closed", until=NOON) -> str:
    """What the strip of the last hour says. The other processes report this state."""
    with timezone.override("UTC"):
        strip = breaker_strip("acme", a_report(breaker, success=NOON - timedelta(seconds=2)), until - HOUR, until)
    return strip.words.replace("\u00a0", " ") if strip else ""


def test_it_is_open_while_it_is_in_any_process():
    a_breaker("open", 40)
    a_breaker("open", 30, pid=8)
    a_breaker("closed", 20)
    a_breaker("closed", 10, pid=8)
    assert words() == "11:00: closed (20 min); 11:20: open (30 min); 11:50: closed (10 min)"


@pytest.mark.parametrize("is_purged", [False, True])
def test_what_a_killed_process_left_open_ends_when_it_was_seen_last(is_purged):
    a_breaker("open", 30)
    reported(1200)
    reported(1, pid=8)
    if is_purged:
        processes.purge(now=NOON)
    assert words() == "11:00: closed (30 min); 11:30: open (10 min); 11:40: closed (20 min)"


def test_what_is_open_is_open_until_the_end():
    a_breaker("open", 30)
    assert words("open") == "11:00: closed (30 min); 11:30: open (30 min)"


def test_what_opened_before_the_range_is_open_at_its_start():
    a_breaker("open", 90)
    a_breaker("closed", 40)
    assert words() == "10:30: open (50 min); 11:20: closed (40 min)"


def test_processes_of_two_hosts_with_the_same_number_have_two_breakers():
    a_breaker("open", 50)
    a_breaker("open", 40, host="there")
    a_breaker("closed", 30)
    a_breaker("closed", 20, host="there")
    assert words() == "11:00: closed (10 min); 11:10: open (30 min); 11:40: closed (20 min)"


def test_a_breaker_that_was_closed_all_the_time_has_no_strip():
    a_breaker("open", 90)
    a_breaker("closed", 80)
    assert words() == ""
