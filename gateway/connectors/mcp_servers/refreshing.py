"""Keeps the tool lists fresh: at the start, when a server says that its tools have changed, and now and then."""

import asyncio
import logging
from contextlib import suppress

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from context_protection.plain import plain, storable
from gateway.connectors.mcp_servers import known
from gateway.connectors.mcp_servers import operations as tools
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.models import ToolList
from gateway.connectors.mcp_servers.sessions import Sessions, sessions
from gateway.process.bridge import run_sync
from gateway.upstreams.errors import UpstreamError

EVERY_SECONDS = 300.0

logger = logging.getLogger(__name__)


class Refreshing:
    """A task of the loop that starts it."""

    def __init__(self, sessions: Sessions, every: float = EVERY_SECONDS) -> None:
        self.sessions, self.every = sessions, every
        self._task: asyncio.Task[None] | None = None
        self._due = asyncio.Event()

    async def start(self) -> None:
        """Returns at once: a server may take a while to answer, and until then offers what it had last."""
        loop, self._due = asyncio.get_running_loop(), asyncio.Event()
        self.sessions.when_changed(lambda: loop.call_soon_threadsafe(self._due.set))
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ends the task, all connections, and all children."""
        self.sessions.when_changed(None)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        await self.sessions.close()

    async def _run(self) -> None:
        while True:
            self._due.clear()
            await self.refresh()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._due.wait(), self.every)

    async def refresh(self) -> None:
        """Asks every server for its tools. One that does not answer, or answers nonsense, keeps those that it had."""
        try:
            servers = await run_sync(known.servers)
            await self.sessions.retain(servers)
            await asyncio.gather(*map(self._ask, servers))
        except (ImproperlyConfigured, DatabaseError) as error:
            logger.warning("MCP servers not looked at", extra={"error": str(error)})

    async def _ask(self, server: Server) -> None:
        try:
            documents = storable(plain(tools.documents(await self.sessions.tools(server))))
        except UpstreamError as error:
            logger.warning("MCP server's tools not read", extra={"server": server.name, "error": error.message})
            return
        await run_sync(_keep, server.name, documents)


def _keep(server: str, documents: list[dict[str, object]]) -> None:
    """Nothing is written where nothing has changed: a change makes all processes look."""
    last = ToolList.objects.filter(server=server).first()
    if last is None or last.tools != documents:
        ToolList.objects.update_or_create(server=server, defaults={"tools": documents})
        logger.info("MCP server's tools changed", extra={"server": server, "tools": len(documents)})


refreshing = Refreshing(sessions)
