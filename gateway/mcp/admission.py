"""An HTTP request of MCP: let in, watched while it lasts, and ended when its key is refused or the server restarts."""

from collections.abc import Awaitable, Callable, Sized
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from context_protection.errors import CallError
from gateway.mcp.handshake import Handshake, refusal
from gateway.mcp.peers import SCOPE_KEY, Peer
from gateway.mcp.sessions import Ending, Sessions

Endpoint = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


async def admit(
    endpoint: Endpoint,
    sessions: Sessions,
    door: str,
    scope: dict[str, Any],
    receive: Any,
    send: Any,
    *,
    in_flight: Sized | None = None,
) -> None:
    """Serves a request by `endpoint` if its headers let it in. Before a restart none is begun: a connection that is
    kept alive could send more and more of them. `in_flight`: what waits to be answered on it, if it is a session's."""
    response = _Response(send)
    if sessions.draining:
        await response.finish()
        return
    headers = Handshake.of(scope)
    try:
        caller = await headers.caller()
    except CallError as error:
        status, fields, body = refusal(error)
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})
        return
    peer = Peer(caller, door)
    token = AccessToken(token=caller.id, client_id=caller.id, scopes=[])  # binds a session to its caller
    scope = {**scope, SCOPE_KEY: peer, "user": AuthenticatedUser(token)}
    scope["headers"] = [(name, value.strip()) for name, value in scope["headers"]]
    is_stream = scope["method"] == "GET" or headers.get("mcp-method") == "subscriptions/listen"
    if in_flight is None:  # a stream of notifications answers nothing for which a restart would wait
        in_flight = () if is_stream else (scope,)
    with anyio.CancelScope() as cancellable:
        with sessions.opened(HeldOpen(peer, cancellable, in_flight)):
            await endpoint(scope, receive, response.send)
    if cancellable.cancelled_caught:
        await response.finish()


async def not_allowed(send: Any, allowed: str) -> None:
    headers = [(b"allow", allowed.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 405, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


@dataclass(frozen=True, slots=True, eq=False)
class HeldOpen:
    """The session of a request: it is ended by ending the response."""

    peer: Peer
    cancellable: anyio.CancelScope
    in_flight: Sized

    @property
    def answering(self) -> int:
        return len(self.in_flight)

    async def end(self, ending: Ending) -> None:
        self.cancellable.cancel()


class _Response:
    """What has been sent of a response, so that one that is ended early ends well."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self._started = self._ended = False

    async def send(self, message: dict[str, Any]) -> None:
        self._started = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        if not self._started:
            headers = [(b"retry-after", b"1"), (b"connection", b"close"), (b"content-length", b"0")]
            await self.send({"type": "http.response.start", "status": 503, "headers": headers})
        if not self._ended:
            await self.send({"type": "http.response.body", "body": b""})
