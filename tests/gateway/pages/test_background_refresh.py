"""A slow result is not made for every request."""

import threading
from collections.abc import Iterator

import pytest

from gateway.pages import background_refresh
from gateway.pages.background_refresh import Refreshed
from tests.patience import PATIENCE


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Slow:
    """Takes `seconds` of the clock, and counts."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.clock, self.seconds, self.made = clock, seconds, 0

    def __call__(self) -> int:
        self.clock.now += self.seconds
        self.made += 1
        return self.made


@pytest.fixture(autouse=True)
def reusing(fresh_figures: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_refresh, "REUSE", 100)


def until_no_thread_refreshes() -> None:
    for thread in threading.enumerate():
        if thread.name == "refresh":
            thread.join(PATIENCE)


def test_a_slow_result_is_reused_in_proportion_to_what_it_took():
    clock = Clock()
    slow = Slow(clock, 0.2)
    result = Refreshed(slow, clock)
    assert [result.get(), result.get()] == [1, 1]
    clock.now += 21
    assert result.get() == 1  # the old one, at once
    until_no_thread_refreshes()
    assert (result.get(), slow.made) == (2, 2)


def test_a_quick_result_is_always_fresh():
    clock = Clock()
    result = Refreshed(Slow(clock, 0.005), clock)
    assert [result.get(), result.get(), result.get()] == [1, 2, 3]


def test_an_error_is_raised_while_there_is_nothing_to_reuse():
    def fails() -> Iterator[int]:
        raise ValueError("away")

    with pytest.raises(ValueError, match="away"):
        Refreshed(fails).get()
