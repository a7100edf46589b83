# ruff: noqa: ASYNC109 (`timeout` is aiohttp's interface)
"""The open connections to upstreams. aiohttp's connector holds them, and its protocol parses HTTP. Sluice decides where
a connection goes, how many there are, and whether one can be reused.

aiohttp's session is not used: Sluice itself follows redirects, limits and decodes bodies, and stores no cookies. Proxy
settings in the environment are ignored.
"""

import asyncio
import select
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple, cast

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection

from gateway.upstreams.addresses import AllowedAddresses
from gateway.upstreams.network import UnknownHost, connected_socket, tls_context
from gateway.upstreams.per_loop import PerLoop

MAX_CONNECTIONS = 100  # connections of a pool in use at once
MAX_IDLE = 20
IDLE_SECONDS = 30.0
SHUTDOWN_SECONDS = 1.0  # how long closing an idle connection may wait for TLS to shut down


class Crowded(Exception):
    """All connections are in use."""


class NotConnected(Exception):
    """No connection was made. `why`: UnknownHost, TimeoutError, ssl.SSLError or another OSError."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


@dataclass(frozen=True, slots=True)
class Destination:
    """The other end of a connection. Equal destinations share connections. It is passed to aiohttp's connector in place
    of a request, which works because the connector uses only these attributes."""

    host: str
    port: int
    is_ssl: bool

    proxy: ClassVar[None] = None

    @property
    def connection_key(self) -> "Destination":
        return self

    @property
    def tls(self) -> dict[str, Any]:
        """The TLS options of asyncio's `create_connection`."""
        if not self.is_ssl:
            return {}
        name = self.host.rstrip(".")  # names in certificates have no trailing dot
        return {"ssl": tls_context(), "server_hostname": name, "ssl_shutdown_timeout": SHUTDOWN_SECONDS}


class OpenConnection(NamedTuple):
    """A connection in use, to be given back or aborted. `is_reused`: it has carried an earlier exchange."""

    connection: Connection
    protocol: ResponseHandler
    is_reused: bool


class ConnectionPool(aiohttp.BaseConnector):
    """One event loop's connections to `allowed` addresses."""

    def __init__(self, allowed: AllowedAddresses) -> None:
        super().__init__(limit=0, keepalive_timeout=IDLE_SECONDS)
        self._allowed = allowed
        self._places = asyncio.Semaphore(MAX_CONNECTIONS)
        self._idle: dict[ResponseHandler, None] = {}  # longest idle first; some may be closed

    async def take(self, destination: Destination, seconds: float) -> OpenConnection:
        """An open connection. Waiting for a free place, connecting and the TLS handshake may take `seconds` each.
        Raises Crowded, AddressRefused, NotConnected."""
        await self._enter(seconds)
        try:
            return await self._open(destination, seconds)
        except BaseException:
            self._places.release()
            raise

    def give_back(self, opened: OpenConnection) -> None:
        """Keeps the connection for the next request, if the answer was read to its end and allows that."""
        if opened.protocol.should_close:
            self.abort(opened)
            return
        self._places.release()
        opened.connection.release()
        self._idle[opened.protocol] = None
        while len(self._idle) > MAX_IDLE:
            longest_idle = next(iter(self._idle))
            del self._idle[longest_idle]
            longest_idle.close()

    def abort(self, opened: OpenConnection) -> None:
        """Closes the connection at once, and discards unsent data."""
        self._places.release()
        _abort(opened.connection)

    async def aclose(self) -> None:
        await self.close(abort_ssl=True)

    async def _enter(self, seconds: float) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise Crowded from None

    async def _open(self, destination: Destination, seconds: float) -> OpenConnection:
        while True:
            request, limits = cast("aiohttp.ClientRequest", destination), _limits(seconds)
            connection = await self.connect(request, [], limits)
            protocol = connection.protocol
            assert protocol is not None
            if protocol not in self._idle:
                return OpenConnection(connection, protocol, is_reused=False)
            del self._idle[protocol]
            if _is_silent(protocol):
                return OpenConnection(connection, protocol, is_reused=True)
            _abort(connection)

    async def _create_connection(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> ResponseHandler:
        destination, seconds = cast(Destination, req), timeout.sock_connect or 0.0
        try:
            connected = await connected_socket(destination.host, destination.port, self._allowed, seconds)
            async with asyncio.timeout(seconds):
                _, protocol = await self._loop.create_connection(self._factory, sock=connected, **destination.tls)
        except (UnknownHost, OSError) as error:
            raise NotConnected(error) from error
        return protocol


@cache
def _limits(seconds: float) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(sock_connect=seconds)


def _is_silent(protocol: ResponseHandler) -> bool:
    """Whether an idle connection can be used: nothing has been received since its last answer, not even the end of the
    stream. This keeps a request from being sent over a connection already known to be closed, and unsolicited data from
    being read as the request's response."""
    transport = protocol.transport
    if transport is None or transport.is_closing() or protocol.should_close:
        return False
    poll = select.poll()
    poll.register(transport.get_extra_info("socket"), select.POLLIN)
    return not poll.poll(0)


def _abort(connection: Connection) -> None:
    if connection.protocol is not None:
        connection.protocol.abort()
    connection.close()


class ConnectionPools(dict[AllowedAddresses, ConnectionPool]):
    """The connection pools of an event loop, shared by all upstreams: one for each set of allowed addresses, so an
    upstream never reuses a connection to an address that it may not call itself."""

    def __missing__(self, allowed: AllowedAddresses) -> ConnectionPool:
        self[allowed] = made = ConnectionPool(allowed)
        return made

    async def aclose(self) -> None:
        for pool in self.values():
            await pool.aclose()


_pools = PerLoop(ConnectionPools, ConnectionPools.aclose)


async def pool(allowed: AllowedAddresses) -> ConnectionPool:
    return (await _pools.get())[allowed]


async def close_connections() -> None:
    """Closes the connections of the running loop."""
    await _pools.close()
