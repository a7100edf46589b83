"""Sessions with the servers: one per server, all on a separate event loop.

A session cannot run on a caller's loop, as some of these loops exist for one call only. A separate loop also keeps the
parsing of large messages off the loop that serves the transports.
"""

import asyncio
import atexit
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import mcp.types as types
from mcp import MCPError
from mcp.shared.dispatcher import ProgressFnT
from pydantic import ValidationError

from gateway.connectors.mcp_servers import errors, network
from gateway.connectors.mcp_servers.configuration import Server
from gateway.connectors.mcp_servers.connections import CLOSE_SECONDS, McpConnection
from gateway.connectors.mcp_servers.contacts import Contact
from gateway.connectors.mcp_servers.errors import QUOTED
from gateway.connectors.mcp_servers.sanitizer import quoted
from gateway.connectors.mcp_servers.streamable_http import Transports
from gateway.connectors.mcp_servers.wire import SESSION_UNKNOWN
from gateway.dispatch.asker import Asker
from gateway.dispatch.progress import Heard
from gateway.upstreams.client import UpstreamState
from gateway.upstreams.errors import UpstreamCredentials, UpstreamError, UpstreamGarbled
from gateway.upstreams.registry import upstreams
from gateway.upstreams.usage import upstream_use

T = TypeVar("T")
MAX_PROGRESS = 2.0**53  # the bound also excludes NaN and infinity, which JSON does not have
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds to wait before reconnecting


class ServerSession:
    """A session with one server. It connects at the first request, and again after a connection has ended.

    All methods must be called on the same event loop.
    """

    def __init__(
        self,
        server: Server,
        transports: Transports,
        changed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server, self._transports, self._changed, self._clock = server, transports, changed, clock
        self._connection: McpConnection | None = None
        self._failures = 0  # connections that ended since the last result
        self._not_before = 0.0
        self._failure: UpstreamError | None = None  # error of the previous connection

    async def call(
        self, tool: str, arguments: dict[str, Any], asker: Asker, progress: ProgressFnT | None = None
    ) -> types.CallToolResult:
        """Raises UpstreamError, and ClientLacks if the tool fails because the client could not be asked."""
        try:
            result = await self._result_of(lambda connection: connection.call(tool, arguments, asker, progress))
        except UpstreamError:
            errors.check_asked(self.server, asker)
            raise
        if result.is_error:
            errors.check_asked(self.server, asker)
        return result

    async def tools(self) -> list[types.Tool]:
        """Raises UpstreamError."""
        return await self._result_of(lambda connection: connection.tools())

    @property
    def pause(self) -> float:
        """Seconds until Sluice may reconnect; 0 if it may do so now."""
        return max(0.0, self._not_before - self._clock()) if self._connection is None else 0.0

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _result_of(self, request: Callable[[McpConnection], Awaitable[T]]) -> T:
        try:
            answer = await self._retry_if_session_unknown(request)
        except (MCPError, ValidationError) as error:
            raise errors.refused(self.server, error) from None
        self._failures = 0
        return answer

    async def _retry_if_session_unknown(self, request: Callable[[McpConnection], Awaitable[T]]) -> T:
        """Repeats the request on a new connection if the server no longer knows the session. This is safe, as such a
        server has not run the request."""
        connection = self._connected()
        upstream_use().note_attempt()
        try:
            return await request(connection)
        except MCPError as error:
            if error.code != SESSION_UNKNOWN:
                raise
        if connection is self._connection:
            self._connection = None
            await connection.close()
        connection = self._connected()
        upstream_use().note_attempt()
        return await request(connection)

    def _connected(self) -> McpConnection:
        """The connection, or a new one if it has ended. Reconnects at once after one failure, and after a pause if
        several have occurred in a row. Raises UpstreamError during the pause."""
        if self._connection is not None and self._connection.is_over:
            ended_at = self._connection.ended_at
            self._failure, self._connection = self._connection.failure, None
            self._failures += 1
            self._not_before = (self._clock() if ended_at is None else ended_at) + _pause(self._failures)
        if self._connection is None:
            if (seconds := self._not_before - self._clock()) > 0:
                lasting = self._failure if isinstance(self._failure, (UpstreamCredentials, UpstreamGarbled)) else None
                raise lasting or errors.unavailable(self.server, seconds)
            self._connection = McpConnection(self.server, self._transports, self._changed, self._clock)
        return self._connection


def _pause(failures: int) -> float:
    return 0.0 if failures < 2 else min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 2, 10))


