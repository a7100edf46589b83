"""Streamable HTTP in front, a WebSocket for each session behind: for suites that do not speak WebSocket.

A WebSocket does not say to which request a notification or a question of the server's belongs: it goes into the stream
of the newest request that is unanswered, or into the session's own. What HTTP has and WebSocket has not (sessions by
id, their end, resumption) is the bridge's own, and tests the bridge.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import websockets
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from tests.conformance.target import Target

SUBPROTOCOL = "mcp"
SESSION = "mcp-session-id"
INVALID_REQUEST = -32600


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
        answer = await self._answer(request)
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        message = await request.json() if request.method == "POST" else {}
        if message.get("method") == "initialize":
            return await self._begin(request, message)
        session = self.sessions.get(request.headers.get(SESSION, ""))
        if session is None:
            return _refused(404, "Session not found")
        match request.method:
            case "POST" if "method" in message and "id" in message:
                return _stream(await session.ask(message))
            case "POST":
                await session.socket.send(json.dumps(message))
                return Response(status_code=202)
            case "GET":
                return _stream(session.own)
            case _:
                del self.sessions[request.headers[SESSION]]
                await session.socket.close()
                return Response(status_code=204)

    async def _begin(self, request: Request, message: dict[str, Any]) -> Response:
        try:
            session = Session(await self._connect(request))
        except websockets.InvalidStatus as refused:
            return Response(bytes(refused.response.body), refused.response.status_code, media_type="application/json")
        name = uuid4().hex
        self.sessions[name] = session
        return _stream(await session.ask(message), {SESSION: name})

    async def _connect(self, request: Request) -> websockets.ClientConnection:
        """The server sees the Host and Origin that the client has sent, so that it is the server who judges them."""
        url, headers = self.target.url, dict(self.target.headers(request))
        return await websockets.connect(
            f"{url.scheme}://{headers['host']}{url.path}",
            host=url.hostname,
            port=url.port or (443 if url.scheme == "wss" else 80),
            origin=headers.get("origin"),  # type: ignore[arg-type]
            subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]
            additional_headers={"Authorization": headers["authorization"]},
            max_size=None,
            proxy=None,
        )


def _stream(stream: asyncio.Queue[str | None], headers: dict[str, str] | None = None) -> StreamingResponse:
    return StreamingResponse(_events(stream), headers=headers, media_type="text/event-stream")


async def _events(stream: asyncio.Queue[str | None]) -> AsyncIterator[str]:
    while (frame := await stream.get()) is not None:
        yield f"event: message\ndata: {frame}\n\n"


def _refused(status: int, words: str) -> JSONResponse:
    error = {"code": INVALID_REQUEST, "message": words}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status_code=status)
