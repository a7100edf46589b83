"""The first start: the database, the sample account, the first admin and key; and what to paste where."""

import secrets
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from context_protection.budget import dumps
from gateway.access.models import ApiKey

FIRST = "admin"
FIRST_KEY = "first-key"


@dataclass(frozen=True)
class Credentials:
    """Of the first admin, and the first key: shown once."""

    password: str
    key: str


def prepare() -> Credentials | None:
    """Makes the database ready; credentials only where none existed."""
    migrate()
    users = get_user_model()._default_manager
    if users.exists() or ApiKey.objects.exists():
        return None
    call_command("load_sample_data", stdout=StringIO())
    password = secrets.token_urlsafe(12)
    users.create_superuser(FIRST, password=password)
    _, key = ApiKey.objects.issue(FIRST_KEY)
    return Credentials(password, key)


def migrate() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0)


def welcome(base: str, credentials: Credentials) -> str:
    """What a newcomer needs, ready to be pasted."""
    websocket = base.replace("http", "ws", 1) + "/mcp/ws"
    bearer = {"Authorization": f"Bearer {credentials.key}"}
    over_websocket = dumps({"type": "ws", "url": websocket, "headers": bearer}).decode()
    over_http = dumps({"type": "http", "url": f"{base}/mcp", "headers": bearer}).decode()
    stdio = {
        "command": sys.executable,
        "args": [str(Path(settings.BASE_DIR) / "manage.py"), "mcp"],
        "env": {"SLUICE_API_KEY": credentials.key},
    }
    desktop = dumps({"mcpServers": {"sluice": stdio}}).decode()
    return f"""
Sluice is ready. This is shown once; keep it.

  Admin        {base}/admin/   login {FIRST}   password {credentials.password}
  API key      {credentials.key}

Claude Code, over WebSocket:
  claude mcp add-json sluice '{over_websocket}'

Claude Code, over HTTP:
  claude mcp add-json sluice '{over_http}'

Claude Desktop (claude_desktop_config.json), over stdio:
  {desktop}

curl:
  curl -H 'Authorization: Bearer {credentials.key}' '{base}/api/v1/bookings'
"""
