"""One HTTP exchange: sends a request over a pooled connection and reads the answer under a size limit, or raises an
error. It does not handle redirects, credentials or retries.

The request is written here, as one message. aiohttp's parser reads the answer.
"""

import asyncio
import re
import ssl
import zlib
from collections.abc import AsyncIterable, Iterable, Iterator
from functools import lru_cache

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader

from gateway.upstreams.addresses import AllowedAddresses, Location, UpstreamOrigin, locate
from gateway.upstreams.errors import AddressRefused, UpstreamError
from gateway.upstreams.failures import UpstreamFailures
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.network import UnknownHost
from gateway.upstreams.pool import ConnectionPool, Crowded, Destination, NotConnected, OpenConnection, pool
from gateway.upstreams.request import Request, Response
from gateway.version import VERSION

ACCEPTED_ENCODINGS = "gzip, deflate"
DEFAULT_HEADERS = {
    "accept": "application/json, */*;q=0.5",
    "user-agent": f"Sluice/{VERSION}",
    "accept-encoding": ACCEPTED_ENCODINGS,
}
TRANSPORT_HEADERS = frozenset(
    {"host", "accept-encoding", "content-length", "transfer-encoding", "connection", "te", "trailer"}
)
METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
FIELD_VALUE = re.compile(r"(?:[^\x00-\x20\x7f]+(?:[ \t]+[^\x00-\x20\x7f]+)*)?")

LONGEST_FIELD = 64 * 1024  # bytes of a header, or of the status line
MAX_FIELDS = 256  # headers of an answer
FIRST_FINAL_STATUS = 200
SWITCHING_PROTOCOLS = 101
MAX_INTERIM = 20  # interim answers, such as 103 with early hints
CHUNKED = "chunked"

STEP = 256 * 1024  # bytes read before other tasks of the loop run
PIECE_COST = 2048  # bytes that each piece adds to the count for STEP, because even a tiny piece takes time
# OpenSSL's X509_V_ERR code → words. OpenSSL's own messages are not shown, because they may contain the host's name.
CERTIFICATE_PROBLEMS = {
    9: "it is not valid yet",
    10: "it has expired",
    18: "it is self-signed",
    19: "it is self-signed",
    20: "its issuer is not trusted",
    21: "its issuer is not trusted",
    62: "it is for another host name",
}
GZIP_MAGIC = b"\x1f"
ANY_HEADER = zlib.MAX_WBITS | 32  # reads headers of gzip and of zlib
NO_HEADER = -zlib.MAX_WBITS


class Dropped(Exception):
    """The upstream closed a reused connection instead of answering. Only repeatable requests are resent."""


class Garbled(Exception):
    """The head of the answer is truncated, its body has an unknown transfer coding, or no final answer follows the
    interim ones."""


class Unsendable(Exception):
    """The request's method, its address or a header cannot be sent over HTTP."""


class TooLong(Exception):
    """The body is longer than the limit."""


class Undecodable(Exception):
    """The body cannot be decoded as its content encoding says; the message says why."""


TRANSPORT_ERRORS = (
    AddressRefused,
    Crowded,
    NotConnected,
    Unsendable,
    Garbled,
    TooLong,
    Undecodable,
    aiohttp.ClientError,
    HttpProcessingError,
)


async def send(
    request: Request, *, allowed: AllowedAddresses, limits: CallLimits, failures: UpstreamFailures
) -> Response:
    """Sends the request and returns the answer. Raises UpstreamError, or Dropped if the upstream closed a reused
    connection instead of answering."""
    try:
        return await _sent(request, await pool(allowed), limits)
    except TRANSPORT_ERRORS as error:
        raise _translated(error, failures, limits) from None


async def _sent(request: Request, connections: ConnectionPool, limits: CallLimits) -> Response:
    destination, message = _outgoing(request)
    opened = await connections.take(destination, limits.connect_seconds)
    try:
        response = await _exchange(opened, message, request.method, limits)
    except BaseException:
        connections.abort(opened)
        raise
    connections.give_back(opened)
    return response


