"""Somebody else's MCP server as an upstream, as a child and over HTTP, and its tools in the catalogue."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from context_protection.configuration.revisions import revisions
from gateway.catalog.catalog import catalogue
from gateway.connectors.mcp_servers import registry
from gateway.connectors.mcp_servers.refresh import refreshing
from gateway.connectors.mcp_servers.sessions import sessions

ROOT = Path(__file__).resolve().parents[4]
CHILD = {"command": sys.executable, "args": ["-m", "tests.simulators.mcp_server"], "cwd": str(ROOT)}
Configure = Callable[..., None]


@pytest.fixture(scope="module")
def children() -> Iterator[None]:
    """A child is started once for a file of tests."""
    yield
    async_to_sync(sessions.close)()


@pytest.fixture
def configure(db: None, settings: Any, tmp_path: Path, children: None) -> Iterator[Configure]:
    """Writes the servers' file, asks the servers for their tools, and offers these."""
    offered: list[str] = []

    def write(**servers: Any) -> None:
        path = tmp_path / "servers.json"
        entries = {name: {"allow": ["*"], **entry} for name, entry in servers.items()}
        path.write_text(json.dumps({"mcpServers": entries}))
        settings.MCP_SERVERS_FILE = str(path)
        async_to_sync(refreshing.refresh)()
        revisions.bump()  # what a transaction does when it is committed
        offer()

    def offer() -> None:
        for name in offered:
            catalogue.withdraw(name)
        operations = registry.operations()
        catalogue.offer(operations)
        offered[:] = [operation.name for operation in operations]

    yield write
    for name in offered:
        catalogue.withdraw(name)


@pytest.fixture
def sim(configure: Configure) -> None:
    configure(sim=CHILD)
