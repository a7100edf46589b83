"""Keeps the tool lists fresh: reads them at the start, when a server announces a change, when a server is added or
reconfigured, and at regular intervals."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import mcp.types as types
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, transaction

from context_protection.core.json_values import plain, storable
from gateway.connectors.mcp_servers import errors, registry, removal, tool_rows
from gateway.connectors.mcp_servers import operations as tools
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.models import ToolList
from gateway.connectors.mcp_servers.sessions import ServerSessions, sessions
from gateway.threads.bridge import run_sync
from gateway.upstreams.errors import UpstreamError, UpstreamTooLarge

T = TypeVar("T")

EVERY_SECONDS = 300.0
LOOK_SECONDS = 1.0  # between two checks for new servers and announced changes
ASK_SECONDS = 40.0  # to connect to a server and read its tool list

logger = logging.getLogger(__name__)


class Refreshing:
    """One task on the loop that starts it, and one task per server being queried, so that no server waits for
    another."""

    def __init__(self, sessions: ServerSessions, every: float = EVERY_SECONDS, patience: float = ASK_SECONDS) -> None:
        self.sessions, self.every, self.patience = sessions, every, patience
        self._task: asyncio.Task[None] | None = None
        self._known: tuple[Server, ...] = ()
        self._queries: dict[Server, asyncio.Task[None]] = {}
        self._due_again: set[Server] = set()  # to be queried again as soon as possible
        self._changed: set[Server] = set()  # announced a change, and not queried since
        self._too_large: set[Server] = set()  # their last list was too large, and expensive to read

    async def start(self) -> None:
        """Returns at once. Until a server responds, its last stored tools are offered."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Ends all tasks, connections and child processes."""
        tasks = [*self._queries.values(), *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._task = None
        await self.sessions.close()

    async def refresh(self) -> None:
        """Queries every server for its tools. A server without a valid response keeps its tools."""
        await self._check(all_servers=True)
        await asyncio.gather(*self._queries.values(), return_exceptions=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due_at = loop.time()
        while True:
            all_servers = loop.time() >= due_at
            if all_servers:
                due_at = loop.time() + self.every
            await self._check(all_servers=all_servers)
            await asyncio.sleep(LOOK_SECONDS)

    async def _check(self, *, all_servers: bool) -> None:
        """Queries the servers that are new, were reconfigured or announced a change; with `all_servers`, all
        servers."""
        try:
            servers = await run_sync(registry.servers)
            if all_servers and (problem := await run_sync(registry.problem_of_file)):
                logger.warning("MCP servers of the file stay as they were", extra={"error": problem})
        except (ImproperlyConfigured, DatabaseError) as error:
            if all_servers:
                logger.warning("MCP servers not checked", extra={"error": str(error)})
            return
        if all_servers or servers != self._known:
            await self._forget_others(servers)
        for gone in self._queries.keys() - set(servers):
            self._queries[gone].cancel()
        changed = self._due_by_announcement({*servers})
        due = {*servers} if all_servers else ({*servers} - {*self._known}) | (self._due_again & {*servers}) | changed
        self._changed -= due
        self._known, self._due_again = servers, due & self._queries.keys()
        for server in due - self._queries.keys():
            self._queries[server] = task = asyncio.create_task(self._query(server))
            task.add_done_callback(partial(self._query_done, server))

    async def _forget_others(self, servers: tuple[Server, ...]) -> None:
        await self.sessions.retain(servers)
        try:
            await run_sync(removal.mark_gone, servers)
        except DatabaseError as error:  # the next check of all servers does it
            logger.warning("tools of removed MCP servers not marked", extra={"error": str(error)})

    def _due_by_announcement(self, servers: set[Server]) -> set[Server]:
        """The servers that announced a change. One whose list was too large waits until all servers are queried
        again."""
        self._too_large &= servers
        self._changed = (self._changed | self.sessions.changed()) & servers
        return self._changed - self._too_large

    def _query_done(self, server: Server, task: asyncio.Task[None]) -> None:
        self._queries.pop(server, None)
        if not task.cancelled() and (error := task.exception()):
            logger.error("MCP server's tools not read", extra={"server": server.name}, exc_info=error)

    async def _query(self, server: Server) -> None:
        self._too_large.discard(server)
        try:
            async with asyncio.timeout(self.patience):
                documents = await run_sync(_documents, await self.sessions.tools(server))
        except (UpstreamError, TimeoutError) as error:
            if isinstance(error, UpstreamTooLarge):
                self._too_large.add(server)
            message = error.message if isinstance(error, UpstreamError) else errors.too_slow(server).message
            logger.warning("MCP server's tools not read", extra={"server": server.name, "error": message})
            await self._write(server, _store_failure, message)
        else:
            await self._write(server, _store_tools, documents)

    async def _write(self, server: Server, write: Callable[[Server, T], None], what: T) -> None:
        try:
            await run_sync(write, server, what)
        except DatabaseError as error:
            logger.warning("MCP server's tools not stored", extra={"server": server.name, "error": str(error)})
            self._due_again.add(server)


def _documents(listed: list[types.Tool]) -> list[dict[str, object]]:
    documents: list[dict[str, object]] = storable(plain(tools.documents(listed)))
    return documents


def _store_tools(server: Server, documents: list[dict[str, object]]) -> None:
    """Writes only changes, as every write makes all processes reload."""
    last = ToolList.objects.filter(server=server.name).first()
    operations = tools.by_tool(server, documents)
    failure = errors.unreadable_tools([str(each["name"]) for each in documents if each["name"] not in operations])
    with transaction.atomic():
        is_changed = tool_rows.update(server, documents, operations, all_on=last is not None and last.all_on)
        if is_changed or last is None or last.tools != documents or last.failure != failure:
            ToolList.objects.update_or_create(server=server.name, defaults={"tools": documents, "failure": failure})
            logger.info("MCP server's tools changed", extra={"server": server.name, "tools": len(documents)})


def _store_failure(server: Server, failure: str) -> None:
    """Stores the failure for staff to see. The tools stay as they were."""
    last = ToolList.objects.filter(server=server.name).first()
    if last is None or last.failure != failure:
        ToolList.objects.update_or_create(server=server.name, defaults={"failure": failure})


refreshing = Refreshing(sessions)
