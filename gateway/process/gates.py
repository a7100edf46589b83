"""Lets requests that hash passwords run one at a time, which leaves threads and CPUs free for all other requests.

A hash takes 0.3 s of CPU time. Each address has its own queue: a client that sends many guesses waits for its own
requests, and delays every other client by at most one of them.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from gateway.process.wait import until_taken
from gateway.threads.limits import ConcurrencyLimits

AT_ONCE = 1
WAIT_SECONDS = 15.0
PAUSE_SECONDS = 0.1  # between requests of one address: even a rejection without a hash costs rendering a page


# Literal paths, because `reverse` would load all pages (bodies.py).
HASHING_PATHS = frozenset({"/admin/login/", "/admin/password_change/"})


class Gate:
    def __init__(
        self,
        paths: frozenset[str] = frozenset(),
        at_once: int = AT_ONCE,
        wait_seconds: float = WAIT_SECONDS,
        pause_seconds: float = PAUSE_SECONDS,
    ) -> None:
        self._paths = paths
        self.wait_seconds, self.pause_seconds = wait_seconds, pause_seconds
        self._free = asyncio.Semaphore(at_once)
        self._limits = ConcurrencyLimits(width=1)

    def guards(self, scope: dict[str, Any]) -> bool:
        return scope["method"] == "POST" and scope["path"] in self._paths

    @asynccontextmanager
    async def entered(self, scope: dict[str, Any], receive: Any) -> AsyncIterator[None]:
        """Waits for a slot. Raises Busy or ClientGone."""
        client = scope.get("client")
        address = client[0] if client else ""
        await until_taken(self._enter(address), receive, self.wait_seconds)
        try:
            yield
        finally:
            self._free.release()
            asyncio.get_running_loop().call_later(self.pause_seconds, self._limits.release, address)

    async def _enter(self, address: str) -> None:
        await self._limits.acquire(address)
        try:
            await self._free.acquire()
        except asyncio.CancelledError:
            self._limits.release(address)
            raise
