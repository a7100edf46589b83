"""The in-memory channel layer of the embedded default, safe to use from threads."""

import asyncio
from typing import Any

from channels.layers import InMemoryChannelLayer


class EmbeddedChannelLayer(InMemoryChannelLayer):  # type: ignore[misc]
    """Delivers messages on the receiver's event loop. The stock layer puts a message from a Celery thread into an
    asyncio queue without waking its loop, so that consumers see it seconds later."""

    home: asyncio.AbstractEventLoop | None = None

    async def receive(self, channel: str) -> Any:
        self.home = asyncio.get_running_loop()
        return await super().receive(channel)

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        if self.home is None or self.home is asyncio.get_running_loop():
            await super().send(channel, message)
        else:
            delivery = asyncio.run_coroutine_threadsafe(super().send(channel, message), self.home)
            await asyncio.wrap_future(delivery)
