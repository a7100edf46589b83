"""One HTTP exchange: sends a request over a pooled connection and reads the answer under a size limit, or raises an
error. It does not handle redirects, credentials or retries.

httpcore2's pool is used without a client: Sluice itself follows redirects, and limits and decodes bodies. It stores no
cookies and reads no proxies from the environment.
"""

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterable, Iterator
from contextlib import aclosing, contextmanager
from functools import cache

import httpcore2

from gateway.upstreams.addresses import DEFAULT_PORTS, AllowedAddresses, ascii_host, split
from gateway.upstreams.errors import AddressRefused, UpstreamError
from gateway.upstreams.failures import UpstreamFailures
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.network import CheckedNetwork, Dropped, UnknownHost
from gateway.upstreams.per_loop import PerLoop
from gateway.upstreams.request import Request, Response
from gateway.version import VERSION

Headers = list[tuple[bytes, bytes]]

DEFAULT_HEADERS = {"accept": "application/json, */*;q=0.5", "user-agent": f"Sluice/{VERSION}"}
TRANSPORT_HEADERS = frozenset(
    {"host", "accept-encoding", "content-length", "transfer-encoding", "connection", "te", "trailer"}
)
METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})

MAX_CONNECTIONS = 100
MAX_IDLE = 20
IDLE_SECONDS = 30.0

STEP = 256 * 1024  # bytes read before other tasks of the loop run
PIECE_COST = 2048  # bytes counted extra per piece, because even a tiny piece takes time
ACCEPTED_ENCODINGS = "gzip, deflate"
# By OpenSSL's X509_V_ERR codes. Its own words may repeat the host's name.
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


async def send(
    request: Request, *, allowed: AllowedAddresses, limits: CallLimits, failures: UpstreamFailures
) -> Response:
    """Raises UpstreamError; Dropped if a reused connection was closed before the first byte of this answer."""
    with _translated_errors(failures, limits):
        answer = await (await pool(allowed)).handle_async_request(_outgoing(request, limits))
        try:
            headers = _headers(answer.headers)
            most = limits.most_bytes
            if request.method == "HEAD":
                return Response(answer.status, headers, b"")
            if _declared(headers) > most:
                raise TooLong
            async with aclosing(answer.aiter_stream()) as chunks:
                body = await read_body(chunks, headers.get("content-encoding", ""), most)
            return Response(answer.status, headers, body)
        finally:
            await answer.aclose()


def _outgoing(request: Request, limits: CallLimits) -> httpcore2.Request:
    parts = split(request.url)
    host, port = ascii_host(parts), parts.port
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    url = httpcore2.URL(scheme=parts.scheme.encode(), host=host.encode(), port=port, target=target.encode("ascii"))
    timeouts = {
        "connect": limits.connect_seconds,
        "read": limits.read_seconds,
        "write": limits.read_seconds,
        "pool": limits.connect_seconds,
    }
    return httpcore2.Request(
        request.method,
        url,
        headers=_outgoing_headers(request, host, None if port == DEFAULT_PORTS[parts.scheme] else port),
        content=request.body or None,
        extensions={"timeout": timeouts},
    )


def _outgoing_headers(request: Request, host: str, port: int | None) -> Headers:
    named = {name.lower(): value for name, value in request.headers.items()}
    headers = DEFAULT_HEADERS | {name: value for name, value in named.items() if name not in TRANSPORT_HEADERS}
    shown = f"[{host}]" if ":" in host else host
    headers["host"] = shown if port is None else f"{shown}:{port}"
    headers["accept-encoding"] = ACCEPTED_ENCODINGS
    if request.body or request.method in METHODS_WITH_BODY:
        headers["content-length"] = str(len(request.body))
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]


def _headers(received: Headers) -> dict[str, str]:
    """Headers by lower-case name; repeated ones are joined, as HTTP defines. Cookies are dropped."""
    headers: dict[str, str] = {}
    for raw, value in received:
        name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    headers.pop("set-cookie", None)
    return headers


