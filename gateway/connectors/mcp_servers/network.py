"""HTTP transports for servers at addresses. Only the deployer's servers may be in a private network."""

import ssl
from dataclasses import replace
from functools import cache

import httpcore2
import httpx2

from gateway.connectors.mcp_servers.configuration import HttpServer
from gateway.upstreams.addresses import AllowedAddresses, allowed
from gateway.upstreams.network import CheckedNetwork


def transport(server: HttpServer) -> httpx2.AsyncBaseTransport:
    """The transport for a server. Its requests raise AddressRefused for an address that is not allowed."""
    return _Checked(replace(allowed(), private=True) if server.trusted else allowed())


class _Checked(httpx2.AsyncHTTPTransport):
    """httpx2's transport, with a pool that connects to checked addresses only."""

    def __init__(self, allowed: AllowedAddresses) -> None:
        super().__init__(verify=_tls())
        self._pool = httpcore2.AsyncConnectionPool(ssl_context=_tls(), network_backend=CheckedNetwork(allowed))


@cache
def _tls() -> ssl.SSLContext:
    return httpcore2.default_ssl_context()
