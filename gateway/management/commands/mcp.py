"""manage.py mcp: serves MCP over the transport in MCP_TRANSPORT: stdio, or a port that serves the whole web process."""

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from context_protection.checks import POLICY_TAG
from context_protection.core.errors import NotAuthenticated
from context_protection.stores.snapshots import write_behind
from gateway.access.callers import caller_of_key
from gateway.catalog.caller import Caller
from gateway.connectors.mcp_servers.configuration import from_file
from gateway.mcp.stdio import serve_stdio
from gateway.mcp.transport_config import InvalidTransport, ServedTransport, TransportConfig
from gateway.process import web
from gateway.process.migration_state import is_migrated
from gateway.tracing import export
from telemetry import recorder

PATHS = {ServedTransport.HTTP_SSE: ("http", "/mcp"), ServedTransport.WEBSOCKET: ("ws", "/mcp/ws")}


class Command(BaseCommand):
    help = (
        "Serves MCP over MCP_TRANSPORT: stdio (the default, for clients such as Claude Desktop that start their "
        "server; the key is read from SLUICE_API_KEY), http-sse (Streamable HTTP at /mcp and legacy SSE at /mcp/sse) "
        "or websocket (/mcp/ws), both on MCP_PORT with a key in every connection. Make a key with: "
        "manage.py apikey create NAME"
    )
    requires_system_checks = (POLICY_TAG,)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            config = TransportConfig.of(settings.MCP_TRANSPORT, settings.MCP_PORT)
        except InvalidTransport as error:
            raise CommandError(str(error)) from None
        from_file(settings.MCP_SERVERS_FILE)  # raises ImproperlyConfigured
        self._check_database()
        write_behind.is_beside_another = settings.EMBEDDED_DATABASE
        if config.port is None:
            caller = self._caller()
            export.start()
            self._until_interrupted(lambda: asyncio.run(serve_stdio(caller)))
        else:
            self._serve(config.transport, config.port)

    def _serve(self, transport: ServedTransport, port: int) -> None:
        try:
            listener = web.listen(settings.HOST, port, variable="MCP_PORT")
        except web.CannotListen as error:
            raise CommandError(str(error)) from None
        scheme, path = PATHS[transport]
        base = web.address(settings.HOST, listener).replace("http", scheme, 1)
        self.stdout.write(f"MCP listens on {base}{path} (Ctrl-C stops it).")
        self.stdout.flush()
        self._until_interrupted(lambda: web.run(listener))

    def _until_interrupted(self, serve: Callable[[], None]) -> None:
        try:
            serve()
        except KeyboardInterrupt:
            sys.exit(130)
        finally:
            recorder.stop()
            export.stop()

    def _check_database(self) -> None:
        if not is_migrated():
            raise CommandError("The database is not set up. Start Sluice once with `make run`, or: manage.py migrate")

    def _caller(self) -> Caller:
        if not settings.SLUICE_API_KEY:
            raise CommandError(
                "SLUICE_API_KEY is not set. Make a key with `manage.py apikey create NAME`, and put it into the "
                "environment of the client that starts this command."
            )
        try:
            return caller_of_key(settings.SLUICE_API_KEY)
        except NotAuthenticated as error:
            raise CommandError(f"SLUICE_API_KEY: {error.message} {error.suggestion}") from None
