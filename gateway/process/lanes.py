"""A fair share of the threads: whoever sends much waits for itself, and not the others for it."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Lanes:
    """Each lane, of a session or a caller, runs `width` calls at once."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lanes: dict[Hashable, tuple[asyncio.Semaphore, int]] = {}

    @asynccontextmanager
    async def in_lane(self, key: Hashable) -> AsyncIterator[None]:
        lane, waiting = self._lanes.get(key) or (asyncio.Semaphore(self.width), 0)
        self._lanes[key] = lane, waiting + 1
        try:
            async with lane:
                yield
        finally:
            lane, waiting = self._lanes[key]
            if waiting == 1:
                del self._lanes[key]
            else:
                self._lanes[key] = lane, waiting - 1
