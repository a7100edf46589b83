"""Plain calls get the same bytes with the SDK's session and without it.

Ten times as many messages: make test ARGS="tests/gateway/mcp/test_plain_calls.py --hypothesis-profile=thorough"
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import settings

from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from context_protection.core.rows import MemoryRows
from gateway.access.callers import caller_of_key
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.mcp import plain_calls, plain_requests, socket_session
from gateway.mcp.http import StreamableHTTP
from gateway.mcp.peers import Peer
from gateway.mcp.server import SluiceServer, build_server
from gateway.mcp.sessions import Sessions
from gateway.mcp.socket_session import SocketSession
from gateway.threads.bridge import run_sync
from tests.doors import Doors
from tests.gateway.mcp.http_client import Client
from tests.gateway.mcp.messages import HANDSHAKES, META, MODERN, Message, Messages
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = [{"id": n, "text": f'"{n}" \\ é 日本語 \x7f' * 9, "note": None} for n in range(40)]
PONG = '{"jsonrpc":"2.0","id":"ping",'
# What differs between two answers to the same call: ids of calls, cursors, handles and times.
OWN = re.compile(
    rb'((?:nextCursor|resultHandle|handle|requestId|x-request-id)\\*":\s*\\*")[^"\\]*'
    rb"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\"\\]*|\b[0-9a-f]{32}\b"
)


def _rows(arguments: Mapping[str, Any], caller: Caller) -> MemoryRows:
    return MemoryRows(ROWS)


async def _record(arguments: Mapping[str, Any], caller: Caller) -> Record:
    return Record({**ROWS[3], "said": arguments.get("text")})


async def _fails(arguments: Mapping[str, Any], caller: Caller) -> Record:
    raise InvalidArgument('The "text" is wrong.', reason="wrong", parameter="text", value=arguments.get("text"))


def _breaks(arguments: Mapping[str, Any], caller: Caller) -> Record:
    raise RuntimeError("the password is hunter2")


@pytest.fixture(autouse=True)
def things() -> Iterator[None]:
    text = {"text": {"type": "string"}, "id": {"type": "string"}}
    region = {"region": {"type": "string", "x-mcp-header": "Region"}}
    offered = [
        Operation("list_things", "Things", "Lists.", Kind.LIST, text, _rows, "", former_names=("old_name",)),
        Operation("get_thing", "Thing", "Reads.", Kind.RECORD, text, _record, ""),
        Operation("fails", "Fails", "Reads.", Kind.RECORD, text, _fails, ""),
        Operation("breaks", "Breaks", "Reads.", Kind.RECORD, text, _breaks, ""),
        Operation("asks", "Asks", "Reads.", Kind.RECORD, text, _record, "", asks=True),
        Operation("by_region", "By region", "Reads.", Kind.RECORD, region, _record, ""),
        Operation("secret", "Secret", "Reads.", Kind.RECORD, text, _record, ""),
    ]
    catalogue.offer(offered)
    yield
    for operation in offered:
        catalogue.withdraw(operation.name)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages that were answered without the SDK."""
    found: list[Any] = []

    def noted(*arguments: Any) -> Any:
        call = plain_calls.plain_call(*arguments)
        if call is not None:
            found.append(call)
        return call

    for module in (plain_requests, socket_session):
        monkeypatch.setattr(module, "plain_call", noted)
    return found


def count() -> int:
    return 5000 if settings.get_current_profile_name() == "thorough" else 500


def servers() -> tuple[SluiceServer, SluiceServer]:
    """One that answers plain calls, and one whose SDK answers all of them."""
    whole = build_server()
    whole.answers_plain_calls = False
    return build_server(), whole


def masked(data: bytes) -> bytes:
    return OWN.sub(rb"\1", data)


# -- Over HTTP ----------------------------------------------------------------------------------------


async def test_a_request_is_answered_with_the_same_bytes_both_ways(doors: Doors, taken: list[Any]):
    await run_sync(doors.choose, hidden_tools=["secret"])
    doors_of = [StreamableHTTP(server, Sessions(), stateless=True) for server in servers()]
    try:
        for message in Messages(1).over_http(count()):
            plain, whole = [await _response(door, doors.key, message) for door in doors_of]
            assert plain == whole, message
    finally:
        for door in doors_of:
            await door.stop()
    assert len(taken) > count() / 5


