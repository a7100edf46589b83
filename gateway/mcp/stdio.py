"""MCP over stdio: one client, whose key comes from the environment (SLUICE_API_KEY)."""

import os
from typing import Any, BinaryIO, Self

from anyio import to_thread
from django.conf import settings
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from context_protection.core.errors import CallError
from gateway.access import rejected_calls
from gateway.access.programs import UNKNOWN
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.catalog.caller import Caller
from gateway.connectors import connectors
from gateway.mcp.connection_watcher import ConnectionWatcher
from gateway.mcp.invalid_messages import MessageRejected, message_in
from gateway.mcp.message_limits import complexity_problem, error_response
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.mcp.sessions import Sessions
from gateway.mcp.tools import fingerprint
from gateway.process import errors
from gateway.upstreams.exchange import close_connections


async def serve_stdio(caller: Caller) -> None:
    """Serves until stdin closes. Writes only MCP messages to stdout."""
    peer = Peer(caller, Transport.STDIO, session="stdio")
    watcher = ConnectionWatcher(Sessions(), fingerprint, peer)
    server = build_server(peer, watcher)
    all_connectors = connectors()
    for start in (each.start for each in all_connectors if each.start):
        await start()
    await watcher.start()
    messages: Any = Messages(_private_stdin(), settings.LARGEST_BODY, caller)
    try:
        async with stdio_server(messages) as (incoming, outgoing):
            messages.outgoing = outgoing  # before the first line is read
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await watcher.stop()
        for stop in (each.stop for each in all_connectors if each.stop):
            await stop()
        await close_connections()


def _private_stdin() -> BinaryIO:
    """Moves standard input to a private descriptor, so that child processes do not read from it."""
    own = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(own, "rb", closefd=False)  # a thread may block on it until the process ends


class Messages:
    """The lines of stdin for the SDK. Rejected lines (too long, too complex, invalid) are answered here."""

    outgoing: Any

    def __init__(self, stream: BinaryIO, max_bytes: int, caller: Caller) -> None:
        self._stream, self._max_bytes, self._caller = stream, max_bytes, caller

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while line := await self._line(self._max_bytes + 1):
            problem = complexity_problem(line) if len(line) <= self._max_bytes else await self._too_long(line)
            if problem is not None:
                rejected_calls.record(problem, Visit(Transport.STDIO, ""), self._caller, UNKNOWN)
                await self.outgoing.send(SessionMessage(error_response(line, problem)))
            elif not line.isspace() and await self._is_valid(line):
                return line.decode()
        raise StopAsyncIteration

    async def _is_valid(self, line: bytes) -> bool:
        """Answers an invalid message, which the SDK would drop silently."""
        try:
            message_in(line)
        except MessageRejected as rejected:
            await self.outgoing.send(SessionMessage(rejected.response))
            return False
        return True

    async def _line(self, max_bytes: int) -> bytes:
        return await to_thread.run_sync(self._stream.readline, max_bytes)

    async def _too_long(self, beginning: bytes) -> CallError:
        piece = beginning
        while piece and not piece.endswith(b"\n"):
            piece = await self._line(self._max_bytes)
        return errors.body_too_large(self._max_bytes)
