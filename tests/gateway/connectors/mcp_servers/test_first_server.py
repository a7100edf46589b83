"""Tool lists are read from the first server on."""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from context_protection.configuration.revisions import revisions
from gateway.connectors.mcp_servers import first_server, registry
from gateway.connectors.mcp_servers.first_server import FirstServer
from gateway.connectors.mcp_servers.models import McpServer
from gateway.connectors.mcp_servers.refresh import Refreshing
from tests.patience import PATIENCE


@pytest.fixture
def refreshed(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when the tool lists begin to be read."""
    event = asyncio.Event()

    async def start(_: Refreshing) -> None:
        event.set()

    monkeypatch.setattr(Refreshing, "start", start)
    return event


async def test_nothing_is_read_until_there_is_a_server(
    db: None, settings: Any, refreshed: asyncio.Event, monkeypatch: pytest.MonkeyPatch
):
    loop, looks, servers = asyncio.get_running_loop(), asyncio.Semaphore(0), registry.servers

    def counted() -> Iterable[Any]:
        loop.call_soon_threadsafe(looks.release)
        return servers()

    settings.MCP_SERVERS_FILE = ""
    monkeypatch.setattr(registry, "servers", counted)
    monkeypatch.setattr(first_server, "LOOK_SECONDS", 0.001)
    first = FirstServer()
    await first.start()
    for _ in range(3):
        await asyncio.wait_for(looks.acquire(), PATIENCE)
    assert not refreshed.is_set()
    await McpServer.objects.acreate(name="added", url="http://127.0.0.1:9/mcp")
    revisions.bump()
    await asyncio.wait_for(refreshed.wait(), PATIENCE)
    await first.stop()


async def test_an_odd_file_is_left_to_what_reads_it(db: None, settings: Any, tmp_path: Path, refreshed: asyncio.Event):
    path = tmp_path / "odd.json"
    path.write_text("{")
    settings.MCP_SERVERS_FILE = str(path)
    first = FirstServer()
    await first.start()
    await asyncio.wait_for(refreshed.wait(), PATIENCE)
    await first.stop()
