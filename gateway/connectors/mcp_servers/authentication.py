"""Adds credentials to the SDK's requests, as for any other upstream, and renews them once if they are rejected."""

import asyncio

import httpx2

from gateway.connectors.mcp_servers.configuration import HttpServer
from gateway.upstreams.auth.authentication import NO_AUTHENTICATION
from gateway.upstreams.connections import origin
from gateway.upstreams.exchange import Exchanger
from gateway.upstreams.failures import UpstreamFailures
from gateway.upstreams.limits import DEFAULT_LIMITS
from gateway.upstreams.request import Request, Response

REFUSED = (401, 403)


class Authenticated(httpx2.AsyncBaseTransport):
    """Raises UpstreamError if the credentials cannot be obtained. Tokens are not fetched through `inner`, as their
    issuer is another upstream."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, server: HttpServer) -> None:
        self.inner, self._authentication = inner, server.authentication
        self._failures = UpstreamFailures(f"MCP server {server.name}", server.authentication)
        token_origin = origin(server.connection.token_url) if server.connection else ""
        trusted = [token_origin] if server.trusted and token_origin else []
        self._bare = Exchanger(server.name, NO_AUTHENTICATION, DEFAULT_LIMITS, trusted, self._failures)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self.inner.handle_async_request(await self._ready(request))
        if response.status_code not in REFUSED:
            return response
        refused = Response(response.status_code, dict(response.headers), b"")
        if not await self._authentication.renewed(refused, self._send):
            return response
        await response.aclose()
        return await self.inner.handle_async_request(await self._ready(request))

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def _ready(self, request: httpx2.Request) -> httpx2.Request:
        plain = Request(request.method, str(request.url), dict(request.headers))
        ready = await self._authentication.apply(plain, self._send)
        return httpx2.Request(
            ready.method, ready.url, headers=ready.headers, stream=request.stream, extensions=request.extensions
        )

    async def _send(self, request: Request) -> Response:
        """Limits the total time, as a token endpoint could otherwise send byte by byte without end."""
        try:
            async with asyncio.timeout(DEFAULT_LIMITS.total_seconds):
                return await self._bare.send(request, 1)
        except TimeoutError:
            raise self._failures.too_slow(DEFAULT_LIMITS.total_seconds) from None
