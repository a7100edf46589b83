"""Keeps the tool lists fresh: at the start, when a server says that its tools have changed, when there are other
servers, and now and then."""

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
LOOK_SECONDS = 1.0  # at which it is looked whether there are other servers

logger = logging.getLogger(__name__)


class Refreshing:
    """A task of the loop that starts it."""

    def __init__(self, sessions: Sessions, every: float = EVERY_SECONDS) -> None:
        self.sessions, self.every = sessions, every
        self._task: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self._asked: tuple[Server, ...] = ()

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
            await self._until_due()

    async def _until_due(self) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.every
        while (left := deadline - loop.time()) > 0 and not await self._has_others():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._due.wait(), min(LOOK_SECONDS, left))
                return

    async def _has_others(self) -> bool:
        """Whether somebody has added a server, or changed one, since they were asked."""
        try:
            return await run_sync(known.servers) != self._asked
        except (ImproperlyConfigured, DatabaseError):  # `refresh` says so, each time
            return False

    async def refresh(self) -> None:
        """Asks every server for its tools. One that does not answer, or answers nonsense, keeps those that it had."""
        try:
            self._asked = await run_sync(known.servers)
            await self.sessions.retain(self._asked)
            await asyncio.gather(*map(self._ask, self._asked))
        except (ImproperlyConfigured, DatabaseError) as error:
            logger.warning("MCP servers not looked at", extra={"error": str(error)})

    async def _ask(self, server: Server) -> None:
        try:
            documents = storable(plain(tools.documents(await self.sessions.tools(server))))
        except UpstreamError as error:
            logger.warning("MCP server's tools not read", extra={"server": server.name, "error": error.message})
            await run_sync(_note, server.name, error.message)
            return
        await run_sync(_keep, server.name, documents)


def _keep(server: str, documents: list[dict[str, object]]) -> None:
    """Nothing is written where nothing has changed: a change makes all processes look."""
    last = ToolList.objects.filter(server=server).first()
    if last is None or last.tools != documents or last.failure:
        ToolList.objects.update_or_create(server=server, defaults={"tools": documents, "failure": ""})
        logger.info("MCP server's tools changed", extra={"server": server, "tools": len(documents)})


def _note(server: str, failure: str) -> None:
    """For staff to see; the tools stay as they were."""
    last = ToolList.objects.filter(server=server).first()
    if last is None or last.failure != failure:
        ToolList.objects.update_or_create(server=server, defaults={"failure": failure})


refreshing = Refreshing(sessions)
