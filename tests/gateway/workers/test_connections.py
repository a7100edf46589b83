"""The parent hands connections over, and each worker says what it has received. Both ends are in one process here."""

import asyncio
import os
import resource
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from gateway.workers.connections import MOST_ON_THE_WAY, ReceivedConnections, WorkerLink
from tests.patience import PATIENCE


class LinkOfTest:
    """The two ends of one link."""

    def __init__(self) -> None:
        self._has_changed = asyncio.Event()
        self.parents = WorkerLink(self._has_changed.set)
        self.taken: list[socket.socket] = []
        self.workers = ReceivedConnections(
            self.parents.workers_end.detach(), self.taken.append, lambda: len(self.taken), lambda: None
        )
        self.workers.start()

    def hand(self, count: int) -> None:
        for _ in range(count):
            with socket.socket() as connection:
                assert self.parents.hand(connection)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition():
                await self._has_changed.wait()
                self._has_changed.clear()


@asynccontextmanager
async def linked() -> AsyncIterator[LinkOfTest]:
    link = LinkOfTest()
    await link.until(lambda: link.parents.is_ready)
    yield link
    link.parents.close()
    for each in link.taken:
        each.close()


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_a_worker_that_had_no_file_descriptor_left_gets_connections_again(caplog: pytest.LogCaptureFixture):
    async with linked() as link:
        link.hand(MOST_ON_THE_WAY)
        assert not link.parents.may_take
        with no_descriptor_left():
            await link.until(lambda: link.parents.may_take)
            assert not link.taken
        assert caplog.text.count("no file descriptor left") == MOST_ON_THE_WAY
        link.hand(1)
        await link.until(lambda: link.parents.connections == len(link.taken) == 1)
        await link.workers.stop()


async def test_a_worker_that_stops_takes_what_was_handed_over_and_gets_nothing_more():
    async with linked() as link:
        link.hand(3)
        await link.workers.stop()
        assert len(link.taken) == 3
        assert not link.parents.may_take
