"""A name server that changes its mind (DNS rebinding): a good address while it is looked at, this machine's own when it
is connected to. A canary listens there, and nobody may ever come.

The good address is 127.0.0.2, which the operator allows here by name; the canary is at 127.0.0.1, at the same port.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx2
import pytest
from pytest_django.fixtures import Settings

from gateway.connectors.mcp_servers import network
from gateway.connectors.mcp_servers.configuration import HttpServer
from gateway.upstreams.client import Upstream
from gateway.upstreams.errors import AddressRefused
from gateway.upstreams.request import Request
from tests.gateway.upstreams.conftest import Names
from tests.patience import PATIENCE

GOOD, CANARY = "127.0.0.2", "127.0.0.1"
HOST = "api.example"
FLIPS = 20


@dataclass
class Listening:
    """What comes to both addresses. `redirect`: where the good one sends who asks for /redirect."""

    port: int = 0
    served: int = 0
    canary: int = 0
    redirect: str = ""
    peers: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One answer for a connection, so that the next request needs another one."""
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        self.served += 1
        if path == b"/redirect":
            head = f"302 Found\r\nLocation: {self.redirect}"
        else:
            head = "200 OK\r\nContent-Type: application/json"
        writer.write(f"HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        await writer.drain()
        writer.close()

    async def sing(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.canary += 1
        writer.close()


@asynccontextmanager
async def listening(settings: Settings) -> AsyncIterator[Listening]:
    settings.ALLOW_PRIVATE_UPSTREAMS = [f"{GOOD}/32"]
    both = Listening()
    async with await asyncio.start_server(both.serve, GOOD, 0) as good:
        both.port = good.sockets[0].getsockname()[1]
        async with await asyncio.start_server(both.sing, CANARY, both.port):
            yield both


async def fetched(url: str) -> int:
    """The status, or 0 where the address was refused."""
    try:
        return (await Upstream("Acme").fetch(Request("GET", url))).status
    except AddressRefused:
        return 0


async def test_a_name_that_flips_is_connected_to_at_the_address_that_was_looked_at(settings: Settings, names: Names):
    async with listening(settings) as both:
        names[HOST] = [[GOOD], [CANARY]] * FLIPS
        statuses = [await fetched(f"{both.url}/{number}") for number in range(2 * FLIPS)]
    assert statuses == [200, 0] * FLIPS, "one question for each connection, and its answer obeyed"
    assert (both.served, both.canary) == (FLIPS, 0)


async def test_a_name_that_flips_between_callers_leads_none_of_them_inside(settings: Settings, names: Names):
    async with listening(settings) as both:
        names[HOST] = [[GOOD], [CANARY]] * FLIPS
        statuses = await asyncio.gather(*(fetched(f"{both.url}/{number}") for number in range(2 * FLIPS)))
    assert sorted(statuses) == [0] * FLIPS + [200] * FLIPS
    assert both.canary == 0


@pytest.mark.parametrize(
    "answer",
    [
        [GOOD, CANARY],
        [CANARY, GOOD],
        [GOOD] * 8 + [CANARY],
        [GOOD, "::1"],
        [GOOD, "::ffff:127.0.0.1"],
        ["::ffff:127.0.0.1"],
        [GOOD, "169.254.169.254"],
        [GOOD, "0.0.0.0"],
    ],
    ids=" ".join,
)
async def test_one_bad_address_among_good_ones_is_enough(settings: Settings, names: Names, answer: list[str]):
    async with listening(settings) as both:
        names[HOST] = [answer]
        assert await fetched(f"{both.url}/ok") == 0
    assert (both.served, both.canary) == (0, 0)


@pytest.mark.parametrize("location", ["/next", "http://api.example:{port}/next", "//other.example:{port}/next"])
async def test_every_hop_of_a_redirect_is_looked_at(settings: Settings, names: Names, location: str):
    """The first hop is good, and the name, or the next one, means this machine from then on."""
    async with listening(settings) as both:
        both.redirect = location.format(port=both.port)
        names[HOST], names["other.example"] = [[GOOD], [CANARY]], [[CANARY]]
        assert await fetched(f"{both.url}/redirect") == 0
        assert (both.served, both.canary) == (1, 0)
        names[HOST], names["other.example"] = [[GOOD]], [[GOOD], [CANARY]]
        assert await fetched(f"{both.url}/redirect") == 200
    assert (both.served, both.canary) == (3, 0)


async def test_a_redirect_to_this_machine_by_number_is_not_followed(settings: Settings, names: Names):
    async with listening(settings) as both:
        names[HOST] = [[GOOD]]
        for host in (CANARY, "localhost", "2130706433", "[::ffff:127.0.0.1]"):
            both.redirect = f"http://{host}:{both.port}/"
            assert await fetched(f"{both.url}/redirect") == 0, host
    assert both.canary == 0


async def test_connections_to_other_mcp_servers_are_looked_at_alike(settings: Settings, names: Names):
    async with listening(settings) as both:
        server = HttpServer("far", f"{both.url}/mcp", headers=())
        names[HOST] = [[GOOD], [CANARY]] * FLIPS
        statuses = []
        async with httpx2.AsyncClient(transport=network.transport(server), trust_env=False, timeout=PATIENCE) as client:
            for number in range(2 * FLIPS):
                try:
                    statuses.append((await client.get(f"{both.url}/{number}")).status_code)
                except AddressRefused:
                    statuses.append(0)
    assert statuses == [200, 0] * FLIPS
    assert both.canary == 0
