"""Keeps the tool lists fresh: at the start, when a server says that its tools have changed, when there are other
servers, and now and then."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import mcp.types as types
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError

from context_protection.core.json_values import plain, storable
from gateway.connectors.mcp_servers import errors, registry
from gateway.connectors.mcp_servers import operations as tools
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.models import ToolList
from gateway.connectors.mcp_servers.sessions import Sessions, sessions
from gateway.process.bridge import run_sync
from gateway.upstreams.errors import UpstreamError, UpstreamTooLarge

T = TypeVar("T")

EVERY_SECONDS = 300.0
LOOK_SECONDS = 1.0  # at which it is looked whether there are other servers, and whose tools have changed
ASK_SECONDS = 40.0  # for a server to be connected to, and to say what it can do

logger = logging.getLogger(__name__)


class Refreshing:
    """A task of the loop that starts it, and one for each server that is being asked: none waits for another."""

    def __init__(self, sessions: Sessions, every: float = EVERY_SECONDS, patience: float = ASK_SECONDS) -> None:
        self.sessions, self.every, self.patience = sessions, every, patience
        self._task: asyncio.Task[None] | None = None
        self._known: tuple[Server, ...] = ()
        self._asking: dict[Server, asyncio.Task[None]] = {}
        self._again: set[Server] = set()  # to be asked once more as soon as they can be
        self._changed: set[Server] = set()  # those that say so, and have not been asked since
        self._too_large: set[Server] = set()  # whose list was, and cost much to read

    async def start(self) -> None:
        """Returns at once: a server may take a while to answer, and until then offers what it had last."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ends the task, all connections, and all children."""
        tasks = [*self._asking.values(), *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._task = None
        await self.sessions.close()

    async def refresh(self) -> None:
        """Asks every server for its tools. One that does not answer, or answers nonsense, keeps those that it had."""
        await self._look(everyone=True)
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due_at = loop.time()
        while True:
            everyone = loop.time() >= due_at
            if everyone:
                due_at = loop.time() + self.every
            await self._look(everyone=everyone)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, *, everyone: bool) -> None:
        """Asks those servers that are new, have been changed or say that their tools have, or all."""
        try:
            servers = await run_sync(registry.servers)
        except (ImproperlyConfigured, DatabaseError) as error:
            if everyone:
                logger.warning("MCP servers not looked at", extra={"error": str(error)})
            return
        if everyone or servers != self._known:
            await self.sessions.retain(servers)
        for gone in self._asking.keys() - set(servers):
            self._asking[gone].cancel()
        changed = self._due_to_change({*servers})
        due = {*servers} if everyone else ({*servers} - {*self._known}) | (self._again & {*servers}) | changed
        self._changed -= due
        self._known, self._again = servers, due & self._asking.keys()
        for server in due - self._asking.keys():
            self._asking[server] = task = asyncio.create_task(self._ask(server))
            task.add_done_callback(partial(self._asked, server))

    def _due_to_change(self, servers: set[Server]) -> set[Server]:
        """Those that say that their tools have changed; of one whose list was too large, that waits for the next look
        at everyone."""
        self._too_large &= servers
        self._changed = (self._changed | self.sessions.changed()) & servers
        return self._changed - self._too_large

    def _asked(self, server: Server, task: asyncio.Task[None]) -> None:
        self._asking.pop(server, None)
        if not task.cancelled() and (error := task.exception()):
            logger.error("MCP server's tools not read", extra={"server": server.name}, exc_info=error)

    async def _ask(self, server: Server) -> None:
        self._too_large.discard(server)
        try:
            async with asyncio.timeout(self.patience):
                documents = await run_sync(_documents, await self.sessions.tools(server))
        except (UpstreamError, TimeoutError) as error:
            if isinstance(error, UpstreamTooLarge):
                self._too_large.add(server)
            said = error.message if isinstance(error, UpstreamError) else errors.too_slow(server).message
            logger.warning("MCP server's tools not read", extra={"server": server.name, "error": said})
            await self._write(server, _note, said)
        else:
            await self._write(server, _keep, documents)

    async def _write(self, server: Server, write: Callable[[str, T], None], what: T) -> None:
        try:
            await run_sync(write, server.name, what)
        except DatabaseError as error:
            logger.warning("MCP server's tools not stored", extra={"server": server.name, "error": str(error)})
            self._again.add(server)


def _documents(listed: list[types.Tool]) -> list[dict[str, object]]:
    documents: list[dict[str, object]] = storable(plain(tools.documents(listed)))
    return documents


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
