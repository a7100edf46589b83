"""Begins to read tool lists as soon as there is a server. Until then, the client for MCP is not loaded, which saves 2
MB."""

import asyncio
from typing import TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from gateway.connectors.mcp_servers import registry
from gateway.threads.bridge import run_sync

if TYPE_CHECKING:
    from gateway.connectors.mcp_servers.refresh import Refreshing

LOOK_SECONDS = 1.0


class FirstServer:
    """One task on the loop that starts it."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._refreshing: Refreshing | None = None

    async def start(self) -> None:
        """Returns at once."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._refreshing is not None:
            await self._refreshing.stop()

    async def _run(self) -> None:
        while True:
            if await run_sync(_is_there_one):
                break
            await asyncio.sleep(LOOK_SECONDS)
        from gateway.connectors.mcp_servers.refresh import refreshing

        self._refreshing = refreshing
        await refreshing.start()


def _is_there_one() -> bool:
    """Whether a server is configured. Also true if that cannot be read: `Refreshing` then reports the reason."""
    try:
        return bool(registry.servers())
    except (ImproperlyConfigured, DatabaseError):
        return True


first_server = FirstServer()
