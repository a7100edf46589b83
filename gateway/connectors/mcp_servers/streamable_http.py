"""A server behind Streamable HTTP, through the SDK's client. A failed exchange does not affect any other."""

import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import orjson
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CONNECTION_CLOSED

from gateway.connectors.mcp_servers.authentication import REFUSED, Authenticated
from gateway.connectors.mcp_servers.configuration import HttpServer
from gateway.connectors.mcp_servers.wire import (
    ADDRESS_REFUSED,
    BUSY,
    CREDENTIALS_REJECTED,
    LARGEST_MESSAGE,
    SESSION_UNKNOWN,
    TOKEN_UNAVAILABLE,
    TOO_LARGE,
    LoneSurrogates,
)
from gateway.upstreams.errors import AddressRefused, UpstreamError, UpstreamTooSlow, UpstreamUnavailable
from gateway.upstreams.quota import UNKNOWN_WAIT, capacity, seconds_to_wait, whole_seconds

Transports = Callable[[HttpServer], httpx2.AsyncBaseTransport]
TIMEOUT = httpx2.Timeout(30.0, connect=5.0, read=300.0)  # the policy sets the deadline of each call
TOO_MANY_REQUESTS = 429
OF_COMPRESSED_BODY = frozenset({b"content-encoding", b"content-length"})  # headers that the decompressed body lacks
NO_ID = {"jsonrpc": "2.0", "id": None}

logger = logging.getLogger(__name__)


@asynccontextmanager
async def connected(server: HttpServer, transports: Transports) -> AsyncIterator[tuple[Any, Any]]:
    """Yields the streams of a connection for the SDK's client. `transports` creates its HTTP transport."""
    async with (
        httpx2.AsyncClient(
            transport=ErrorResponses(Authenticated(transports(server), server), server),
            headers=dict(server.headers),
            timeout=TIMEOUT,
            trust_env=False,
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LARGEST_MESSAGE) as streams,
    ):
        yield streams


class ErrorResponses(httpx2.AsyncBaseTransport):
    """Returns an error response if a request fails, as an exception would end the connection and all other calls on it.
    Bodies other than event streams are limited to LARGEST_MESSAGE."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, server: HttpServer) -> None:
        self.inner, self._server = inner, server

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self.inner.handle_async_request(request)
        except httpx2.TransportError:
            return _error_response(CONNECTION_CLOSED, "unreachable")
        except AddressRefused:
            return _error_response(ADDRESS_REFUSED, "address refused")
        except UpstreamError as error:  # the token endpoint failed, or a credential is missing
            logger.warning("MCP server not called", extra={"server": self._server.name, "error": error.message})
            is_temporary = isinstance(error, (UpstreamUnavailable, UpstreamTooSlow))
            return _error_response(TOKEN_UNAVAILABLE if is_temporary else CREDENTIALS_REJECTED, "credentials")
        if response.status_code in REFUSED:
            await response.aclose()
            return _error_response(CREDENTIALS_REJECTED, "credentials")
        if response.status_code == TOO_MANY_REQUESTS:
            await response.aclose()
            return _busy_response(response.headers)
        if int(response.headers.get("content-length", "0")) > LARGEST_MESSAGE:
            await response.aclose()
            return _error_response(TOO_LARGE, "too large")
        if "mcp-session-id" in request.headers and response.status_code in (400, 404):
            return await _without_session(_bounded(response))
        return _bounded(response)

    async def aclose(self) -> None:
        await self.inner.aclose()


async def _without_session(response: httpx2.Response) -> httpx2.Response:
    """The error for a session that the server no longer knows. MCP specifies 404 for it. Servers written after the
    example of the TypeScript SDK answer 400, with an error that names the session and no request."""
    if response.status_code != 404:
        error = _error_without_request(await response.aread())
        if "session" not in error.lower():
            return response
    await response.aclose()
    return _error_response(SESSION_UNKNOWN, "session forgotten")


def _error_without_request(body: bytes) -> str:
    """The message of a JSON-RPC error that answers no certain request; empty for any other body."""
    try:
        document = orjson.loads(body)
    except ValueError:
        return ""
    error = document.get("error") if isinstance(document, dict) and document.get("id") is None else None
    return str(error.get("message", "")) if isinstance(error, dict) else ""


def _bounded(response: httpx2.Response) -> httpx2.Response:
    """The response with a decompressed and limited body."""
    is_events = response.headers.get("content-type", "").startswith("text/event-stream")
    most = math.inf if is_events else LARGEST_MESSAGE  # the SDK limits each event
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in OF_COMPRESSED_BODY]
    body = _BoundedBody(response, most)
    return httpx2.Response(response.status_code, headers=headers, stream=body, extensions=response.extensions)


class _BoundedBody(httpx2.AsyncByteStream):
    """A decompressed body that ends where the connection breaks, where it cannot be decompressed, or where the limit
    is reached. A truncated body is not a valid message. Lone surrogates are replaced."""

    def __init__(self, response: httpx2.Response, most: float) -> None:
        self.response, self.most = response, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, surrogates = 0, LoneSurrogates()
        try:
            async for chunk in self.response.aiter_bytes():
                size += len(chunk)
                if size > self.most:
                    return
                yield surrogates.replaced(chunk)
            yield surrogates.rest
        except (httpx2.TransportError, httpx2.DecodingError):
            return

    async def aclose(self) -> None:
        await self.response.aclose()


def _busy_response(headers: httpx2.Headers) -> httpx2.Response:
    seconds = seconds_to_wait(headers)
    wait = whole_seconds(UNKNOWN_WAIT if seconds is None else seconds)
    return _error_response(BUSY, "busy", {"retryAfter": wait, "capacity": capacity(headers)})


def _error_response(code: int, message: str, data: Any = None) -> httpx2.Response:
    body = orjson.dumps({**NO_ID, "error": {"code": code, "message": message, "data": data}})
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=body)
