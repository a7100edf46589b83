"""Admits an HTTP request to MCP: authenticates it, reads its body, and ends it when its key is rejected or the server
restarts."""

from collections.abc import Awaitable, Callable, Sized
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.types import JSONRPCError

from context_protection.core.errors import CallError
from gateway.access import rejected_calls
from gateway.access.handshake import Handshake, send_error
from gateway.access.programs import Program, of_user_agent
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.catalog.caller import Caller
from gateway.mcp.invalid_messages import MessageRejected
from gateway.mcp.message_limits import complexity_problem, error_response
from gateway.mcp.peers import SCOPE_KEY, Peer
from gateway.mcp.sessions import Ending, Sessions
from gateway.process.bodies import ClientGone, MemoryShare, caller_memory, read_body, replaying

ABANDON_KEY = "sluice.abandon"  # in the ASGI scope: a function that ends the request of a client that is gone
Endpoint = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


async def admit(
    endpoint: Endpoint,
    sessions: Sessions,
    transport: Transport,
    scope: dict[str, Any],
    receive: Any,
    send: Any,
    *,
    in_flight: Sized | None = None,
) -> None:
    """Authenticates a request and serves it with `endpoint`. While the server drains before a restart, new requests are
    rejected, because a keep-alive connection could keep sending them. `in_flight`: the session's pending requests;
    None: there is no session, and the request itself is pending."""
    response = _TrackedResponse(send)
    with MemoryShare(caller_memory) as share:
        try:
            caller, receive = await _authenticated_request(scope, receive, share, transport)
        except ClientGone:
            return
        except CallError as error:
            await send_error(send, error)
            return
        except MessageRejected as error:
            await send_rejection(send, error.response)
            return
        if sessions.draining:
            await response.finish()
            return
        cancellable = anyio.CancelScope()
        scope, peer = _with_peer(scope, caller, transport)
        scope[ABANDON_KEY] = partial(_abandon, response, cancellable)
        if in_flight is None:  # a restart does not wait for notification streams, which have no answer
            headers = Handshake.of(scope)
            is_stream = scope["method"] == "GET" or headers.get("mcp-method") == "subscriptions/listen"
            in_flight = () if is_stream else (scope,)
        with cancellable, sessions.opened(HeldOpen(peer, cancellable, in_flight)):
            await endpoint(scope, receive, response.send)
        if cancellable.cancelled_caught:
            await response.finish()


async def _authenticated_request(
    scope: dict[str, Any], receive: Any, share: MemoryShare, transport: Transport
) -> tuple[Caller, Any]:
    """Returns the caller and a `receive` whose first message is the whole body. Checks the key before reading the body.
    Raises CallError, ClientGone, or MessageRejected."""
    visit, caller = Visit.of(scope, transport), None
    try:
        caller = await Handshake.of(scope).caller(visit)
        if scope["method"] == "GET":
            return caller, receive
        pieces: list[bytes] = []
        await read_body(receive, pieces.append, share)
    except CallError as error:
        rejected_calls.record(error, visit, caller, _program(scope))
        raise
    body = b"".join(pieces)
    if (too_complex := complexity_problem(body)) is not None:
        rejected_calls.record(too_complex, visit, caller, _program(scope))
        raise MessageRejected(error_response(body, too_complex))
    return caller, replaying({"type": "http.request", "body": body, "more_body": False}, receive)


async def send_rejection(send: Any, rejection: JSONRPCError) -> None:
    body = rejection.model_dump_json(by_alias=True, exclude_unset=True).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _abandon(response: "_TrackedResponse", cancellable: anyio.CancelScope) -> None:
    response.abandon()
    cancellable.cancel()


def _with_peer(scope: dict[str, Any], caller: Caller, transport: Transport) -> tuple[dict[str, Any], Peer]:
    """Adds the peer to the scope, and the user to whom the SDK binds a session."""
    peer = Peer(caller, transport, program=_program(scope))
    headers = [(name, value.strip()) for name, value in scope["headers"]]
    return {**scope, "headers": headers, SCOPE_KEY: peer, "user": _user(caller.id)}, peer


@lru_cache(maxsize=1024)
def _user(caller: str) -> AuthenticatedUser:
    return AuthenticatedUser(AccessToken(token=caller, client_id=caller, scopes=[]))


def _program(scope: dict[str, Any]) -> Program:
    return of_user_agent(dict(scope["headers"]).get(b"user-agent", b"").decode("latin-1"))


async def not_allowed(send: Any, allowed: str) -> None:
    headers = [(b"allow", allowed.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 405, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


@dataclass(frozen=True, slots=True, eq=False)
class HeldOpen:
    """An open request, tracked as a session. Ending it ends the response."""

    peer: Peer
    cancellable: anyio.CancelScope
    in_flight: Sized

    @property
    def answering(self) -> int:
        return len(self.in_flight)

    async def end(self, ending: Ending) -> None:
        self.cancellable.cancel()


class _TrackedResponse:
    """Tracks what has been sent, so that a response can be ended early and still be valid HTTP."""

    def __init__(self, send: Any) -> None:
        self._send = send
        self._started = self._ended = False

    async def send(self, message: dict[str, Any]) -> None:
        self._started = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    def abandon(self) -> None:
        """From now on, `finish` sends nothing."""
        self._started = self._ended = True

    async def finish(self) -> None:
        if not self._started:
            headers = [(b"retry-after", b"1"), (b"connection", b"close"), (b"content-length", b"0")]
            await self.send({"type": "http.response.start", "status": 503, "headers": headers})
        if not self._ended:
            await self.send({"type": "http.response.body", "body": b""})
