"""Ready-to-paste client configuration, for the message of the first start and for the home page."""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings

from context_protection.core.budget import dumps
from gateway.process.first_start import FIRST, FirstCredentials

# Environment variables that a stdio client must pass to the process that it starts, if they are set here.
CLIENT_VARIABLES = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DATA_DIR")
SHOWN_VARIABLES = ("DATA_DIR",)  # holds no password, so pages may show its value
AT_THE_START = ("websocket", "http", "stdio", "curl")  # the others are at /connect/
PLACEHOLDER_ROOT = "/path/to/sluice"
PLACEHOLDER_KEY = "YOUR_KEY"


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The way to connect one client. `instruction`: a sentence on what to do with the text."""

    slug: str
    title: str
    instruction: str
    text: str


@dataclass(frozen=True, slots=True)
class ConnectionDetails:
    """The server as clients reach it. `environment` holds the variables that `manage.py mcp` needs in addition to the
    key."""

    base: str
    key: str = PLACEHOLDER_KEY
    python: str = f"{PLACEHOLDER_ROOT}/.venv/bin/python"
    manage: str = f"{PLACEHOLDER_ROOT}/manage.py"
    environment: Mapping[str, str] = field(default_factory=dict)


def client_configs(server: ConnectionDetails) -> list[ClientConfig]:
    bearer = {"Authorization": f"Bearer {server.key}"}
    websocket = {"type": "ws", "url": f"{server.base.replace('http', 'ws', 1)}/mcp/ws", "headers": bearer}
    http = {"type": "http", "url": f"{server.base}/mcp", "headers": bearer}
    stdio = {
        "command": server.python,
        "args": [server.manage, "mcp"],
        "env": {**server.environment, "SLUICE_API_KEY": server.key},
    }
    terminal = "Paste it into a terminal."
    by_address = {"url": http["url"], "headers": bearer}
    return [
        ClientConfig(
            "websocket", "Claude Code, WebSocket", terminal, f"claude mcp add-json sluice '{_line(websocket)}'"
        ),
        ClientConfig("http", "Claude Code, HTTP", terminal, f"claude mcp add-json sluice '{_line(http)}'"),
        ClientConfig(
            "stdio",
            "Claude Desktop, stdio",
            _desktop_instruction(server),
            json.dumps(_servers(stdio), indent=2),
        ),
        ClientConfig(
            "vs-code",
            "VS Code",
            "Put it into .vscode/mcp.json. With ${input:key} in place of the key, VS Code asks for it once.",
            json.dumps({"servers": {"sluice": http}}, indent=2),
        ),
        ClientConfig("cursor", "Cursor", "Put it into ~/.cursor/mcp.json.", json.dumps(_servers(by_address), indent=2)),
        ClientConfig(
            "windsurf",
            "Windsurf",
            "Put it into ~/.codeium/windsurf/mcp_config.json.",
            json.dumps(_servers({"serverUrl": http["url"], "headers": bearer}), indent=2),
        ),
        ClientConfig(
            "codex",
            "Codex",
            f"Put it into ~/.codex/config.toml, and {server.key} into the environment variable SLUICE_API_KEY.",
            f'[mcp_servers.sluice]\nurl = "{http["url"]}"\nbearer_token_env_var = "SLUICE_API_KEY"',
        ),
        ClientConfig(
            "inspector",
            "MCP Inspector",
            f"{terminal} It needs Node 22.19 or newer.",
            f"npx @modelcontextprotocol/inspector@2.12.0 --cli {http['url']} --transport http "
            f"--header 'Authorization: Bearer {server.key}' --method tools/list",
        ),
        ClientConfig(
            "curl",
            "curl",
            "Without MCP: the same answers over REST.",
            f"curl -H 'Authorization: Bearer {server.key}' '{server.base}/api/v1/bookings'",
        ),
    ]


def _servers(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {"mcpServers": {"sluice": entry}}


def _desktop_instruction(server: ConnectionDetails) -> str:
    where = "Put it into claude_desktop_config.json on the machine that has Sluice's files"
    if server.manage.startswith(PLACEHOLDER_ROOT):
        return f"{where}, with their real path in place of {PLACEHOLDER_ROOT}."
    return f"{where}."


def for_staff(base: str, key: str = PLACEHOLDER_KEY) -> ConnectionDetails:
    """Connection details for staff pages: the real path, and no value that may contain a password."""
    environment = _environment()
    shown = {name: value if name in SHOWN_VARIABLES else f"YOUR_{name}" for name, value in environment.items()}
    return ConnectionDetails(base, key, python=sys.executable, manage=_manage(), environment=shown)


def welcome(base: str, credentials: FirstCredentials) -> str:
    """The message of the first start, with ready-to-paste configuration."""
    server = ConnectionDetails(base, credentials.key, sys.executable, _manage(), _environment())
    snippets = "\n\n".join(
        f"{config.title}. {config.instruction}\n\n{config.text}"
        for config in client_configs(server)
        if config.slug in AT_THE_START
    )
    return f"""
Sluice is ready. This is shown only once: store it.

  Admin        {base}/admin/   login {FIRST}   password {credentials.password}
  API key      {credentials.key}

{snippets}
"""


def welcome_back(base: str) -> str:
    """The message of later starts: the admin's address, and how to get another key."""
    return f"""
  Admin        {base}/admin/   a lost password: {_command("changepassword", FIRST)}
  API key      in the admin, or: {_command("apikey", "create", "NAME")}
  Clients      {base}/ has their configuration
"""


def _command(*arguments: str) -> str:
    """A command of manage.py that can be pasted into a terminal with this process's environment."""
    data_dir = os.environ.get("DATA_DIR")
    return shlex.join([*(["env", f"DATA_DIR={data_dir}"] if data_dir else []), sys.executable, _manage(), *arguments])


def _manage() -> str:
    return str(Path(settings.BASE_DIR) / "manage.py")


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in CLIENT_VARIABLES if os.environ.get(name)}


def _line(value: Any) -> str:
    return dumps(value).decode()
