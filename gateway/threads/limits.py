"""Concurrency limits: a caller that sends many calls waits for its own calls, and does not delay others."""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import ParamSpec, TypeVar

from gateway.threads.bridge import run_sync_and

P = ParamSpec("P")
T = TypeVar("T")
WIDTH = 4  # threads that one session or caller uses at once


class ConcurrencyLimits:
    """Runs at most `width` calls of one key (a session or a caller) at once; further ones wait. Call `release` exactly
    once for each `acquire`."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._by_key: dict[Hashable, tuple[asyncio.Semaphore, int]] = {}  # and the number of running and waiting calls

    async def acquire(self, key: Hashable) -> None:
        semaphore, calls = self._by_key.get(key) or (asyncio.Semaphore(self.width), 0)
        self._by_key[key] = semaphore, calls + 1
        try:
            await semaphore.acquire()
        except asyncio.CancelledError:
            self._forget(key)
            raise

    def release(self, key: Hashable) -> None:
        semaphore, _ = self._by_key[key]
        semaphore.release()
        self._forget(key)

    def _forget(self, key: Hashable) -> None:
        """Removes the key when its last call has ended."""
        semaphore, calls = self._by_key[key]
        if calls == 1:
            del self._by_key[key]
        else:
            self._by_key[key] = semaphore, calls - 1


_limits = ConcurrencyLimits(WIDTH)


async def on_thread(key: Hashable, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs blocking `function` within the concurrency limit of `key`. The slot is released only when the thread is
    free: a cancelled function may take a while to stop."""
    await _limits.acquire(key)
    return await run_sync_and(partial(_limits.release, key), function, *args, **kwargs)
