"""Connections to servers at addresses: those of the admin lead to where Sluice connects to, and nowhere else."""

import ssl
from dataclasses import replace
from functools import cache

import httpcore2
import httpx2

from gateway.connectors.mcp_servers.configuration import Address
from gateway.upstreams.addresses import Allowed, allowed
from gateway.upstreams.network import CheckedNetwork


def transport(server: Address) -> httpx2.AsyncBaseTransport:
    """What opens a server's sockets. It raises AddressRefused."""
    return _Checked(replace(allowed(), private=True) if server.trusted else allowed())


class _Checked(httpx2.AsyncHTTPTransport):
    """httpx2's own, with a pool of connections to addresses that have been looked at."""

    def __init__(self, allowed: Allowed) -> None:
        super().__init__(verify=_tls())
        self._pool = httpcore2.AsyncConnectionPool(ssl_context=_tls(), network_backend=CheckedNetwork(allowed))


@cache
def _tls() -> ssl.SSLContext:
    return httpcore2.default_ssl_context()
