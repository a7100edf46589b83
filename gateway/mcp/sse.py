"""MCP over HTTP with server-sent events, the transport of protocol 2024-11-05: a stream at /mcp/sse, messages to
/mcp/sse/messages. It serves clients that support no newer transport. A session lives in the process of its stream."""

from collections import deque
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from mcp.server import Server
from mcp.server.sse import SseServerTransport
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCMessage, JSONRPCRequest

from gateway.access.transports import Transport
from gateway.mcp.admission import admit, not_allowed, send_rejection
from gateway.mcp.in_flight import InFlight
from gateway.mcp.invalid_messages import MessageRejected, check_content_type, message_in
from gateway.mcp.sessions import Sessions
from gateway.process import place
from gateway.process.bodies import replaying

MESSAGES = "/mcp/sse/messages"
MESSAGE_EVENT = b"event: message"  # the start of every event except pings and the one that names the endpoint


class LegacySSE:
    def __init__(self, server: Server[Any], sessions: Sessions) -> None:
        self.server = server
        self.sessions = sessions
        # The number tells gateway/workers/session_routing.py which worker has the session.
        self.messages_path = f"{MESSAGES}/{place.number()}" if place.is_worker() else MESSAGES
        self.transport = SseServerTransport(self.messages_path)

    async def stream(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """GET: opens a session. Its answers are sent on this stream."""
        in_flight = InFlight(self.sessions)
        serve = partial(self._serve, in_flight)
        await admit(serve, self.sessions, Transport.SSE, scope, receive, send, in_flight=in_flight)

    async def messages(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """POST: a message to a session of the same caller."""
        await admit(self._receive, self.sessions, Transport.SSE, scope, receive, send)

    async def _receive(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["method"] == "POST":
            message = await receive()
            try:
                check_content_type(scope)
                message_in(message["body"])
            except MessageRejected as rejected:
                await send_rejection(send, rejected.response)
                return
            receive = replaying(message, receive)
        await self.transport.handle_post_message(scope, receive, send)

    async def _serve(self, in_flight: InFlight, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["method"] != "GET":
            await not_allowed(send, "GET")
            return
        events = _EventSend(send, in_flight)
        async with self.transport.connect_sse(scope, receive, events) as (incoming, outgoing):
            writer = _Outgoing(outgoing, events)
            reader = _Incoming(incoming, in_flight, writer)
            await self.server.run(reader, writer, self.server.create_initialization_options())


class _EventSend:
    """The ASGI `send` of a session's stream. A request stays in flight until the event with its answer is written,
    because a restart ends the stream as soon as nothing is in flight."""

    def __init__(self, send: Any, in_flight: InFlight) -> None:
        self._send, self._in_flight = send, in_flight
        self._unwritten: deque[JSONRPCMessage | None] = deque()

    @contextmanager
    def expected(self, message: JSONRPCMessage | None) -> Iterator[None]:
        """Announces the event that the block passes to the SDK. `message`: None if the event ends no request."""
        self._unwritten.append(message)
        try:
            yield
        except BaseException:  # the event was not passed on
            with suppress(ValueError):
                self._unwritten.remove(message)
            raise

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        await self._send(message)
        if self._unwritten and message.get("body", b"").startswith(MESSAGE_EVENT):
            written = self._unwritten.popleft()
            if written is not None:
                self._in_flight.left(written)


class _Stream:
    """Wraps one of a session's two SDK streams, to track the session's in-flight requests."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class _Outgoing(_Stream):
    """Announces each message to the stream's `send`."""

    def __init__(self, stream: Any, events: _EventSend) -> None:
        super().__init__(stream)
        self._events = events

    async def send(self, item: SessionMessage) -> None:
        with self._events.expected(item.message):
            await self._stream.send(item)

    async def reject(self, error: JSONRPCError) -> None:
        """Sends the error for a request that is not in flight."""
        with self._events.expected(None):
            await self._stream.send(SessionMessage(error))


class _Incoming(_Stream):
    """Admits each request. Sends the error for a rejected one on `outgoing`, and does not pass the request on."""

    def __init__(self, stream: Any, in_flight: InFlight, outgoing: _Outgoing) -> None:
        super().__init__(stream)
        self._in_flight, self._outgoing = in_flight, outgoing

    @property
    def last_context(self) -> Any:
        """The context of the HTTP request that carried the last message."""
        return self._stream.last_context

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            item: SessionMessage | Exception = await anext(self._stream)
            error_response = self._in_flight.arrived(item.message) if isinstance(item, SessionMessage) else None
            if error_response is None:
                return item
            assert isinstance(item, SessionMessage)
            assert isinstance(item.message, JSONRPCRequest)
            await self._outgoing.reject(JSONRPCError(jsonrpc="2.0", id=item.message.id, error=error_response))

    receive = __anext__
