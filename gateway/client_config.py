"""Client configuration ready to be pasted, for the message of the first start and for the home page."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from context_protection.core.budget import dumps


@dataclass(frozen=True, slots=True)
class Way:
    slug: str
    title: str
    where: str  # a sentence on what to do with the snippet
    snippet: str


@dataclass(frozen=True, slots=True)
class Server:
    """The server as clients reach it. `environment` holds the variables that `manage.py mcp` needs in addition to the
    key."""

    base: str
    key: str = "YOUR_KEY"
    python: str = "/path/to/sluice/.venv/bin/python"
    manage: str = "/path/to/sluice/manage.py"
    environment: Mapping[str, str] = field(default_factory=dict)


def ways(server: Server) -> list[Way]:
    bearer = {"Authorization": f"Bearer {server.key}"}
    websocket = {"type": "ws", "url": f"{server.base.replace('http', 'ws', 1)}/mcp/ws", "headers": bearer}
    http = {"type": "http", "url": f"{server.base}/mcp", "headers": bearer}
    stdio = {
        "command": server.python,
        "args": [server.manage, "mcp"],
        "env": {**server.environment, "SLUICE_API_KEY": server.key},
    }
    terminal = "Paste it into a terminal."
    return [
        Way("websocket", "Claude Code, WebSocket", terminal, f"claude mcp add-json sluice '{_line(websocket)}'"),
        Way("http", "Claude Code, HTTP", terminal, f"claude mcp add-json sluice '{_line(http)}'"),
        Way(
            "stdio",
            "Claude Desktop, stdio",
            "Put it into claude_desktop_config.json on the machine that has Sluice's files, with their real path.",
            json.dumps({"mcpServers": {"sluice": stdio}}, indent=2),
        ),
        Way(
            "curl",
            "curl",
            "Without MCP: the same answers over REST.",
            f"curl -H 'Authorization: Bearer {server.key}' '{server.base}/api/v1/bookings'",
        ),
    ]


def _line(value: Any) -> str:
    return dumps(value).decode()
