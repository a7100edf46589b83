"""Streamable HTTP in front, WebSockets behind: for suites that do not speak WebSocket.

With the handshake, a session has a WebSocket. It does not say to which request a notification or a question of the
server's belongs: that goes into the stream of the newest request that is unanswered, or into the session's own. With
2026-07-28 there are no sessions: each request has a WebSocket of its own, for as long as it is answered, so that all
that comes belongs to it. What HTTP has and WebSocket has not (sessions by id, their end, resumption, statuses) is the
bridge's own, and tests the bridge.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from uuid import uuid4

import websockets
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tests.conformance.target import Target

SUBPROTOCOL = "mcp"
SESSION = "mcp-session-id"
INVALID_REQUEST = -32600
HANDSHAKE = "initialize"
# What fixes a connection's era before the suite's own request, which may be one that belongs to neither.
OPENING = {
    "jsonrpc": "2.0",
    "id": "opening",
    "method": "server/discover",
    "params": {"_meta": {PROTOCOL_VERSION_META_KEY: "2026-07-28", CLIENT_CAPABILITIES_META_KEY: {}}},
}


class Session:
    """A client's WebSocket, and the streams that its messages go to."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.unanswered: dict[Any, asyncio.Queue[str | None]] = {}  # by the request's id, the newest last
        self.own: asyncio.Queue[str | None] = asyncio.Queue()
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for frame in self.socket:
                self._hand_on(str(frame), json.loads(frame))
        finally:
            for stream in (*self.unanswered.values(), self.own):
                stream.put_nowait(None)

    def _hand_on(self, frame: str, message: dict[str, Any]) -> None:
        if "method" not in message and message.get("id") in self.unanswered:
            stream = self.unanswered.pop(message["id"])
            stream.put_nowait(frame)
            stream.put_nowait(None)
        else:
            list(self.unanswered.values() or [self.own])[-1].put_nowait(frame)

    async def ask(self, message: dict[str, Any]) -> asyncio.Queue[str | None]:
        stream = self.unanswered[message["id"]] = asyncio.Queue[str | None]()
        await self.socket.send(json.dumps(message))
        return stream


class Bridge:
    def __init__(self, target: Target) -> None:
        self.target = target
        self.sessions: dict[str, Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with AsyncExitStack() as until_answered:
            answer = await self._answer(request, until_answered)
            await answer(scope, receive, send)

    async def _answer(self, request: Request, until_answered: AsyncExitStack) -> Response:
        message = await request.json() if request.method == "POST" else {}
        try:
            if SESSION in request.headers:
                return await self._go_on(request, message)
            if message.get("method") == HANDSHAKE and not _is_enveloped(message):
                return await self._begin(request, message)
            if "method" in message and "id" in message:
                return await self._ask_alone(request, message, until_answered)
        except websockets.InvalidStatus as refused:
            return Response(bytes(refused.response.body), refused.response.status_code, media_type="application/json")
        return _refused(405, "Without a session, requests are all that there is")

    # -- With sessions ------------------------------------------------------------------------------

    async def _begin(self, request: Request, message: dict[str, Any]) -> Response:
        session = Session(await self._connecting(request))
        name = uuid4().hex
        self.sessions[name] = session
        return _stream(_queued(await session.ask(message)), {SESSION: name})

    async def _go_on(self, request: Request, message: dict[str, Any]) -> Response:
        session = self.sessions.get(request.headers[SESSION])
        if session is None:
            return _refused(404, "Session not found")
        match request.method:
            case "POST" if "method" in message and "id" in message:
                return _stream(_queued(await session.ask(message)))
            case "POST":
                await session.socket.send(json.dumps(message))
                return Response(status_code=202)
            case "GET":
                return _stream(_queued(session.own))
            case _:
                del self.sessions[request.headers[SESSION]]
                await session.socket.close()
                return Response(status_code=204)

    # -- Without ------------------------------------------------------------------------------------

    async def _ask_alone(self, request: Request, message: dict[str, Any], until_answered: AsyncExitStack) -> Response:
        """An answer that is all comes as JSON, with the status that the SDK's own server gives to its error; one that
        other messages come before, as a stream. A client that leaves closes the WebSocket."""
        socket = await until_answered.enter_async_context(self._connecting(request))
        await socket.send(json.dumps(OPENING))
        opened = json.loads(await socket.recv())
        assert "result" in opened, opened
        await socket.send(json.dumps(message))
        frame = str(await socket.recv())
        first = json.loads(frame)
        if "method" in first:
            return _stream(_frames(socket, frame))
        status = ERROR_CODE_HTTP_STATUS.get(first["error"]["code"], 200) if "error" in first else 200
        return Response(frame, status, media_type="application/json")

    # -- Behind -------------------------------------------------------------------------------------

    def _connecting(self, request: Request) -> websockets.connect:
        """The server sees the Host and Origin that the client has sent, so that it is the server who judges them."""
        url, headers = self.target.url, dict(self.target.headers(request))
        return websockets.connect(
            f"{url.scheme}://{headers['host']}{url.path}",
            host=url.hostname,
            port=url.port or (443 if url.scheme == "wss" else 80),
            origin=headers.get("origin"),  # type: ignore[arg-type]
            subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]
            additional_headers={"Authorization": headers["authorization"]},
            max_size=None,
            proxy=None,
        )


def _is_enveloped(message: dict[str, Any]) -> bool:
    """Whether a request names its protocol version, as each does since 2026-07-28."""
    return PROTOCOL_VERSION_META_KEY in message.get("params", {}).get("_meta", {})


def _stream(frames: AsyncIterator[str], headers: dict[str, str] | None = None) -> StreamingResponse:
    return StreamingResponse(_events(frames), headers=headers, media_type="text/event-stream")


async def _events(frames: AsyncIterator[str]) -> AsyncIterator[str]:
    async for frame in frames:
        yield f"event: message\ndata: {frame}\n\n"


async def _queued(stream: asyncio.Queue[str | None]) -> AsyncIterator[str]:
    while (frame := await stream.get()) is not None:
        yield frame


async def _frames(socket: websockets.ClientConnection, first: str) -> AsyncIterator[str]:
    """From the first on, up to the answer."""
    yield first
    async for frame in socket:
        yield str(frame)
        if "method" not in json.loads(frame):
            return


def _refused(status: int, words: str) -> JSONResponse:
    error = {"code": INVALID_REQUEST, "message": words}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=status)
