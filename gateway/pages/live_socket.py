"""The live tail's WebSocket, which pages of this server may open and other sites may not."""

from typing import Any, cast

from django.urls import re_path

from context_protection.core.errors import CallError
from gateway.access.handshake import Handshake
from telemetry.live import LiveConsumer


class SameSite:
    """Denies the handshake for a wrong Host, an unencrypted connection and a foreign Origin, because a browser sends
    the session cookie with a request from any site."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        try:
            Handshake.of(scope).check()
        except CallError:
            await receive()
            await send({"type": "websocket.close"})
            return
        await self._consumer(scope, receive, send)


def live_socket_routes() -> list[Any]:
    """The routes for Channels' URLRouter."""
    return [re_path(r"^telemetry/live/socket$", cast(Any, SameSite(LiveConsumer.as_asgi())))]
