"""One request over stateless HTTP and its response: JSON if the answer comes first, or an event stream if progress, a
notification or a ping has to be sent before the answer.

The SDK's own transport for the handshake revisions creates a session of six tasks and five streams for every request.
That takes three times the processor time of everything else in a cached call. This module too calls the SDK's
`serve_one`, so the SDK still provides revisions, validation, handlers and middleware.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.connection import Connection
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.streamable_http import check_accept_headers
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp.types import DEFAULT_NEGOTIATED_VERSION, PROTOCOL_VERSION_META_KEY, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request

from context_protection.core.budget import dumps
from gateway.mcp.admission import ABANDON_KEY
from gateway.mcp.invalid_messages import check_content_type, message_in, unknown_revision
from gateway.mcp.peers import SCOPE_KEY, Peer
from gateway.mcp.progress import notification

logger = logging.getLogger(__name__)

WATCH_SECONDS = 0.2  # after this time, a call's client is watched for a disconnect
PING_SECONDS = 15.0  # pause between pings; a proxy may close a connection that is silent for longer
PING = b": ping\r\n\r\n"
JSON = b"application/json"
EVENTS = b"text/event-stream"
UNBUFFERED = ((b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no"))


def request_in(scope: dict[str, Any], message: dict[str, Any]) -> JSONRPCRequest | None:
    """The JSON-RPC request in a POST of the handshake revisions; `message` holds its whole body. None for anything
    else, which the SDK's transport answers. Raises MessageRejected."""
    check_content_type(scope)
    request = Request(scope)
    version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
    if not all(check_accept_headers(request)) or message["type"] != "http.request":
        return None
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        # The SDK answers messages of MODERN_PROTOCOL_VERSIONS, whose envelope names the revision too.
        if version not in MODERN_PROTOCOL_VERSIONS and PROTOCOL_VERSION_META_KEY.encode() not in message["body"]:
            raise unknown_revision(message["body"], version)
        return None
    read = message_in(message["body"])
    return read if isinstance(read, JSONRPCRequest) and not _exceeds_64_bits(read.id) else None


def _exceeds_64_bits(name: Any) -> bool:
    """Whether orjson cannot serialise this number; the SDK's own JSON can."""
    return isinstance(name, int) and abs(name) >= 2**63


class Exchange:
    """One request that the SDK answers. Implements DispatchContext, which the SDK passes to its handlers."""

    can_send_request = False

    def __init__(self, request: JSONRPCRequest, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self.request, self._response = request, WatchedResponse(scope, receive, send)
        headers = Request(scope).headers
        self.version = headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
        self.transport = TransportContext(kind="streamable-http", can_send_request=False, headers=headers)
        peer: Peer = scope[SCOPE_KEY]
        self.message_metadata = ServerMessageMetadata(request_context=peer)
        self.request_id = request.id
        self.cancel_requested = anyio.Event()
        token = progress_token_from_params(request.params)
        self._progress_token = None if _exceeds_64_bits(token) else token

    async def serve(self, server: Server[Any]) -> None:
        await self._response.send_answer(self._answer(server))

    async def _answer(self, server: Server[Any]) -> bytes:
        outcome: dict[str, Any]
        async with server.lifespan(server) as state:
            connection = Connection.from_envelope(self.version, None, None)
            method, params = self.request.method, self.request.params
            try:
                outcome = {
                    "result": await serve_one(server, self, method, params, connection=connection, lifespan_state=state)
                }
            except Exception as error:  # the SDK turns it into an error without internal details
                details = modern_error_data(error)
                outcome = {"error": details.model_dump(mode="json", by_alias=True, exclude_none=True)}
        return dumps({"jsonrpc": "2.0", "id": self.request_id, **outcome})

    # -- Messages from the handlers before the answer -------------------------------------------------

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": dict(params)})}
        await self._response.send_message(dumps(message))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self._progress_token is not None:
            report = notification(self._progress_token, progress, total, message)
            await self._response.send_message(dumps(report))


class WatchedResponse:
    """The HTTP response to one request."""

    def __init__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        self._receive, self._send = receive, send
        self._abandon = scope[ABANDON_KEY]
        self._is_stream = False
        self._writing = asyncio.Lock()

    async def send_answer(self, answering: Coroutine[Any, Any, bytes]) -> None:
        """Returns when the answer is sent. A client that disconnects cancels its request."""
        watcher = _ClientWatcher(self, self._abandon)
        try:
            answer = await answering
        finally:
            watcher.stop()
        await self._end(answer)

    async def send_message(self, message: bytes) -> None:
        """Sends a message before the answer."""
        await self.send_event(_event(message))

    async def send_event(self, event: bytes) -> None:
        """Sends an event. The first one makes the response an event stream."""
        async with self._writing:
            if not self._is_stream:
                await self._begin(EVENTS, UNBUFFERED)
                self._is_stream = True
            await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def _end(self, answer: bytes) -> None:
        async with self._writing:
            if self._is_stream:
                answer = _event(answer)
            else:
                await self._begin(JSON, [(b"content-length", str(len(answer)).encode())])
            await self._send({"type": "http.response.body", "body": answer})

    async def _begin(self, kind: bytes, headers: Iterable[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind), *headers]})

    async def wait_for_disconnect(self) -> None:
        """Returns when the client has disconnected."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


class _ClientWatcher:
    """Watches the client of a slow call. A quick call costs only a timer, no task."""

    def __init__(self, response: WatchedResponse, abandon: Callable[[], None]) -> None:
        self._response, self._abandon = response, abandon
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(WATCH_SECONDS, self._start)

    def stop(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """Sends pings until the client has disconnected or a ping fails, then abandons the request."""
        try:
            await self._ping_until_gone()
        except Exception:
            logger.warning("a ping to the client of a slow call failed", exc_info=True)
        self._abandon()

    async def _ping_until_gone(self) -> None:
        while True:
            try:
                async with asyncio.timeout(PING_SECONDS):
                    await self._response.wait_for_disconnect()
            except TimeoutError:
                await self._response.send_event(PING)
            else:
                return
