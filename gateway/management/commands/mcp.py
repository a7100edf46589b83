"""manage.py mcp: MCP for clients that start their server: stdio, or a port of its own."""

import asyncio
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from context_protection.errors import NotAuthenticated
from gateway.access.callers import Caller, caller_of_key
from gateway.mcp.stdio import serve_stdio
from telemetry import recorder


class Command(BaseCommand):
    help = (
        "Serves MCP over stdio, for clients such as Claude Desktop. The key is read from SLUICE_API_KEY; "
        "make one with: manage.py apikey create NAME"
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.MCP_TRANSPORT != "stdio":
            raise CommandError(
                f"MCP_TRANSPORT is {settings.MCP_TRANSPORT!r}; expected stdio. "
                "WebSocket (/mcp/ws) and Streamable HTTP (/mcp) are served by: manage.py serve"
            )
        caller = self._caller()
        try:
            asyncio.run(serve_stdio(caller))
        except KeyboardInterrupt:
            sys.exit(130)
        finally:
            recorder.stop()

    def _caller(self) -> Caller:
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            raise CommandError("The database is not set up. Start Sluice once with `make run`, or: manage.py migrate")
        if not settings.SLUICE_API_KEY:
            raise CommandError(
                "SLUICE_API_KEY is not set. Make a key with `manage.py apikey create NAME`, and put it into the "
                "environment of the client that starts this command."
            )
        try:
            return caller_of_key(settings.SLUICE_API_KEY)
        except NotAuthenticated as error:
            raise CommandError(f"SLUICE_API_KEY: {error.message} {error.suggestion}") from None