async def _response(door: StreamableHTTP, key: str, message: Message) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    client = Client(key, message.body)
    client.scope["headers"] = [*message.headers, (b"authorization", f"Bearer {key}".encode())]
    await asyncio.wait_for(door(client.scope, client.events.get, client.send), PATIENCE)
    headers = [(name, value) for name, value in client.sent[0]["headers"] if name != b"content-length"]
    length = dict(client.sent[0]["headers"]).get(b"content-length")
    assert length is None or int(length) == len(client.content)
    return client.status, sorted(headers), masked(client.content)


# -- Over a socket ------------------------------------------------------------------------------------


class Socket:
    """A session in this process, and what it has sent."""

    def __init__(self, caller: Caller) -> None:
        self._frames: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._sent: list[str] = []
        self.session = SocketSession(self._frames.get, self, Peer(caller, "websocket"), Sessions())

    async def send(self, text_data: str) -> None:
        self._sent.append(text_data)

    async def close(self, code: int, reason: str) -> None:
        raise AssertionError(reason)

    async def answers(self, frame: bytes) -> list[bytes]:
        """All that is sent because of a frame. A ping after it shows that it was read."""
        self._put(frame)
        self._put(json.dumps(self.ping).encode())
        async with asyncio.timeout(20):
            while not any(each.startswith(PONG) for each in self._sent) or self.session.answering:  # noqa: ASYNC110
                await asyncio.sleep(0)
        sent, self._sent = self._sent, []
        return sorted(masked(each.encode()) for each in sent if not each.startswith(PONG))

    def _put(self, frame: bytes) -> None:
        self._frames.put_nowait({"type": "websocket.receive", "text": frame.decode("utf-8", "replace")})

    @property
    def ping(self) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": "ping", "method": "ping"}

    async def opened(self, version: str) -> None:
        client = {"name": "generated", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        await self.answers(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).encode())
        await self.answers(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode())

    def leave(self) -> None:
        self._frames.put_nowait({"type": "websocket.disconnect"})


class ModernSocket(Socket):
    @property
    def ping(self) -> dict[str, Any]:
        meta = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}}
        return {"jsonrpc": "2.0", "id": "ping", "method": "server/discover", "params": {"_meta": meta}}

    async def opened(self, version: str) -> None:
        await self.answers(json.dumps({**self.ping, "id": "first"}).encode())


@asynccontextmanager
async def both(kind: type[Socket], caller: Caller) -> AsyncIterator[list[Socket]]:
    sockets = [kind(caller) for _ in range(2)]
    serving = [
        asyncio.create_task(socket.session.serve(server)) for socket, server in zip(sockets, servers(), strict=True)
    ]
    try:
        yield sockets
    finally:
        for socket in sockets:
            socket.leave()
        await asyncio.wait_for(asyncio.gather(*serving), PATIENCE)


@pytest.mark.parametrize("version", [*HANDSHAKES[:2], MODERN])
async def test_a_frame_is_answered_with_the_same_bytes_both_ways(doors: Doors, taken: list[Any], version: str):
    await run_sync(doors.choose, hidden_tools=["secret"])
    is_modern = version == MODERN
    messages = Messages(2).over_a_socket(count() // 3, is_modern=is_modern)
    async with both(ModernSocket if is_modern else Socket, await run_sync(caller_of_key, doors.key)) as sockets:
        for socket in sockets:
            await socket.opened(version)
        for frame in messages:
            plain, whole = [await socket.answers(frame) for socket in sockets]
            assert plain == whole, frame
    assert len(taken) > count() / 15


async def test_nothing_is_plain_before_the_handshake(doors: Doors, taken: list[Any]):
    async with both(Socket, await run_sync(caller_of_key, doors.key)) as sockets:
        for socket in sockets:
            await socket.answers(json.dumps(socket.ping).encode())
        for frame in Messages(3).over_a_socket(50, is_modern=False):
            plain, whole = [await socket.answers(frame) for socket in sockets]
            assert plain == whole, frame
    assert taken == []
