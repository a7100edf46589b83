"""The load client: one connection, one call after the other, over each transport. It does little itself, so that the
servers get the processor time."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import urlencode, urlsplit

import websockets
from websockets.asyncio.client import ClientConnection
from websockets.typing import Subprotocol

from benchmarks.table.servers import BenchServer
from benchmarks.table.upstream import path_of

LEGACY, MODERN = "2025-06-18", "2026-07-28"
META = "io.modelcontextprotocol"
CLIENT = {"name": "bench", "version": "1"}
HANDSHAKE = json.dumps(
    {"jsonrpc": "2.0", "id": 0, "method": "initialize",
     "params": {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}}
)  # fmt: skip
NOTIFICATION = b'{"jsonrpc":"2.0","method":'  # such as one about tools whose descriptions have changed
OPEN_SECONDS = 60
LARGEST = 1 << 24  # bytes of an answer
Call = Callable[[str, Mapping[str, Any]], Awaitable[bytes]]
Work = Callable[[bytes], tuple[str, dict[str, Any]]]  # the next call, given a client's last answer


class Way(Enum):
    WEBSOCKET = "WebSocket"
    HTTP_2025 = "HTTP 2025"
    HTTP_2026 = "HTTP 2026"
    PLAIN = "plain GET"


@asynccontextmanager
async def connected(server: BenchServer, way: Way) -> AsyncIterator[Call]:
    """Yields a function that calls a tool over a new connection, and returns the body of the answer. The function
    raises RuntimeError for a failed call."""
    opened = _socket(server) if way is Way.WEBSOCKET else _http(server, way)
    async with opened as call:
        yield call


async def websocket(server: BenchServer) -> ClientConnection:
    """An open socket on which the handshake of MCP is done."""
    socket = await websockets.connect(
        f"{server.address.replace('http', 'ws', 1)}/mcp/ws", subprotocols=[Subprotocol("mcp")],
        additional_headers={"Authorization": f"Bearer {server.key}"}, compression=None, max_size=None,
        open_timeout=OPEN_SECONDS, ping_interval=None,
    )  # fmt: skip
    await socket.send(HANDSHAKE)
    await socket.recv()
    await socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    return socket


@asynccontextmanager
async def _socket(server: BenchServer) -> AsyncIterator[Call]:
    socket = await websocket(server)

    async def call(tool: str, arguments: Mapping[str, Any]) -> bytes:
        await socket.send(message(server, tool, arguments))
        while (received := await socket.recv(decode=False)).startswith(NOTIFICATION):
            pass
        return _checked(received)

    try:
        yield call
    finally:
        await socket.close()


@asynccontextmanager
async def _http(server: BenchServer, way: Way) -> AsyncIterator[Call]:
    parts = urlsplit(server.address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=LARGEST)

    async def call(tool: str, arguments: Mapping[str, Any]) -> bytes:
        writer.write(_request(server, way, tool, arguments))
        head, body = await _response(reader)
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"{tool} at {server.address}: {head!r} {body[:500]!r}")
        return body if way is Way.PLAIN else _checked(body)

    try:
        yield call
    finally:
        writer.close()


def message(server: BenchServer, tool: str, arguments: Mapping[str, Any], **meta: Any) -> str:
    params = {"name": server.name_of(tool), "arguments": arguments, **meta}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})


def _request(server: BenchServer, way: Way, tool: str, arguments: Mapping[str, Any]) -> bytes:
    host = urlsplit(server.address).netloc
    if way is Way.PLAIN:
        path, query = path_of(tool, dict(arguments))
        return f"GET {path}?{urlencode(query)} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    headers = {
        "Host": host,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": LEGACY if way is Way.HTTP_2025 else MODERN,
    }
    meta: dict[str, Any] = {}
    if way is Way.HTTP_2026:
        envelope = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}, f"{META}/clientInfo": CLIENT}
        meta = {"_meta": envelope}
        headers |= {"MCP-Method": "tools/call", "MCP-Name": server.name_of(tool)}
    if server.key:
        headers["Authorization"] = f"Bearer {server.key}"
    body = message(server, tool, arguments, **meta).encode()
    headers["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body


async def _response(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"content-length:" in head:
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        return head, await reader.readexactly(length)
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return head, body


def _checked(body: bytes) -> bytes:
    """Searches the text without parsing it, because a busy client would take time from the servers."""
    if b'"result":' not in body or b'"isError":true' in body:
        raise RuntimeError(f"a failed call: {body[:1000]!r}")
    return body


@dataclass(frozen=True, slots=True)
class LoadClients:
    """Open connections that call at the same time."""

    calls: tuple[Call, ...]

    async def repeat(self, times: int, work: Work, seconds: list[float]) -> float:
        """Each client makes `times` calls. The duration of each call is added to `seconds`. Returns the duration of
        all calls together."""
        loop = asyncio.get_running_loop()

        async def one(call: Call) -> None:
            answer = b""
            for _ in range(times):
                begun = loop.time()
                answer = await call(*work(answer))
                seconds.append(loop.time() - begun)

        start = loop.time()
        async with asyncio.TaskGroup() as group:
            for call in self.calls:
                group.create_task(one(call))
        return loop.time() - start


@asynccontextmanager
async def clients(server: BenchServer, way: Way, count: int) -> AsyncIterator[LoadClients]:
    async with AsyncExitStack() as stack:
        yield LoadClients(tuple([await stack.enter_async_context(connected(server, way)) for _ in range(count)]))
