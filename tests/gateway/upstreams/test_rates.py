"""How often an upstream may be called: in this process, over all processes, and while Redis is away."""

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from gateway.upstreams.rates import CAUTIOUS_SHARE, Rate, Rates, Window
from tests.gateway.upstreams.conftest import Time


@given(st.integers(1, 6), st.lists(st.floats(0, 4), max_size=60))
def test_no_window_holds_more_than_its_amount_wherever_it_begins(amount: int, pauses: list[float]):
    time = Time()
    window, due = Window(amount, 10, time), []
    for pause in pauses:
        time.now += pause
        due.append(time.now + window.reserve(1e9))
    assert due == sorted(due)
    assert all(later - earlier >= 10 - 1e-6 for earlier, later in zip(due, due[amount:], strict=False))


def test_who_would_wait_too_long_takes_no_place(time: Time):
    window = Window(1, 10, time)
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


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def redis_server(tmp_path: Path, settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """A Redis of the test's own, which it may stop."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
    with redis.Redis(port=port, retry=redis.retry.Retry(redis.backoff.ConstantBackoff(0.02), 500)) as client:
        client.ping()
    yield server
    server.kill()
    server.wait()


async def test_two_processes_share_a_rate(redis_server: object):
    time, rate = Time(), Rate("hour", 3, 3600)
    one, other = rates_of(time, rate), rates_of(time, rate)
    assert [await each.enter(1) for each in (one, other, one)] == [0, 0, 0]
    assert one.left == 0
    assert 3595 < await other.enter(1) <= 3600
    assert time.sleeps == []


async def test_over_redis_too_places_are_given_in_advance_and_each_once(redis_server: object):
    time, rate = Time(), Rate("hour", 2, 100)
    many = [rates_of(time, rate) for _ in range(3)]
    await asyncio.gather(*(rates.enter(1000) for rates in many for _ in range(2)))
    assert [round(seconds / 100) for seconds in sorted(time.sleeps)] == [1, 1, 2, 2]


async def test_over_redis_too_who_would_wait_too_long_takes_no_place(redis_server: object):
    rates = rates_of(Time(), Rate("hour", 1, 100))
    await rates.enter(0)
    first, second = await rates.enter(50), await rates.enter(50)
    assert 99 < second <= first <= 100


async def test_over_redis_a_place_is_free_again_when_its_window_has_passed(redis_server: object):
    rates = Rates("Acme", [Rate("fast", 1, 0.05)])
    assert [await rates.enter(1) for _ in range(3)] == [0] * 3


async def test_while_redis_is_away_a_process_is_cautious_and_asks_it_no_more_for_a_while(
    redis_server: subprocess.Popen[bytes], time: Time, caplog: pytest.LogCaptureFixture
):
    rates = rates_of(time, Rate("hour", 2 * CAUTIOUS_SHARE, 3600))
    assert await rates.enter(1) == 0
    redis_server.kill()
    redis_server.wait()
    assert [await rates.enter(1) for _ in range(3)] == [0, 0, 3600]
    assert caplog.text.count("Redis does not answer") == 1
