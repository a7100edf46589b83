"""Where servers of the admin may be: a canary on this machine counts who comes."""

import gzip
import json
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest
from asgiref.sync import async_to_sync

from context_protection.configuration.revisions import revisions
from gateway.connectors.mcp_servers.configuration import HttpServer
from gateway.connectors.mcp_servers.models import McpServer, ToolList
from gateway.connectors.mcp_servers.refresh import Refreshing
from gateway.connectors.mcp_servers.sessions import ServerSessions
from gateway.connectors.mcp_servers.streamable_http import ErrorResponses
from gateway.connectors.mcp_servers.wire import LARGEST_MESSAGE
from gateway.upstreams.errors import AddressRefused, UpstreamUnavailable
from tests.gateway.connectors.mcp_servers.conftest import Configure
from tests.simulators.bad_upstream import BadUpstream, bad_upstream
from tests.simulators.mcp_server import mcp_server

MEGABYTE = bytes(2**20)


@pytest.fixture
def canary() -> Iterator[BadUpstream]:
    with bad_upstream() as upstream:
        yield upstream


async def refusal(server: HttpServer) -> AddressRefused:
    sessions = ServerSessions()
    with pytest.raises(AddressRefused) as refused:
        await sessions.call(server, "small", {})
    await sessions.close()
    return refused.value


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"])
async def test_no_spelling_of_a_private_address_is_connected_to(canary: BadUpstream, host: str):
    error = await refusal(HttpServer("web", f"http://{host}:{canary.port}/mcp"))
    assert canary.connections == 0
    assert "ALLOW_PRIVATE_UPSTREAMS" in error.suggestion
    assert "127.0.0.1" not in json.dumps(error.document())


async def test_a_name_that_leads_inside_is_not_connected_to(canary: BadUpstream, monkeypatch: pytest.MonkeyPatch):
    real = socket.getaddrinfo

    def lookup(host: str, port: int, *rest: Any, **options: Any) -> Any:
        return real("127.0.0.1" if host == "mcp.example" else host, port, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    await refusal(HttpServer("web", f"http://mcp.example:{canary.port}/mcp"))
    assert canary.connections == 0


async def test_no_redirect_is_followed(canary: BadUpstream):
    with bad_upstream() as outside:
        outside.location = f"{canary.url}/mcp"
        sessions = ServerSessions()
        with pytest.raises(UpstreamUnavailable):
            await sessions.call(HttpServer("web", f"{outside.url}/redirect/307", trusted=True), "small", {})
        await sessions.close()
        assert outside.connections > 0
    assert canary.connections == 0


async def test_ops_can_allow_private_addresses_and_the_deployer_has_with_the_file(settings: Any):
    with mcp_server() as url:
        sessions = ServerSessions()
        assert await sessions.tools(HttpServer("file", url, trusted=True))
        settings.ALLOW_PRIVATE_UPSTREAMS = True
        assert await sessions.tools(HttpServer("admin", url))
        await sessions.close()


@pytest.mark.parametrize("trusted", [False, True])
async def test_the_metadata_of_a_cloud_is_for_nobody(settings: Any, trusted: bool):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    await refusal(HttpServer("web", "http://169.254.169.254/mcp", trusted=trusted))


@pytest.mark.django_db
def test_ops_read_in_the_log_why_a_server_has_no_tools(
    canary: BadUpstream, configure: Configure, caplog: pytest.LogCaptureFixture
):
    McpServer.objects.create(name="inside", url=f"{canary.url}/mcp")
    revisions.bump()
    sessions = ServerSessions()
    async_to_sync(Refreshing(sessions).refresh)()
    async_to_sync(sessions.close)()
    said = [record.error for record in caplog.records if record.message == "MCP server's tools not read"]
    assert said == [
        "The address of MCP server inside is a private or reserved address, which Sluice does not connect to."
    ]
    assert canary.connections == 0
    kept = ToolList.objects.get(server="inside")
    assert (kept.tools, [kept.failure]) == ([], said)


class Endless(httpx2.AsyncBaseTransport, httpx2.AsyncByteStream):
    """Answers with a body without end or length. `sent`: its bytes so far."""

    def __init__(self, kind: str) -> None:
        self.kind, self.sent = kind, 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": self.kind}, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.sent < 2 * LARGEST_MESSAGE:
            self.sent += len(MEGABYTE)
            yield MEGABYTE


@pytest.mark.parametrize(
    ("kind", "most"), [("application/json", LARGEST_MESSAGE), ("text/event-stream", 2 * LARGEST_MESSAGE)]
)
async def test_a_body_without_a_length_ends_at_the_limit(kind: str, most: int):
    endless = Endless(kind)
    transport = ErrorResponses(endless, HttpServer("web", "http://web.example/mcp"))
    response = await transport.handle_async_request(httpx2.Request("POST", "http://web.example/mcp"))
    read = 0
    async for chunk in response.stream:  # type: ignore[union-attr]
        read += len(chunk)
    assert read == most
    assert endless.sent <= LARGEST_MESSAGE + len(MEGABYTE) or kind == "text/event-stream"


class Compressed(httpx2.AsyncBaseTransport):
    """Answers every request with these bytes as the body of gzip."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": "application/json", "content-encoding": "gzip"}
        return httpx2.Response(200, headers=headers, stream=httpx2.ByteStream(self.body))


async def body_through(inner: httpx2.AsyncBaseTransport) -> bytes:
    transport = ErrorResponses(inner, HttpServer("web", "http://web.example/mcp"))
    async with httpx2.AsyncClient(transport=transport) as client:
        return (await client.post("http://web.example/mcp")).content


async def test_a_compressed_body_is_read():
    assert await body_through(Compressed(gzip.compress(b'{"a": 1}'))) == b'{"a": 1}'


async def test_a_body_that_is_small_only_while_compressed_ends_at_the_limit():
    bomb = gzip.compress(b"x" * (2 * LARGEST_MESSAGE), compresslevel=1)
    assert len(await body_through(Compressed(bomb))) <= LARGEST_MESSAGE


async def test_a_body_that_cannot_be_decompressed_ends_there():
    assert await body_through(Compressed(b"no gzip")) == b""


async def test_half_a_character_costs_no_answer_over_http():
    assert await body_through(Compressed(gzip.compress(rb'{"text": "cut \ud83d"}'))) == rb'{"text": "cut \ufffd"}'
