"""uvicorn's HTTP protocol, with limits on requests while they arrive.

Headers and bodies have a deadline and a maximum size. A request that exceeds them is answered with 408, 413 or 431, and
the connection is closed after the client has had time to read the answer. Each connection reads one request at a time:
a pipelined request waits, unparsed, until the one before it has been answered.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Any

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from context_protection.core.errors import CallError
from gateway.access import rejected_calls
from gateway.access.handshake import error_response
from gateway.access.transports import Transport
from gateway.access.visits import Visit
from gateway.process import errors
from gateway.process.flow import HoldableFlow, Responses
from gateway.process.unfinished_requests import Unfinished, Watch

TRANSPORTS = {"/api/v1/": Transport.REST, "/mcp/sse": Transport.SSE, "/mcp": Transport.HTTP}  # by the start of a path
END_OF_HEAD = b"\r\n\r\n"
CHUNKED_PIECE = 2048  # bytes of a chunked body parsed at once; small, because hundreds of requests may follow its end


@dataclass(frozen=True)
class RequestLimits:
    """Limits of one request while it arrives."""

    head_seconds: float = 10.0  # limit for request line and headers, from the first byte, and for a silent connection
    body_seconds: float = 30.0
    head_bytes: int = 64 * 1024  # also the limit for trailers and chunk extensions
    body_bytes: int = settings.LARGEST_BODY
    # Path → the maximum bytes of its larger bodies, which have their own deadline. The application checks the sender.
    large_bodies: Mapping[str, int] = field(default_factory=dict)
    large_body_seconds: float = 300.0
    linger_seconds: float = 2.0  # time for a client to read the rejection of its request
    linger_bytes: int = 32 * 1024 * 1024  # maximum that is read and dropped during that time

    def of_body(self, url: bytes, declared: int) -> tuple[int, float]:
        """Maximum bytes and seconds. A large body must declare its length."""
        if declared > self.body_bytes and (path := url.partition(b"?")[0].decode("latin-1")) in self.large_bodies:
            return self.large_bodies[path], self.large_body_seconds
        return self.body_bytes, self.body_seconds


class Phase(Enum):
    HEAD = "head"  # waiting for or reading the head of the next request
    BODY = "body"
    CLOSING = "closing"  # further bytes are dropped


HEAD, BODY, CLOSING = Phase  # faster: in Python 3.11, attribute access on an Enum costs 0.3 µs


@cache
def raw_response(error: CallError) -> bytes:
    """A complete HTTP response that rejects a request."""
    status, headers, body = error_response(error)
    lines = b"".join(b"%b: %b\r\n" % each for each in [*headers, (b"connection", b"close")])
    return STATUS_LINE[status] + lines + b"\r\n" + body


class BoundedHttp(HttpToolsProtocol):
    def __init__(self, *args: Any, limits: RequestLimits, unfinished: Unfinished, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.limits, self.unfinished = limits, unfinished
        self._phase = HEAD
        self._watch: Watch | None = None
        self._closer: asyncio.TimerHandle | None = None
        self._problem: CallError | None = None  # set by a callback of the parser
        self._head_bytes = 0  # bytes of the current head so far
        self._head_end = b""  # its last bytes
        self._bytes_after_head = 0  # bytes after a complete head, from the same read
        self._body_is_complete = False  # whether those bytes are exactly the body, parsed next without a deadline
        self._body_left: int | None = None  # None: the body is chunked
        self._body_bytes = self._body_limit = self._framing_bytes = 0
        self._body_seconds = 0.0
        self._keep_alive = False  # whether the connection stays open after the body
        self._held = bytearray()  # bytes of later requests, while one is answered
        self._lingered = 0

    # -- The connection -----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = self._flow = HoldableFlow(transport)
        self._responses: Any = Responses(transport, self.loop, self.end)
        self._begin_watch(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_watch()
        if self._closer is not None:
            self._closer.cancel()
        self._held.clear()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        if self._problem is not None:
            return
        self._end_watch()
        self._phase = CLOSING  # the WebSocket protocol now owns the transport
        super().handle_websocket_upgrade()

    def shutdown(self) -> None:
        self._keep_alive = False
        super().shutdown()

    # -- Bytes --------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._phase is CLOSING:
            self._drop(len(data))
        elif self._held or self._is_answering:
            self._hold(data)
        elif self._phase is BODY and len(data) == self._body_left:
            self._parse(data)
        elif self._phase is BODY or self._head_bytes:
            self._take(data)
        else:
            self._begin(data)

    def _begin(self, data: bytes) -> None:
        """Handles the first bytes of a request. Most requests arrive in one read, and then cost little more than their
        parsing."""
        size = data.find(END_OF_HEAD, 0, self.limits.head_bytes) + len(END_OF_HEAD)
        if size < len(END_OF_HEAD):
            self._take(data)
            return
        self._head_bytes, self._bytes_after_head, self._body_is_complete = size, len(data) - size, False
        self._parse(data[:size])
        self._bytes_after_head = 0
        if self._body_is_complete and self._phase is HEAD:
            self.parser.feed_data(data[size:])
        else:
            self._take(data[size:])

    def _take(self, data: bytes) -> None:
        """Passes bytes to the parser in pieces that end where a head or a body ends."""
        rest = memoryview(data)
        while rest and self._phase is not CLOSING:
            if self._is_answering:
                self._hold(rest)
                break
            size = self._next_piece_size(rest)
            self._feed(rest[:size]) if size else self._reject(errors.headers_too_large(self.limits.head_bytes))
            rest = rest[size:]
        self._watch_if_unfinished()

    def _next_piece_size(self, data: memoryview) -> int:
        """The size of the next piece to parse; 0 if the head is too large."""
        if self._phase is BODY:
            return CHUNKED_PIECE if self._body_left is None else max(1, self._body_left)
        window = self._head_end + data[: self.limits.head_bytes - self._head_bytes]
        end = window.find(END_OF_HEAD)
        size = (len(window) if end < 0 else end + len(END_OF_HEAD)) - len(self._head_end)
        self._head_end = window[-3:] if end < 0 else b""
        self._head_bytes += size
        return size

    def _feed(self, piece: memoryview) -> None:
        if self._phase is HEAD:
            self._parse(piece)
            return
        body_before = self._body_bytes
        self._parse(piece)
        if self._phase is BODY:
            self._count_framing(len(piece), self._body_bytes - body_before)

    def _parse(self, piece: bytes | memoryview) -> None:
        super().data_received(piece)  # type: ignore[arg-type]
        if self._problem is not None:
            self._reject(self._problem)

    def _count_framing(self, size: int, body: int) -> None:
        """Counts the bytes left of a body or, if it is chunked, the bytes in excess of twice its content. This limit
        allows for chunk sizes, but not for many extensions and trailers."""
        if self._body_left is not None:
            self._body_left -= size
            return
        self._framing_bytes = max(0, self._framing_bytes + size - 2 * body)
        if self._framing_bytes > self.limits.head_bytes:
            self._reject(errors.headers_too_large(self.limits.head_bytes))

    @property
    def _is_answering(self) -> bool:
        """Whether a complete request is waiting for its response."""
        return self._phase is not BODY and self.cycle is not None and not self.cycle.response_complete

    def _hold(self, data: bytes | memoryview) -> None:
        self._held += data
        if len(self._held) > self.limits.head_bytes:  # below that, reading continues, to detect a disconnect
            self._flow.hold()

    def _release(self) -> None:
        """Processes the held bytes after the response has been sent."""
        if self._phase is CLOSING or self.transport.is_closing() or self._is_answering:
            return
        held, self._held = bytes(self._held), bytearray()
        self._flow.release()
        self._take(held)

    # -- Parser callbacks ---------------------------------------------------------------------------

    def on_headers_complete(self) -> None:
        if self._problem is not None:
            return
        if self._watch is not None:
            self._end_watch()
        self._head_bytes = 0
        length, is_chunked = _framing(self.headers)
        if is_chunked or (length and not self._has_arrived(length)):
            self._expect_body(length, is_chunked)
        else:
            self._begin_cycle()

    def _begin_cycle(self) -> None:
        """Passes the request to the application, unless it becomes a WebSocket."""
        super().on_headers_complete()
        if self.cycle is not None:
            self.cycle.transport = self._responses
        self._responses.expects_head = True

    def _has_arrived(self, length: int) -> bool:
        """Whether the body arrived in the same read as its head, with no further bytes."""
        self._body_is_complete = (
            length == self._bytes_after_head <= self.limits.body_bytes and not self.parser.should_upgrade()
        )
        return self._body_is_complete

    def _expect_body(self, length: int, is_chunked: bool) -> None:
        self._body_limit, self._body_seconds = self.limits.of_body(self.url, length)
        self._phase = BODY
        self._body_left = None if is_chunked else length
        self._body_bytes = self._framing_bytes = 0
        if length > self._body_limit:
            self._problem = errors.body_too_large(self._body_limit)
        elif self.parser.should_upgrade() and self._should_upgrade():
            self._problem = errors.handshake_with_body()
        else:
            self._begin_cycle()
            self._wait_for_body()

    def _wait_for_body(self) -> None:
        self.headers = []  # so that trailers do not count as headers
        self._keep_alive, self.cycle.keep_alive = self.cycle.keep_alive, False

    def on_body(self, body: bytes) -> None:
        if self._phase is HEAD:  # it arrived in the same read as its head
            super().on_body(body)
            return
        self._body_bytes += len(body)
        if self._body_bytes > self._body_limit:
            self._problem = errors.body_too_large(self._body_limit)
        if self._problem is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if self._watch is not None:
            self._end_watch()
        if self._problem is not None:
            return
        if self._phase is BODY:
            self._phase = HEAD
            if not self.cycle.response_started:
                self.cycle.keep_alive = self._keep_alive
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._phase is CLOSING:
            self._unset_keepalive_if_required()
        elif self._held:
            self.loop.call_soon(self._release)

    # -- Deadlines ----------------------------------------------------------------------------------

    def _watch_if_unfinished(self) -> None:
        if self._watch is not None or self._phase is CLOSING:
            return
        if self._phase is BODY:
            self._begin_watch(self._body_seconds)
        elif self._head_bytes and not self._is_answering:
            self._begin_watch(self.limits.head_seconds)

    def _begin_watch(self, seconds: float) -> None:
        self._watch = self.unfinished.watch(self.loop, seconds, self._time_out)

    def _end_watch(self) -> None:
        if self._watch is not None:
            self.unfinished.end(self._watch)
            self._watch = None

    def _time_out(self) -> None:
        if self._phase is BODY:
            self._reject(errors.body_too_slow(self._body_seconds))
        elif self.scope is not (self.cycle and self.cycle.scope):  # the client has sent more than empty lines
            self._reject(errors.headers_too_slow(self.limits.head_seconds))
        else:
            self._end_watch()
            self.transport.close()

    # -- Rejections, and the end of a connection ----------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        self._problem = errors.not_http()  # `_parse` sends it

    def _reject(self, error: CallError) -> None:
        """Sends an error instead of the application's response, unless another response is in progress."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            may_answer = True
        else:
            may_answer = self._phase is BODY and not cycle.response_started and not self.pipeline
            cycle.disconnected = True  # signals to the application that the client has disconnected
            cycle.message_event.set()
        if may_answer:
            self._record_rejection(error)
            self._responses.write(raw_response(error))
        self._linger()

    def _record_rejection(self, error: CallError) -> None:
        """Records a rejected call. Requests for pages, and requests whose address has not arrived, are not calls."""
        path = self.url.partition(b"?")[0].decode("latin-1") if hasattr(self, "url") else ""
        transport = next((each for start, each in TRANSPORTS.items() if path.startswith(start)), None)
        if transport is not None:
            rejected_calls.record(error, Visit(transport, self.client[0] if self.client else ""))

    def end(self) -> None:
        """Called after the last response. If the request has not fully arrived, keeps reading for a while: closing with
        unread bytes would reset the connection, and the client could not read the response."""
        if self._phase is BODY:
            self._linger()
        elif self._phase is not CLOSING:
            self.transport.close()

    def _linger(self) -> None:
        self._phase = CLOSING
        self._end_watch()
        self._unset_keepalive_if_required()
        self._held.clear()
        self.pipeline.clear()
        self._flow.release()
        self._responses.flush()
        if self.transport.is_closing():
            return
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._closer = self.loop.call_later(self.limits.linger_seconds, self.transport.close)

    def _drop(self, size: int) -> None:
        self._lingered += size
        if self._lingered > self.limits.linger_bytes:
            self._flow.hold()


def _framing(headers: list[tuple[bytes, bytes]]) -> tuple[int, bool]:
    """The declared length of the body, and whether it is chunked. The parser has already rejected ambiguous headers."""
    length, is_chunked = 0, False
    for name, value in headers:
        if name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            is_chunked = True
    return length, is_chunked


def bounded_http(limits: RequestLimits, unfinished: Unfinished | None = None) -> Callable[..., BoundedHttp]:
    """The protocol factory that uvicorn calls for each connection."""
    together = Unfinished() if unfinished is None else unfinished

    def make(*args: Any, **kwargs: Any) -> BoundedHttp:
        return BoundedHttp(*args, limits=limits, unfinished=together, **kwargs)

    return make
