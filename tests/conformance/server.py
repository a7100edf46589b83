"""python -m tests.conformance.server: the fixtures behind the product's own transports, on any free port.

Says `PORT KEY` in a line when it listens. Streamable HTTP is at /mcp (with sessions) and at /stateless/mcp, WebSocket
at /mcp/ws. The suites cannot send a key, so the HTTP endpoints here put it into each request.
"""

import os
import sys
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

import django

django.setup()

import uvicorn
from channels.routing import ProtocolTypeRouter, URLRouter
from mcp.shared.exceptions import MCPDeprecationWarning

from gateway.access.models import ApiKey
from gateway.asgi import flush_telemetry, route
from gateway.management.commands.serve import listen
from gateway.mcp.http import StreamableHTTP
from gateway.mcp.websocket import MCPConsumer
from gateway.process import first_start
from gateway.process.lifespan import Lifespan
from gateway.process.warmup import warm_up
from tests.conformance.events import Events
from tests.conformance.fixtures.assembly import build_fixture_server

ASGIApplication = Callable[[dict[str, Any], Any, Any], Awaitable[None]]
RETRY_MILLISECONDS = 100  # after which a client that has lost its stream comes back


class WithKey:
    """An endpoint whose every request carries the key."""

    def __init__(self, endpoint: ASGIApplication, key: str) -> None:
        self.endpoint = endpoint
        self.header = (b"authorization", f"Bearer {key}".encode())

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        await self.endpoint({**scope, "headers": [*scope["headers"], self.header]}, receive, send)


def application(key: str) -> ProtocolTypeRouter:
    server = build_fixture_server()
    stateful = StreamableHTTP(server, event_store=Events(), retry_interval=RETRY_MILLISECONDS)
    stateless = StreamableHTTP(server, stateless=True)
    doors = [  # one line each; how the Inspector gets there is in suites.WAYS
        route(r"^mcp$", WithKey(stateful, key)),
        route(r"^stateless/mcp$", WithKey(stateless, key)),
    ]
    return ProtocolTypeRouter(
        {
            "http": URLRouter(doors),
            "websocket": URLRouter([route(r"^mcp/ws$", MCPConsumer.as_asgi(server=server))]),
            "lifespan": Lifespan(
                startup=[warm_up, stateful.start, stateless.start],
                shutdown=[stateful.stop, stateless.stop, flush_telemetry],
            ),
        }
    )


def main() -> None:
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # older versions of the protocol are still asked for
    listener = listen("127.0.0.1", 0)
    first_start.migrate()
    _, key = ApiKey.objects.issue("conformance")
    config = uvicorn.Config(application(key), lifespan="on", log_config=None, access_log=False)
    sys.stdout.write(f"{listener.getsockname()[1]} {key}\n")
    sys.stdout.flush()
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
