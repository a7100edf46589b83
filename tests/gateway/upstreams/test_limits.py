"""How often an upstream may be called: in this process, over all processes, without Redis, and after a failure."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from gateway.upstreams.errors import UpstreamUnavailable
from gateway.upstreams.limits import (
    CAUTIOUS_SHARE,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    RETRY_FLOOR,
    RETRY_WINDOW_SECONDS,
    Rate,
    Rates,
    Retries,
    RetryBudget,
    SlidingWindow,
)
from tests.gateway.upstreams.conftest import Time
from tests.servers import Server, redis_server


@given(st.integers(1, 6), st.lists(st.floats(0, 4), max_size=60))
def test_no_window_holds_more_than_its_amount_wherever_it_begins(amount: int, pauses: list[float]):
    time = Time()
    window, due = SlidingWindow(amount, 10, time), []
    for pause in pauses:
        time.now += pause
        due.append(time.now + window.reserve(1e9))
    assert due == sorted(due)
    assert all(later - earlier >= 10 - 1e-6 for earlier, later in zip(due, due[amount:], strict=False))


def test_who_would_wait_too_long_takes_no_place(time: Time):
    window = SlidingWindow(1, 10, time)
    assert window.reserve(0) == 0
    assert [window.reserve(5), window.reserve(5)] == [10, 10]
    assert [window.reserve(15), window.reserve(25)] == [10, 20]


def rates_of(time: Time, *rates: Rate) -> Rates:
    return Rates("Acme", rates, time, time.sleep)


async def test_it_waits_until_there_is_a_place(time: Time, settings: Settings):
    settings.REDIS_URL = ""
    rates = rates_of(time, Rate("burst", 2, 10))
    assert [await rates.enter(60) for _ in range(4)] == [0] * 4
    assert time.sleeps == [10]


async def test_it_says_at_once_what_would_take_too_long(time: Time, settings: Settings):
    settings.REDIS_URL = ""
    rates = rates_of(time, Rate("burst", 1, 100))
    assert await rates.enter(60) == 0
    assert await rates.enter(60) == 100
    assert time.sleeps == []


async def test_what_is_waited_for_one_rate_is_not_left_for_the_next(time: Time, settings: Settings):
    settings.REDIS_URL = ""
    rates = rates_of(time, Rate("short", 1, 40), Rate("long", 1, 70))
    assert await rates.enter(60) == 0
    assert await rates.enter(60) == 30
    assert time.sleeps == [40]


async def test_every_rate_is_kept_and_the_tightest_says_what_is_left(time: Time, settings: Settings):
    settings.REDIS_URL = ""
    rates = rates_of(time, Rate("second", 2, 1), Rate("day", 3, 86400))
    assert rates.left == 2
    for _ in range(3):
        assert await rates.enter(60) == 0
    assert time.sleeps == [1]
    assert rates.left == 0
    assert await rates.enter(60) > 86000


async def test_without_a_rate_nothing_waits_and_nothing_is_known(time: Time):
    rates = rates_of(time)
    assert await rates.enter(0) == 0
    assert rates.left is None


# -- Over all processes -------------------------------------------------------------------------------


@pytest.fixture
def own_redis(tmp_path: Path, settings: Settings) -> Iterator[Server]:
    with redis_server(tmp_path) as server:
        settings.REDIS_URL = server.url
        yield server


async def test_two_processes_share_a_rate(own_redis: Server):
    time, rate = Time(), Rate("hour", 3, 3600)
    one, other = rates_of(time, rate), rates_of(time, rate)
    assert [await each.enter(1) for each in (one, other, one)] == [0, 0, 0]
    assert one.left == 0
    assert 3595 < await other.enter(1) <= 3600
    assert time.sleeps == []


async def test_over_redis_too_places_are_given_in_advance_and_each_once(own_redis: Server):
    time, rate = Time(), Rate("hour", 2, 100)
    many = [rates_of(time, rate) for _ in range(3)]
    await asyncio.gather(*(rates.enter(1000) for rates in many for _ in range(2)))
    assert [round(seconds / 100) for seconds in sorted(time.sleeps)] == [1, 1, 2, 2]


async def test_over_redis_too_who_would_wait_too_long_takes_no_place(own_redis: Server):
    rates = rates_of(Time(), Rate("hour", 1, 100))
    await rates.enter(0)
    first, second = await rates.enter(50), await rates.enter(50)
    assert 99 < second <= first <= 100


async def test_over_redis_a_place_is_free_again_when_its_window_has_passed(own_redis: Server):
    rates = Rates("Acme", [Rate("fast", 1, 0.05)])
    assert [await rates.enter(1) for _ in range(3)] == [0] * 3


async def test_while_redis_is_away_a_process_is_cautious_and_asks_it_no_more_for_a_while(
    own_redis: Server, time: Time, caplog: pytest.LogCaptureFixture
):
    rates = rates_of(time, Rate("hour", 2 * CAUTIOUS_SHARE, 3600))
    assert await rates.enter(1) == 0
    own_redis.stop()
    assert [await rates.enter(1) for _ in range(3)] == [0, 0, 3600]
    assert caplog.text.count("Redis does not answer") == 1


ERROR = UpstreamUnavailable("Acme failed.", transient=True)


def retries(time: Time, chance: float = 1.0, attempts: int = 3) -> Retries:
    return Retries(attempts, time, lambda: chance)


def test_pauses_double_up_to_a_bound(time: Time):
    many = retries(time, attempts=100)
    for _ in range(100):
        many.budget.note_call()
    assert [many.pause(ERROR, attempt, 60) for attempt in (1, 2, 3)] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert many.pause(ERROR, 50, 60) == LONGEST_PAUSE


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_a_pause_is_anywhere_up_to_its_bound_so_that_callers_do_not_come_back_together(time: Time, chance: float):
    assert retries(time, chance).pause(ERROR, 1, 60) == pytest.approx(chance * FIRST_PAUSE)


def test_the_last_attempt_is_the_last(time: Time):
    assert retries(time).pause(ERROR, 2, 60) is not None
    assert retries(time).pause(ERROR, 3, 60) is None


def test_what_will_not_do_better_is_not_sent_again(time: Time):
    assert retries(time).pause(replace(ERROR, transient=False), 1, 60) is None


def test_what_upstream_asks_for_is_waited_for_where_there_is_time(time: Time):
    asked = replace(ERROR, retry_after=7)
    assert retries(time).pause(asked, 1, 8) == 7
    assert retries(time).pause(asked, 1, 7) is None


def test_a_pause_that_takes_all_the_time_that_is_left_is_not_made(time: Time):
    assert retries(time).pause(ERROR, 1, FIRST_PAUSE / 2) is None


def test_of_few_calls_some_may_be_repeated(time: Time):
    budget = RetryBudget(time)
    assert [budget.take() for _ in range(RETRY_FLOOR + 2)] == [True] * RETRY_FLOOR + [False] * 2


def test_of_many_calls_a_fifth_may_be_repeated(time: Time):
    budget = RetryBudget(time)
    for _ in range(100):
        budget.note_call()
    assert sum(budget.take() for _ in range(100)) == 20


def test_what_was_long_ago_counts_no_more(time: Time):
    budget = RetryBudget(time)
    for _ in range(100):
        budget.note_call()
    time.now += RETRY_WINDOW_SECONDS
    assert sum(budget.take() for _ in range(100)) == RETRY_FLOOR
    time.now += RETRY_WINDOW_SECONDS
    assert budget.take()


def test_a_long_life_takes_no_more_room(time: Time):
    budget = RetryBudget(time)
    for _ in range(1000):
        time.now += 1
        budget.note_call()
        budget.take()
    assert len(budget._calls) + len(budget._retries) <= 2 * (RETRY_WINDOW_SECONDS + 1)
