"""Every way into a web process. MCP and metrics are routed before Django, whose handler is the slow part."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

import django

django.setup()

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings
from django.urls import re_path

from gateway.mcp.http import StreamableHTTP
from gateway.mcp.server import build_server
from gateway.mcp.websocket import MCPConsumer, deny
from gateway.process.bridge import run_sync
from gateway.process.handler import PooledHandler
from gateway.process.lifespan import Lifespan
from gateway.process.warmup import warm_up
from telemetry import recorder

server = build_server()
streamable_http = StreamableHTTP(server, stateless=not settings.MCP_STATEFUL)


async def flush_telemetry() -> None:
    await run_sync(recorder.stop)


def route(pattern: str, app: Any) -> Any:
    """An ASGI application at a path; Channels takes Django's patterns for it."""
    return re_path(pattern, app)


application = ProtocolTypeRouter(
    {
        "http": URLRouter([route(r"^mcp/?$", streamable_http), route(r"", PooledHandler())]),
        "websocket": URLRouter([route(r"^mcp/ws/?$", MCPConsumer.as_asgi(server=server)), route(r"", deny)]),
        "lifespan": Lifespan(
            startup=[warm_up, streamable_http.start], shutdown=[streamable_http.stop, flush_telemetry]
        ),
    }
)
