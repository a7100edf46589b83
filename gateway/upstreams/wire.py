"""One exchange over the wire: sends a request and reads the complete answer, or raises an error. It knows no redirects,
credentials or retries."""

import ssl
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass

import httpcore2

from gateway.upstreams import bodies, clients
from gateway.upstreams.addresses import DEFAULT_PORTS, Allowed, ascii_host, split
from gateway.upstreams.errors import AddressRefused
from gateway.upstreams.exchanges import Request, Response
from gateway.upstreams.failures import Failures
from gateway.upstreams.network import Dropped
from gateway.version import VERSION

Headers = list[tuple[bytes, bytes]]

DEFAULT_HEADERS = {"accept": "application/json, */*;q=0.5", "user-agent": f"Sluice/{VERSION}"}
OURS = frozenset({"host", "accept-encoding", "content-length", "transfer-encoding", "connection", "te", "trailer"})
HAVE_A_BODY = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one call. `total_seconds`: all attempts together, with their pauses. `most_bytes`: of a decoded body.
    `concurrent`: simultaneous exchanges of one upstream in an event loop, so that a slow upstream does not use up all
    connections."""

    connect_seconds: float = 5.0
    read_seconds: float = 30.0
    total_seconds: float = 55.0
    most_bytes: int = 16 * 2**20
    attempts: int = 3
    concurrent: int = 25


LIMITS = Limits()


async def send(request: Request, *, allowed: Allowed, limits: Limits, failures: Failures) -> Response:
    """Raises UpstreamError; Dropped if a reused connection was closed before the first byte of this answer."""
    with _translated_errors(failures, limits):
        pool = await clients.pool(allowed)
        answer = await pool.handle_async_request(_outgoing(request, limits))
        try:
            headers = _headers(answer.headers)
            most = limits.most_bytes
            if request.method == "HEAD":
                return Response(answer.status, headers, b"")
            if _declared(headers) > most:
                raise bodies.TooLong
            async with aclosing(answer.aiter_stream()) as chunks:
                body = await bodies.read(chunks, headers.get("content-encoding", ""), most)
            return Response(answer.status, headers, body)
        finally:
            await answer.aclose()


def _outgoing(request: Request, limits: Limits) -> httpcore2.Request:
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
    headers = DEFAULT_HEADERS | {name: value for name, value in named.items() if name not in OURS}
    shown = f"[{host}]" if ":" in host else host
    headers["host"] = shown if port is None else f"{shown}:{port}"
    headers["accept-encoding"] = bodies.ACCEPTED
    if request.body or request.method in HAVE_A_BODY:
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
def _translated_errors(failures: Failures, limits: Limits) -> Iterator[None]:
    """Turns exceptions of the transport into errors for callers. The order matters: the first match wins."""
    try:
        yield
    except Dropped:
        raise
    except AddressRefused:
        raise failures.address() from None
    except bodies.TooLong:
        raise failures.too_large(limits.most_bytes) from None
    except bodies.Undecodable as error:
        raise failures.garbled(str(error)) from None
    except httpcore2.PoolTimeout:
        raise failures.crowded() from None
    except (httpcore2.ReadTimeout, httpcore2.WriteTimeout):
        raise failures.too_slow(limits.read_seconds) from None
    except httpcore2.ConnectError as error:
        distrusted = any(isinstance(each, ssl.SSLCertVerificationError) for each in error.args)
        raise (failures.certificate() if distrusted else failures.unreachable()) from None
    except (httpcore2.NetworkError, httpcore2.ConnectTimeout):
        raise failures.unreachable() from None
    except httpcore2.RemoteProtocolError:
        raise failures.garbled("it is cut off, or no HTTP") from None
    except (httpcore2.LocalProtocolError, UnicodeEncodeError):
        raise failures.unsendable() from None
