"""MCP over WebSocket at /mcp/ws, subprotocol `mcp`: a Channels consumer.

The consumer reads its socket directly. Channels' own loop would dispatch each frame through two more tasks and a
channel layer, which costs an idle socket 20 to 25 KB instead of 12, and a ping three times the CPU time.
"""

from typing import Any, cast

from channels.generic.websocket import AsyncWebsocketConsumer
from django.urls import re_path

from context_protection.core.errors import INVALID_REQUEST, CallError, InvalidArgument, UnknownOperation
from gateway.access import rejected_calls
from gateway.access.handshake import Handshake, error_response
from gateway.access.programs import of_user_agent
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.catalog.caller import Caller
from gateway.mcp.peers import Peer
from gateway.mcp.server import SluiceServer
from gateway.mcp.sessions import Sessions
from gateway.mcp.socket_session import SocketSession
from gateway.tracing.identity import new_id

SUBPROTOCOL = "mcp"


class UpgradeRequired(CallError):
    """The path takes only WebSocket connections."""

    code = INVALID_REQUEST
    status = 426


class MCPConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """Authenticates the caller, accepts the socket, and serves one session over it."""

    channel_layer_alias = None  # no group sends to this consumer

    def __init__(self, server: SluiceServer, sessions: Sessions) -> None:
        super().__init__()
        self.server = server
        self.sessions = sessions

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self.base_send = send
        await receive()  # websocket.connect
        try:
            caller = await _authenticated(scope)
        except CallError as error:
            rejected_calls.record(error, Visit.of(scope, Transport.WEBSOCKET))
            await _deny(scope, send, error)
            return
        await self.accept(subprotocol=SUBPROTOCOL)
        agent = Handshake.of(scope).get("user-agent")
        scope["headers"].clear()  # otherwise they stay in memory while the socket is open
        peer = Peer(caller, Transport.WEBSOCKET, of_user_agent(agent), session=new_id())
        session = SocketSession(receive, self, peer, self.sessions)
        with self.sessions.opened(session):
            await session.serve(self.server)


async def _deny(scope: dict[str, Any], send: Any, error: CallError) -> None:
    """Denies the handshake, with status and body if the web server supports that, else with a bare 403."""
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close"})
        return
    status, headers, body = error_response(error)
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})


async def no_socket(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Denies WebSockets at all other paths."""
    await receive()
    error = UnknownOperation(
        "There is no WebSocket at this address.",
        reason="unknown_address",
        suggestion="Connect to /mcp/ws. MCP over HTTP is at /mcp.",
    )
    await _deny(scope, send, error)


async def socket_only(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers HTTP requests to the address of the WebSocket."""
    error = UpgradeRequired(
        "This address takes only WebSocket connections.",
        reason="upgrade_required",
        suggestion="Connect to it by WebSocket (ws:// or wss://). MCP over HTTP is at /mcp. "
        "A proxy must pass on the headers Upgrade and Connection.",
    )
    status, headers, body = error_response(error)
    headers += [(b"upgrade", b"websocket"), (b"connection", b"upgrade")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def websocket_routes(server: SluiceServer, sessions: Sessions) -> list[Any]:
    """The routes for Channels' URLRouter."""
    return [
        re_path(r"^mcp/ws/*$", MCPConsumer.as_asgi(server=server, sessions=sessions)),
        re_path(r"", cast(Any, no_socket)),
    ]


async def _authenticated(scope: dict[str, Any]) -> Caller:
    """Returns the caller. Raises CallError for a rejected key, Host or Origin, and for a missing subprotocol."""
    caller = await Handshake.of(scope).caller(Visit.of(scope, Transport.WEBSOCKET))
    offered = scope.get("subprotocols", [])
    if SUBPROTOCOL not in offered:
        raise InvalidArgument(
            "The connection does not offer the subprotocol mcp.",
            reason="invalid_subprotocol",
            parameter="Sec-WebSocket-Protocol",
            value=", ".join(offered),
            expected=SUBPROTOCOL,
            suggestion="Offer the WebSocket subprotocol mcp.",
        )
    return caller