def _declared(headers: dict[str, str]) -> int:
    declared = headers.get("content-length", "")
    return int(declared[:20]) if declared.isascii() and declared.isdigit() else 0


@contextmanager
def _translated_errors(failures: UpstreamFailures, limits: CallLimits) -> Iterator[None]:
    """Turns exceptions of the transport into errors for callers. The order matters: the first match wins."""
    try:
        yield
    except Dropped:
        raise
    except AddressRefused:
        raise failures.address() from None
    except TooLong:
        raise failures.too_large(limits.most_bytes) from None
    except Undecodable as error:
        raise failures.garbled(str(error)) from None
    except httpcore2.PoolTimeout:
        raise failures.crowded() from None
    except (httpcore2.ReadTimeout, httpcore2.WriteTimeout):
        raise failures.too_slow(limits.read_seconds) from None
    except httpcore2.ConnectError as error:
        raise _not_connected(error, failures) from None
    except httpcore2.ConnectTimeout:
        raise failures.unreachable(f"no connection within {limits.connect_seconds:g} seconds") from None
    except httpcore2.NetworkError:
        raise failures.unreachable() from None
    except httpcore2.RemoteProtocolError:
        raise failures.garbled("it is cut off, or no HTTP") from None
    except (httpcore2.LocalProtocolError, UnicodeEncodeError):
        raise failures.unsendable() from None


def _not_connected(error: httpcore2.ConnectError, failures: UpstreamFailures) -> UpstreamError:
    if isinstance(error, UnknownHost):
        return failures.unreachable("its host name has no address (DNS)")
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return failures.certificate(CERTIFICATE_PROBLEMS.get(cause.verify_code, ""))
            case ssl.SSLError():
                return failures.unreachable("it does not speak TLS there, so https:// may be wrong in its address")
            case ConnectionRefusedError():
                return failures.unreachable("nothing listens at its address and port")
    return failures.unreachable()


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, what it wraps, and what led to it."""
    following: BaseException | None = error
    while following is not None:
        yield following
        yield from (each for each in following.args if isinstance(each, Exception))
        following = following.__cause__ or following.__context__


# -- Bodies ----------------------------------------------------------------------------------------------
# The limit counts decompressed bytes, because a small body may expand without end.


class TooLong(Exception):
    """The body is longer than the limit."""


class Undecodable(Exception):
    """The body is not in its declared content encoding; the message says what is wrong."""


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
    """gzip of one or several members, zlib, or deflate without a header, which some servers send."""

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
            raise Undecodable("it is cut off")


# -- Connections -----------------------------------------------------------------------------------------


class ConnectionPools(dict[AllowedAddresses, httpcore2.AsyncConnectionPool]):
    """The connection pools of an event loop, shared by all upstreams: one for each set of allowed addresses, so an
    upstream never reuses a connection that only another one was allowed to make."""

    def __missing__(self, allowed: AllowedAddresses) -> httpcore2.AsyncConnectionPool:
        self[allowed] = made = httpcore2.AsyncConnectionPool(
            ssl_context=_tls(),
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_IDLE,
            keepalive_expiry=IDLE_SECONDS,
            network_backend=CheckedNetwork(allowed),
        )
        return made

    async def aclose(self) -> None:
        for pool in self.values():
            await pool.aclose()


@cache
def _tls() -> ssl.SSLContext:
    """Trusts the certificates of the system or of SSL_CERT_FILE, and verifies host names."""
    return httpcore2.default_ssl_context()


_pools = PerLoop(ConnectionPools, ConnectionPools.aclose)


async def pool(allowed: AllowedAddresses) -> httpcore2.AsyncConnectionPool:
    return (await _pools.get())[allowed]


async def close_connections() -> None:
    """Closes the connections of the running loop."""
    await _pools.close()