class ServerSessions:
    """All sessions of this process. Its methods can be called from any event loop."""

    def __init__(self, transports: Transports = network.transport) -> None:
        self.transports = transports
        self._sessions: dict[str, ServerSession] = {}
        self._changed: set[Server] = set()
        self._contacts: dict[str, Contact] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def changed(self) -> set[Server]:
        """The servers that announced a change of their tools since the previous call of this method."""
        with self._lock:
            changed, self._changed = self._changed, set()
        return changed

    async def call(
        self, server: Server, tool: str, arguments: dict[str, Any], heard: Heard | None = None
    ) -> types.CallToolResult:
        """The tool's result, which may be an error. `heard` is called on the caller's loop with each progress
        notification. Cancelling the call cancels the request. Raises UpstreamError."""
        progress = _progress_relay(server, heard, asyncio.get_running_loop()) if heard else None
        asker = Asker.of_this_call()
        contact = self._contacts.setdefault(server.name, Contact())
        with upstream_use().waiting_for(server.name), contact.recording():
            return await asyncio.wrap_future(self._submit(self._call(server, tool, arguments, asker, progress)))

    async def tools(self, server: Server) -> list[types.Tool]:
        """Raises UpstreamError."""
        return await asyncio.wrap_future(self._submit(self._tools(server)))

    def states(self) -> list[UpstreamState]:
        """The servers that this process has called. A server counts as an open breaker during the pause before it is
        reconnected."""
        pauses = {name: each.pause for name, each in list(self._sessions.items())}
        return [contact.state(name, pauses.get(name, 0.0)) for name, contact in list(self._contacts.items())]

    async def retain(self, servers: Collection[Server]) -> None:
        """Closes the sessions with all other servers."""
        await asyncio.wrap_future(self._submit(self._retain(servers)))

    async def close(self) -> None:
        """Closes all connections and ends all child processes. A later call opens a new connection."""
        await self.retain(())

    async def end(self) -> None:
        """Closes all connections, and ends the loop and its thread. For sessions that are not used again."""
        await self.close()
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            atexit.unregister(self.close_at_exit)
            loop.call_soon_threadsafe(loop.stop)

    def close_at_exit(self) -> None:
        if self._loop is not None and self._sessions:
            self._submit(self._retain(())).result(CLOSE_SECONDS)

    # -- On the sessions' loop ----------------------------------------------------------------------

    async def _call(
        self, server: Server, tool: str, arguments: dict[str, Any], asker: Asker, progress: ProgressFnT | None
    ) -> types.CallToolResult:
        return await (await self._session(server)).call(tool, arguments, asker, progress)

    async def _tools(self, server: Server) -> list[types.Tool]:
        return await (await self._session(server)).tools()

    async def _session(self, server: Server) -> ServerSession:
        """The server's session. It is replaced, and the old one closed, if the server's configuration has changed."""
        session = self._sessions.get(server.name)
        if session is None or session.server != server:
            self._sessions[server.name] = ServerSession(server, self.transports, partial(self._note_change, server))
            if session is not None:
                await session.close()
        return self._sessions[server.name]

    def _note_change(self, server: Server) -> None:
        with self._lock:
            self._changed.add(server)

    async def _retain(self, servers: Collection[Server]) -> None:
        others = [each for each in self._sessions.values() if each.server not in servers]
        for session in others:
            del self._sessions[session.server.name]
        await asyncio.gather(*(session.close() for session in others))

    # -- The loop -----------------------------------------------------------------------------------

    def _submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_run, args=(self._loop,), name="mcp-servers", daemon=True).start()
                atexit.register(self.close_at_exit)
            return self._loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Runs the loop until it is stopped, then cancels its tasks and closes it."""
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()


def _progress_relay(server: Server, heard: Heard, loop: asyncio.AbstractEventLoop) -> ProgressFnT:
    """A callback for the sessions' loop that passes progress on to the call's loop, with a cleaned message. It drops
    notifications whose progress is not a valid number."""

    async def relay(progress: float, total: float | None, message: str | None) -> None:
        if not _is_number(progress):
            return
        words = quoted(message, QUOTED, server.secrets) if message else None
        with suppress(RuntimeError):  # the call is over and its loop closed
            loop.call_soon_threadsafe(heard, progress, total if _is_number(total) else None, words or None)

    return relay


def _is_number(value: float | None) -> bool:
    return value is not None and abs(value) <= MAX_PROGRESS


sessions = ServerSessions()
upstreams.also(sessions.states)
