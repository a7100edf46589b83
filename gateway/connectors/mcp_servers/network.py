# ruff: noqa: ASYNC109 (`timeout` is httpcore2's interface)
"""HTTP transports for servers at addresses. Only the deployer's servers may be in a private network."""

import asyncio
from collections.abc import Iterable

import httpcore2
import httpx2

from gateway.connectors.mcp_servers.configuration import HttpServer
from gateway.upstreams.addresses import Address, AllowedAddresses, allowed, with_private
from gateway.upstreams.network import UnknownHost, checked_addresses, first_connected, tls_context

CONNECT_SECONDS = 5.0  # if the client sets no timeout


def transport(server: HttpServer) -> httpx2.AsyncBaseTransport:
    """The transport for a server. Its requests raise AddressRefused for an address that is not allowed."""
    return _Checked(with_private(allowed()) if server.trusted else allowed())


class _Checked(httpx2.AsyncHTTPTransport):
    """httpx2's transport, with a pool that connects to checked addresses only."""

    def __init__(self, allowed: AllowedAddresses) -> None:
        super().__init__(verify=tls_context())
        self._pool = httpcore2.AsyncConnectionPool(ssl_context=tls_context(), network_backend=CheckedNetwork(allowed))


class CheckedNetwork(httpcore2.AsyncNetworkBackend):
    def __init__(self, allowed: AllowedAddresses) -> None:
        self._allowed = allowed
        self._plain = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Raises AddressRefused, httpcore2.ConnectError, httpcore2.ConnectTimeout."""
        seconds = CONNECT_SECONDS if timeout is None else timeout

        async def connect(address: Address, share: float) -> httpcore2.AsyncNetworkStream:
            return await self._plain.connect_tcp(str(address), port, share)

        try:
            async with asyncio.timeout(seconds):
                addresses = await checked_addresses(host, port, self._allowed)
                failures = (httpcore2.ConnectError, httpcore2.ConnectTimeout)
                return await first_connected(addresses, connect, seconds, failures)
        except UnknownHost as error:
            raise httpcore2.ConnectError(str(error)) from None
        except TimeoutError:
            raise httpcore2.ConnectTimeout from None
