"""Since when something is bad."""

from datetime import timedelta

from telemetry.lights.since import Minute, Since, first_bad
from telemetry.wording import SPACE
from tests.telemetry.examples import NOON


def minutes(*counts: tuple[int, int]) -> list[Minute]:
    """Calls and failed calls of the minutes until noon."""
    start = NOON - timedelta(minutes=len(counts))
    return [Minute(start + timedelta(minutes=n), calls, failed) for n, (calls, failed) in enumerate(counts)]


def test_the_first_minute_of_the_unbroken_stretch_is_found():
    found = first_bad(minutes((9, 9), (9, 4), (9, 5), (9, 9)), 0.5)
    assert found == Since(NOON - timedelta(minutes=2))
    assert found.words(NOON) == f"since 11:58 (2{SPACE}min)"


def test_minutes_without_calls_do_not_break_it_nor_begin_it():
    assert first_bad(minutes((9, 0), (0, 0), (9, 9), (0, 0), (0, 0)), 0.5) == Since(NOON - timedelta(minutes=3))


def test_a_stretch_that_is_longer_than_was_looked_is_said_so():
    found = first_bad(minutes((9, 9), (9, 9)), 0.5)
    assert found.words(NOON) == "since before 11:58"


def test_a_good_last_minute_has_no_stretch():
    assert first_bad(minutes((9, 9), (9, 0)), 0.05) is None
    assert first_bad([], 0.5) is None