async def _exchange(opened: OpenConnection, message: bytes, method: str, limits: CallLimits) -> Response:
    """Sends the message and reads the answer. Sending does not wait: a server that does not read the message is
    indistinguishable from one that does not answer, and both run into the read timeout."""
    protocol = opened.protocol
    protocol.set_response_params(
        read_until_eof=True,
        auto_decompress=False,
        read_timeout=limits.read_seconds,
        max_line_size=LONGEST_FIELD,
        max_field_size=LONGEST_FIELD,
        max_headers=MAX_FIELDS,
    )
    assert protocol.transport is not None
    protocol.transport.write(message)
    protocol.start_timeout()
    head, content = await _answer(opened)
    headers = _headers(head.raw_headers)
    if method == "HEAD":
        return Response(
            head.code, headers, b""
        )  # some servers send a body, so nothing more is read from this connection
    if headers.get("transfer-encoding", CHUNKED).lower() != CHUNKED:
        raise Garbled
    if _declared(headers) > limits.most_bytes:
        raise TooLong
    return Response(head.code, headers, await _body(protocol, content, headers, limits.most_bytes))


async def _body(protocol: ResponseHandler, content: StreamReader, headers: dict[str, str], most: int) -> bytes:
    """The decoded body. Raises the error of a broken connection, even if the body has no declared length: otherwise
    the break would be taken for the end of the body."""
    try:
        body = await read_body(content.iter_any(), headers.get("content-encoding", ""), most)
    except aiohttp.ClientPayloadError:
        _check_unbroken(protocol)
        raise
    _check_unbroken(protocol)
    return body


def _check_unbroken(protocol: ResponseHandler) -> None:
    broken = protocol.exception()
    if isinstance(broken, aiohttp.ClientOSError):
        raise broken


async def _answer(opened: OpenConnection) -> tuple[RawResponseMessage, StreamReader]:
    """The head and the content of the final answer."""
    try:
        for _ in range(MAX_INTERIM + 1):
            head, content = await opened.protocol.read()
            if head.code >= FIRST_FINAL_STATUS or head.code == SWITCHING_PROTOCOLS:
                return head, content
        raise Garbled
    except aiohttp.ServerDisconnectedError as error:
        if isinstance(error.message, RawResponseMessage):
            raise Garbled from None  # the head is truncated
        if not opened.is_reused:
            raise
        raise Dropped from None
    except aiohttp.ClientOSError:
        if not opened.is_reused:
            raise
        raise Dropped from None


def _outgoing(request: Request) -> tuple[Destination, bytes]:
    """The request's destination and its HTTP message. Raises Unsendable, AddressRefused."""
    location = locate(request.url)
    return _destination(location.origin), _message(request, location)


@lru_cache(maxsize=1024)
def _destination(origin: UpstreamOrigin) -> Destination:
    return Destination(origin.host, origin.port, origin.scheme == "https")


def _message(request: Request, location: Location) -> bytes:
    if not TOKEN.fullmatch(request.method) or not location.target.isascii():
        raise Unsendable
    lines = [f"{request.method} {location.target} HTTP/1.1", f"host: {location.origin.authority}"]
    lines += [f"{name}: {value}" for name, value in _outgoing_headers(request).items()]
    try:
        return "\r\n".join([*lines, "\r\n"]).encode("latin-1") + request.body
    except UnicodeEncodeError:
        raise Unsendable from None


def _outgoing_headers(request: Request) -> dict[str, str]:
    headers = dict(DEFAULT_HEADERS)
    for name, value in request.headers.items():
        if not TOKEN.fullmatch(name) or not FIELD_VALUE.fullmatch(value):
            raise Unsendable
        if name.lower() not in TRANSPORT_HEADERS:
            headers[name.lower()] = value
    if request.body or request.method in METHODS_WITH_BODY:
        headers["content-length"] = str(len(request.body))
    return headers


