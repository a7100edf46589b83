"""One MCP session over a WebSocket: a text frame holds one JSON-RPC message.

The SDK's server reads and writes the consumer's socket through this object, without a queue, task or copy in between.
So an idle socket costs little memory, and a client that does not read delays only itself. `notifications/cancelled`
cancels a request; closing the socket cancels all its in-flight requests.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol, Self

from mcp.server import Server
from mcp.server.runner import _serve_legacy_stream, _serve_modern_stream
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import (
    PROTOCOL_VERSION_META_KEY,
    InitializeRequestParams,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
)

from gateway.access import rejected_calls
from gateway.access.programs import Program
from gateway.access.visits import Visit
from gateway.mcp.clients import program_by
from gateway.mcp.in_flight import InFlight
from gateway.mcp.invalid_messages import MessageRejected, message_in
from gateway.mcp.message_limits import complexity_problem, error_response
from gateway.mcp.peers import Peer
from gateway.mcp.plain_calls import PlainCall, plain_call, response
from gateway.mcp.server import SluiceServer
from gateway.mcp.sessions import Ending, Sessions

logger = logging.getLogger(__name__)

Receive = Callable[[], Awaitable[dict[str, Any]]]

NOT_TEXT = Ending(1003, "MCP messages are text frames.")
FAILED = Ending(1011, "The session failed; connect again.")


class Wire(Protocol):
    """An accepted socket: a Channels consumer."""

    async def send(self, text_data: str) -> None: ...

    async def close(self, code: int, reason: str) -> None: ...


class SocketSession:
    """Serves as both streams of the SDK: the one it reads and the one it writes."""

    __slots__ = (
        "_client",
        "_closed",
        "_in_flight",
        "_initializing",
        "_is_modern",
        "_metadata",
        "_opening",
        "_receive",
        "_server",
        "_wire",
        "peer",
    )

    def __init__(self, receive: Receive, wire: Wire, peer: Peer, sessions: Sessions) -> None:
        self.peer = peer
        self._receive = receive
        self._wire = wire
        self._metadata = ServerMessageMetadata(request_context=peer)
        self._in_flight = InFlight(sessions)
        self._opening: SessionMessage | None = None
        self._closed = False
        # The state for plain calls.
        self._server: Server[Any] | None = None  # None: the SDK answers all calls
        self._is_modern = False  # whether each request has an envelope; otherwise there is a handshake
        self._initializing: JSONRPCRequest | None = None  # the handshake that is being answered
        self._client: Program | None = None  # None until the handshake is complete

    @property
    def answering(self) -> int:
        return len(self._in_flight)

    async def end(self, ending: Ending) -> None:
        if not self._closed:
            self._closed = True
            await self._unless_gone(self._wire.close(code=ending.code, reason=ending.reason))

    async def serve(self, server: SluiceServer) -> None:
        """Serves until the socket is closed. The first request decides the protocol era of the session. (The SDK's own
        `serve_dual_era_loop` does the same, but costs one more stream and task for every socket.)"""
        try:
            opening = await self._first_request()
            if opening is None:
                return
            self._server = server if server.answers_plain_calls else None
            self._is_modern = opening.method != "initialize" and _is_enveloped(opening)
            async with server.lifespan(server) as state:
                if self._is_modern:
                    await _serve_modern_stream(server, self, self, lifespan_state=state, raise_exceptions=False)
                else:
                    await _serve_legacy_stream(
                        server,
                        self,
                        self,
                        lifespan_state=state,
                        session_id=None,
                        init_options=None,
                        raise_exceptions=False,
                    )
        except Exception:
            logger.exception("session failed")
            await self.end(FAILED)
        finally:
            await self._in_flight.cancel()

    async def _first_request(self) -> JSONRPCRequest | None:
        """The first request, which the SDK then reads again, or None if the socket was closed. Drops messages before
        it."""
        async for item in self:
            if isinstance(item.message, JSONRPCRequest):
                self._opening = item
                return item.message
        return None

    # -- Reading ------------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        if self._opening is not None:
            opening, self._opening = self._opening, None
            return opening
        while True:
            event = await self._receive()
            if event["type"] == "websocket.disconnect":
                self._closed = True
                raise StopAsyncIteration
            message = await self._parsed(event)
            if message is not None:
                return SessionMessage(message, metadata=self._metadata)

    receive = __anext__

    async def _parsed(self, event: dict[str, Any]) -> JSONRPCMessage | None:
        """The message in a frame; None if the frame was rejected here."""
        text = event.get("text")
        if text is None:
            await self.end(NOT_TEXT)
            return None
        data = text.encode("utf-8", "surrogatepass")
        if (problem := complexity_problem(data)) is not None:
            rejected_calls.record(problem, Visit(self.peer.transport, ""), self.peer.caller, self.peer.program)
            await self._write(error_response(data, problem))
            return None
        if (call := self._plain_call(data)) is not None:
            await self._begin(call)
            return None
        try:
            message = message_in(data)
        except MessageRejected as rejected:
            await self._write(rejected.response)
            return None
        error_data = self._in_flight.arrived(message)
        if error_data is not None and isinstance(message, JSONRPCRequest):
            await self._write(JSONRPCError(jsonrpc="2.0", id=message.id, error=error_data))
            return None
        if isinstance(message, JSONRPCRequest) and message.method == "initialize":
            self._initializing = message
        return message

    # -- Plain calls --------------------------------------------------------------------------------

    def _plain_call(self, data: bytes) -> PlainCall | None:
        if self._server is None or (self._client is None and not self._is_modern):
            return None
        return plain_call(data, self.peer, self._client)

    async def _begin(self, call: PlainCall) -> None:
        rejection = self._in_flight.rejection(call.id)
        if rejection is not None:
            await self._write(JSONRPCError(jsonrpc="2.0", id=call.id, error=rejection))
            return
        self._in_flight.begin(call.id, asyncio.create_task(self._answer(call)))

    async def _answer(self, call: PlainCall) -> None:
        assert self._server is not None
        await self._send_text(await response(call, self.peer, self._server, self._send_text))

    async def _send_text(self, message: bytes) -> None:
        await self._unless_gone(self._wire.send(text_data=message.decode()))

    def _note_handshake(self, message: JSONRPCMessage) -> None:
        """Notes the client and the revision once the SDK has accepted a handshake."""
        request = self._initializing
        if request is None or not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id != request.id:
            return
        self._initializing = None
        if isinstance(message, JSONRPCResponse):
            declared = InitializeRequestParams.model_validate(request.params, by_name=False)
            self._client = program_by(declared, message.result["protocolVersion"], self.peer)

    # -- Writing ------------------------------------------------------------------------------------

    async def send(self, item: SessionMessage) -> None:
        self._note_handshake(item.message)
        await self._write(item.message)
        self._in_flight.left(item.message)

    async def _write(self, message: JSONRPCMessage) -> None:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        await self._unless_gone(self._wire.send(text_data=text))

    async def _unless_gone(self, write: Awaitable[None]) -> None:
        """Awaits `write`, which waits until the client reads. Ignores errors of a disconnected client."""
        try:
            await write
        except (OSError, RuntimeError):
            self._closed = True

    async def aclose(self) -> None:
        """Does nothing: the SDK closes its streams when the session has ended, and `serve` handles the socket."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def _is_enveloped(request: JSONRPCRequest) -> bool:
    """Whether the request belongs to the 2026 era, in which every request names its protocol version."""
    meta = (request.params or {}).get("_meta")
    return isinstance(meta, dict) and PROTOCOL_VERSION_META_KEY in meta
