"""MCP over WebSocket at /mcp/ws, subprotocol `mcp`: a text frame holds one JSON-RPC message.

A Channels consumer between the socket and two memory streams that the SDK's Server reads and writes. Cancellation is
MCP's own (`notifications/cancelled`); closing the socket cancels whatever still runs for it.
"""

import asyncio
import logging
from typing import Any

import anyio
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from mcp.server import Server
from mcp.shared._context_streams import create_context_streams
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError

from context_protection.budget import dumps
from context_protection.errors import CallError, InvalidArgument
from gateway.mcp.handshake import Handshake, refusal
from gateway.mcp.peers import Peer

logger = logging.getLogger(__name__)

SUBPROTOCOL = "mcp"
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
UNSUPPORTED_DATA, INTERNAL_ERROR, TRY_AGAIN_LATER = 1003, 1011, 1013
QUEUED_MESSAGES = 64  # in each direction
FULL_SECONDS = 30.0  # how long a session may leave its queue full
GOODBYE_SECONDS = 5.0  # for handlers to end when the peer has gone


async def deny(scope: Any, receive: Any, send: Any) -> None:
    """Sockets elsewhere: there are none."""
    await receive()
    await send({"type": "websocket.close"})


class MCPConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    channel_layer_alias = "none"  # a session belongs to its socket alone

    def __init__(self, server: Server[Any]) -> None:
        super().__init__()
        self.server = server
        self.session: asyncio.Task[None] | None = None
        self.left = False  # the peer has gone

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Without the base class's database clean-up, a hop into one shared thread for every frame."""
        handlers = {
            "websocket.connect": self.websocket_connect,
            "websocket.receive": self.websocket_receive,
            "websocket.disconnect": self.websocket_disconnect,
        }
        await handlers[message["type"]](message)

    async def connect(self) -> None:
        try:
            caller = await Handshake.of(self.scope).caller()
            self._check_subprotocol()
        except CallError as error:
            await self._refuse(error)
            return
        self.peer = Peer(caller, "websocket")
        self.to_server, incoming = create_context_streams[SessionMessage | Exception](QUEUED_MESSAGES)
        outgoing, self.from_server = create_context_streams[SessionMessage](QUEUED_MESSAGES)
        await self.accept(subprotocol=SUBPROTOCOL)
        self.session = asyncio.create_task(self._serve(incoming, outgoing))

    def _check_subprotocol(self) -> None:
        offered = self.scope.get("subprotocols", [])
        if SUBPROTOCOL not in offered:
            raise InvalidArgument(
                "The connection does not offer the subprotocol mcp.",
                reason="invalid_subprotocol",
                parameter="Sec-WebSocket-Protocol",
                value=", ".join(offered),
                expected=SUBPROTOCOL,
                suggestion="Offer the WebSocket subprotocol mcp.",
            )

    async def _refuse(self, error: CallError) -> None:
        """Denies the handshake: with status and body where the server can, else with a bare 403."""
        if "websocket.http.response" not in self.scope.get("extensions", {}):
            await self.close()
            return
        status, headers, body = refusal(error)
        await self.base_send({"type": "websocket.http.response.start", "status": status, "headers": headers})
        await self.base_send({"type": "websocket.http.response.body", "body": body})

    async def _serve(self, incoming: Any, outgoing: Any) -> None:
        pump = asyncio.create_task(self._pump())
        try:
            await self.server.run(incoming, outgoing, self.server.create_initialization_options())
        except Exception:
            logger.exception("session failed")
        finally:
            await outgoing.aclose()
            await pump
            if not self.left:
                await self.close(INTERNAL_ERROR)

    async def _pump(self) -> None:
        """From the server to the socket; goes on draining when the peer has left."""
        gone = False
        async for message in self.from_server:
            if gone:
                continue
            try:
                await self.send(text_data=message.message.model_dump_json(by_alias=True, exclude_unset=True))
            except (OSError, RuntimeError):
                gone = True

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if text_data is None:
            await self.close(UNSUPPORTED_DATA, "MCP messages are text frames.")
            return
        try:
            message = jsonrpc_message_adapter.validate_json(text_data, by_name=False)
        except ValidationError as error:
            await self._answer_garbage(error)
            return
        metadata = ServerMessageMetadata(request_context=self.peer)
        try:
            await asyncio.wait_for(self.to_server.send(SessionMessage(message, metadata=metadata)), FULL_SECONDS)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the session has ended; the socket is being closed
        except TimeoutError:
            await self.close(TRY_AGAIN_LATER, "Too many messages are waiting to be answered.")

    async def _answer_garbage(self, error: ValidationError) -> None:
        """What the SDK drops silently: the sender learns that it was not understood."""
        unparsable = any(problem["type"] == "json_invalid" for problem in error.errors(include_input=False))
        code, words = (PARSE_ERROR, "Parse error") if unparsable else (INVALID_REQUEST, "Invalid Request")
        answer = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}
        await self.send(text_data=dumps(answer).decode())

    async def websocket_disconnect(self, message: dict[str, Any]) -> None:
        self.left = True
        if self.session is not None:
            await self.to_server.aclose()
            await asyncio.wait([self.session], timeout=GOODBYE_SECONDS)
            self.session.cancel()
        raise StopConsumer
