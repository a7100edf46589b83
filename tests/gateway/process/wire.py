"""A server with limits of its own on loopback, and bytes on the wire to it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.server import ServerState

from gateway.process.http_protocol import RequestLimits, bounded_http
from gateway.process.unfinished_requests import Unfinished
from gateway.process.web import SmallWebSocket
from tests.patience import PATIENCE


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def reason(self) -> str:
        return str(json.loads(self.body)["error"]["reason"])


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), PATIENCE)

    async def response(self) -> Response:
        """The next response, of which the body is whole."""
        async with asyncio.timeout(PATIENCE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode().splitlines()
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Response(int(head[0].split()[1]), headers, body)

    async def rest(self) -> bytes:
        """What comes until the server closes."""
        return await asyncio.wait_for(self.reader.read(), PATIENCE)

    async def refused(self) -> tuple[int, str]:
        """Status and reason of the last response, after which the server closes."""
        response = await self.response()
        assert response.headers["connection"] == "close"
        assert await self.rest() == b""
        return response.status, response.reason


@dataclass(frozen=True)
class Server:
    port: int
    unfinished: Unfinished

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[Wire]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield Wire(reader, writer)
        finally:
            writer.transport.abort()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


class Written(asyncio.Transport):
    """What each write held, of a connection whose reads a test makes itself."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_closed = False
        self._written = asyncio.Event()

    def write(self, data: Any) -> None:
        self.writelines([data])

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.writes.append(b"".join(list_of_data))
        self._written.set()

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    async def until(self, number: int) -> None:
        """That many writes have been made."""
        async with asyncio.timeout(PATIENCE):
            while len(self.writes) < number:
                self._written.clear()
                await self._written.wait()


def protocols(
    application: Any, state: ServerState, unfinished: Unfinished | None = None, **limits: Any
) -> Callable[[], Any]:
    """Makes what serves a connection."""
    config = uvicorn.Config(application, lifespan="off", log_config=None, access_log=False, ws=SmallWebSocket)
    config.load()
    make = bounded_http(RequestLimits(**{"linger_seconds": PATIENCE, **limits}), unfinished)
    return lambda: make(config=config, server_state=state, app_state={})


@asynccontextmanager
async def listening(application: Any, unfinished: Unfinished | None = None, **limits: Any) -> AsyncIterator[Server]:
    """`limits`: those that are not the usual ones."""
    state, together = ServerState(), Unfinished() if unfinished is None else unfinished
    protocol = protocols(application, state, together, **limits)
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0)
    try:
        yield Server(server.sockets[0].getsockname()[1], together)
    finally:
        server.close()
        for task in list(state.tasks):
            task.cancel()
        if state.tasks:
            await asyncio.wait(state.tasks)
        for connection in state.connections:
            connection.transport.abort()
        await asyncio.sleep(0)  # they are lost in the next turn of the loop
