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

from mcp.shared.exceptions import MCPDeprecationWarning

from gateway.access.models import ApiKey
from gateway.asgi import flush_telemetry
from gateway.mcp.consumer import MCPConsumer
from gateway.mcp.http import StreamableHTTP
from gateway.mcp.sessions import sessions
from gateway.mcp.sse import MESSAGES, LegacySSE
from gateway.process import first_start, web
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


def application(key: str) -> ASGIApplication:
    server = build_fixture_server()
    stateful = StreamableHTTP(server, sessions, event_store=Events(), retry_interval=RETRY_MILLISECONDS)
    stateless = StreamableHTTP(server, sessions, stateless=True)
    sse = LegacySSE(server, sessions)
    lifespan = Lifespan(
        startup=[warm_up, stateful.start, stateless.start],
        shutdown=[stateful.stop, stateless.stop, flush_telemetry],
    )
    doors: dict[str, ASGIApplication] = {  # one line each; how the Inspector gets there is in suites.WAYS
        "/mcp": WithKey(stateful, key),
        "/stateless/mcp": WithKey(stateless, key),
        "/mcp/sse": WithKey(sse.stream, key),
        MESSAGES: WithKey(sse.messages, key),
        "/mcp/ws": MCPConsumer.as_asgi(server=server, sessions=sessions),
    }

    async def serve(scope: dict[str, Any], receive: Any, send: Any) -> None:
        endpoint = lifespan if scope["type"] == "lifespan" else doors[scope["path"]]
        await endpoint(scope, receive, send)

    return serve


def main() -> None:
    warnings.simplefilter("ignore", MCPDeprecationWarning)  # older versions of the protocol are still asked for
    listener = web.listen("127.0.0.1", 0)
    first_start.migrate()
    _, key = ApiKey.objects.issue("conformance")
    sys.stdout.write(f"{listener.getsockname()[1]} {key}\n")
    sys.stdout.flush()
    web.run(listener, application(key))


if __name__ == "__main__":
    main()
