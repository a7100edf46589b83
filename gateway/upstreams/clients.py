"""The connection pools of an event loop, shared by all upstreams. There is one pool for each set of allowed addresses,
so an upstream never reuses a connection that only another one was allowed to make.

httpcore2's pool is used without a client: Sluice itself follows redirects, and limits and decodes bodies. It stores no
cookies and reads no proxies from the environment.
"""

import ssl
from functools import cache

import httpcore2

from gateway.upstreams.addresses import Allowed
from gateway.upstreams.loops import PerLoop
from gateway.upstreams.network import CheckedNetwork

MOST_CONNECTIONS = 100
MOST_IDLE = 20
IDLE_SECONDS = 30.0


class Pools(dict[Allowed, httpcore2.AsyncConnectionPool]):
    def __missing__(self, allowed: Allowed) -> httpcore2.AsyncConnectionPool:
        self[allowed] = made = httpcore2.AsyncConnectionPool(
            ssl_context=_tls(),
            max_connections=MOST_CONNECTIONS,
            max_keepalive_connections=MOST_IDLE,
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


_pools = PerLoop(Pools, Pools.aclose)


async def pool(allowed: Allowed) -> httpcore2.AsyncConnectionPool:
    return (await _pools.get())[allowed]


async def close() -> None:
    """Closes the connections of the running loop."""
    await _pools.close()
