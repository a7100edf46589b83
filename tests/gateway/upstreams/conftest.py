"""An upstream that a test can spoil, and Upstreams that may call it although it is on this machine."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateway.upstreams.upstream import Timing, Upstream
from tests.simulators.bad_upstream import BadUpstream, bad_upstream


class Time:
    """A clock that a test sets. Who sleeps by it wakes at once, later."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


@pytest.fixture
def bad() -> Iterator[BadUpstream]:
    with bad_upstream() as upstream:
        yield upstream


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def acme(bad: BadUpstream, time: Time) -> Callable[..., Upstream]:
    """Makes an Upstream called Acme, which is `bad`."""

    def make(**options: Any) -> Upstream:
        timing = Timing(clock=time, sleep=time.sleep, chance=lambda: 1.0)
        return Upstream("Acme", trusted=frozenset({bad.url}), timing=timing, **options)

    return make
