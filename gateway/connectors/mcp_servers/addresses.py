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
from gateway.connectors.mcp_servers.configuration import Address
from gateway.connectors.mcp_servers.wire import (
    FORGOTTEN,
    LARGEST,
    NO_TOKEN,
    NOT_CONNECTED_TO,
    NOT_LET_IN,
    TOO_LARGE,
)
from gateway.upstreams.errors import AddressRefused, UpstreamError, UpstreamTooSlow, UpstreamUnavailable

Transports = Callable[[Address], httpx2.AsyncBaseTransport]
TIMEOUT = httpx2.Timeout(30.0, connect=5.0, read=300.0)  # the policy sets the deadline of each call
NO_ID = {"jsonrpc": "2.0", "id": None}

logger = logging.getLogger(__name__)


@asynccontextmanager
async def connected(server: Address, transports: Transports) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a connection, as the SDK's clients take them. `transports` makes its HTTP transport."""
    async with (
        httpx2.AsyncClient(
            transport=Contained(Authenticated(transports(server), server), server),
            headers=dict(server.headers),
            timeout=TIMEOUT,
            trust_env=False,
        ) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=LARGEST) as streams,
    ):
        yield streams


class Contained(httpx2.AsyncBaseTransport):
    """Turns a request's failure into its response: an exception would end the connection, and all other calls on it.
    No body but a stream of events is longer than LARGEST."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, server: Address) -> None:
        self.inner, self._server = inner, server

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self.inner.handle_async_request(request)
        except httpx2.TransportError:
            return _error_response(CONNECTION_CLOSED, "unreachable")
        except AddressRefused:
            return _error_response(NOT_CONNECTED_TO, "address refused")
        except UpstreamError as error:  # the token endpoint failed, or a credential is missing
            logger.warning("MCP server not asked", extra={"server": self._server.name, "error": error.message})
            is_away = isinstance(error, (UpstreamUnavailable, UpstreamTooSlow))
            return _error_response(NO_TOKEN if is_away else NOT_LET_IN, "credentials")
        if response.status_code in REFUSED:
            await response.aclose()
            return _error_response(NOT_LET_IN, "credentials")
        if int(response.headers.get("content-length", "0")) > LARGEST:
            await response.aclose()
            return _error_response(TOO_LARGE, "too large")
        if response.status_code == 404 and "mcp-session-id" in request.headers:
            await response.aclose()
            return _error_response(FORGOTTEN, "session forgotten")
        is_events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Bounded(response.stream, math.inf if is_events else LARGEST)  # the SDK limits each event
        return response

    async def aclose(self) -> None:
        await self.inner.aclose()


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends where the connection breaks or the limit is reached: a body cut short is not a valid message."""

    def __init__(self, inner: Any, most: float) -> None:
        self.inner, self.most = inner, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self.inner:
                size += len(chunk)
                if size > self.most:
                    return
                yield chunk
        except httpx2.TransportError:
            return

    async def aclose(self) -> None:
        await self.inner.aclose()


def _error_response(code: int, message: str) -> httpx2.Response:
    body = orjson.dumps({**NO_ID, "error": {"code": code, "message": message}})
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=body)
