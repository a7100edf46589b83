"""ASGI lifespan: runs the startup and shutdown hooks of a web process."""

from collections.abc import Awaitable, Callable
from typing import Any

Hook = Callable[[], Awaitable[Any]]


class Lifespan:
    def __init__(self, *, startup: list[Hook], shutdown: list[Hook]) -> None:
        self.startup, self.shutdown = startup, shutdown

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            hooks = self.startup if message["type"] == "lifespan.startup" else self.shutdown
            for hook in hooks:
                await hook()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