def _headers(received: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by lower-case name; repeated headers are joined as HTTP defines. Cookies are dropped."""
    headers: dict[str, str] = {}
    for raw, value in received:
        name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    headers.pop("set-cookie", None)
    return headers


def _declared(headers: dict[str, str]) -> int:
    """The declared length of the body; 0 if there is none."""
    declared = headers.get("content-length", "")
    return int(declared[:20]) if declared.isascii() and declared.isdigit() else 0


def _translated(error: Exception, failures: UpstreamFailures, limits: CallLimits) -> UpstreamError:
    """The error for callers. The order matters: the first match wins."""
    match error:
        case AddressRefused():
            return failures.address()
        case TooLong():
            return failures.too_large(limits.most_bytes)
        case Undecodable():
            return failures.garbled(str(error))
        case Crowded():
            return failures.crowded()
        case NotConnected():
            return _not_connected(error.why, failures, limits)
        case aiohttp.ServerTimeoutError():
            return failures.too_slow(limits.read_seconds)
        case aiohttp.ClientOSError() | aiohttp.ServerDisconnectedError():
            return failures.unreachable()
        case Unsendable():
            return failures.unsendable()
    return failures.garbled("it is truncated, or is not HTTP")


def _not_connected(why: Exception, failures: UpstreamFailures, limits: CallLimits) -> UpstreamError:
    match why:
        case UnknownHost():
            return failures.unreachable("its host name has no address (DNS)")
        case TimeoutError():
            return failures.unreachable(f"no connection within {limits.connect_seconds:g} seconds")
        case ssl.SSLCertVerificationError():
            return failures.certificate(CERTIFICATE_PROBLEMS.get(why.verify_code, ""))
        case ssl.SSLError():
            return failures.unreachable("TLS failed, so https:// may be wrong in its address")
        case ConnectionRefusedError():
            return failures.unreachable("nothing listens at its address and port")
    return failures.unreachable()


# -- Bodies ----------------------------------------------------------------------------------------------
# The limit counts decompressed bytes, because a small body may expand to any size.


async def read_body(chunks: AsyncIterable[bytes], encoding: str, most: int) -> bytes:
    """The decoded body, at most `most` bytes. Raises TooLong, Undecodable."""
    unpacking = _decompressor(encoding)
    body = bytearray()
    turn = 0
    async for chunk in chunks:
        for piece in unpacking.steps(chunk) if unpacking else (chunk,):
            if len(body) + len(piece) > most:
                raise TooLong
            body += piece
            turn += len(piece) + PIECE_COST
            if turn > STEP:
                turn = 0
                await asyncio.sleep(0)
    if unpacking:
        unpacking.check_end()
    return bytes(body)


def _decompressor(encoding: str) -> "_Decompressor | None":
    match encoding.strip().lower():
        case "" | "identity":
            return None
        case "gzip" | "x-gzip" | "deflate":
            return _Decompressor()
        case _:
            raise Undecodable("a content encoding that was not requested")


class _Decompressor:
    """Decompresses gzip of one or several members, zlib, and deflate without a header, which some servers send."""

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(ANY_HEADER)
        self._begun = False

    def steps(self, data: bytes) -> Iterator[bytes]:
        while True:
            if self._inflate.eof:
                if not data.startswith(GZIP_MAGIC):
                    return  # end of data, or padding
                self._inflate = zlib.decompressobj(ANY_HEADER)
            piece = self._piece(data)
            if piece:
                yield piece
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if not data and len(piece) < STEP:
                return

    def _piece(self, data: bytes) -> bytes:
        begun, self._begun = self._begun, True
        try:
            return self._inflate.decompress(data, STEP)
        except zlib.error:
            if begun:
                raise Undecodable("its compression is damaged") from None
        try:
            self._inflate = zlib.decompressobj(NO_HEADER)
            return self._inflate.decompress(data, STEP)
        except zlib.error:
            raise Undecodable("its compression is damaged") from None

    def check_end(self) -> None:
        if self._begun and not self._inflate.eof:
            raise Undecodable("it is truncated")
