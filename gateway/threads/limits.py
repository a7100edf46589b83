"""Concurrency limits: a caller that sends many calls waits for its own calls, and does not delay others."""

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import ParamSpec, TypeVar

from gateway.threads.bridge import run_sync_and

P = ParamSpec("P")
T = TypeVar("T")
LANE_WIDTH = 4  # threads that one session or caller uses at once


class ConcurrencyLimits:
    """Each lane (a session or a caller) runs `width` calls at once. Call `leave` exactly once for each `enter`."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lanes: dict[Hashable, tuple[asyncio.Semaphore, int]] = {}

    async def enter(self, key: Hashable) -> None:
        lane, inside = self._lanes.get(key) or (asyncio.Semaphore(self.width), 0)
        self._lanes[key] = lane, inside + 1
        try:
            await lane.acquire()
        except asyncio.CancelledError:
            self._forget(key)
            raise

    def leave(self, key: Hashable) -> None:
        lane, _ = self._lanes[key]
        lane.release()
        self._forget(key)

    def _forget(self, key: Hashable) -> None:
        """Deletes a lane when its last call, running or waiting, has gone."""
        lane, inside = self._lanes[key]
        if inside == 1:
            del self._lanes[key]
        else:
            self._lanes[key] = lane, inside - 1


_lanes = ConcurrencyLimits(LANE_WIDTH)


async def on_thread(lane: Hashable, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs blocking `function` within the concurrency limit of a session. The place is free again only when the thread
    is: a cancelled function may take a while to stop."""
    await _lanes.enter(lane)
    return await run_sync_and(partial(_lanes.leave, lane), function, *args, **kwargs)
