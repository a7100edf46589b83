"""The in-memory channel layer of the embedded default, safe to use from threads. A message to a group also reaches the
group's members in the other processes of `serve --workers`."""

import asyncio
from typing import Any

from channels.layers import InMemoryChannelLayer

from context_protection.stores.announcements import Topic, announcements

TOPIC = "groups"


class EmbeddedChannelLayer(InMemoryChannelLayer):  # type: ignore[misc]
    """Delivers messages on the receiver's event loop. The stock layer puts a message from a Celery thread into an
    asyncio queue without waking its loop, so that consumers see it seconds later."""

    home: asyncio.AbstractEventLoop | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        announcements.follow(TOPIC, Topic(self._heard))

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        await super().group_send(group, message)
        announcements.tell(TOPIC, {"group": group, "message": message})

    def _heard(self, announced: dict[str, Any]) -> None:
        if self.home is not None:  # None: this process has no receiver yet
            delivery = super().group_send(announced["group"], announced["message"])
            asyncio.run_coroutine_threadsafe(delivery, self.home)

    async def receive(self, channel: str) -> Any:
        self.home = asyncio.get_running_loop()
        return await super().receive(channel)

    async def send(self, channel: str, message: dict[str, Any]) -> None:
        if self.home is None or self.home is asyncio.get_running_loop():
            await super().send(channel, message)
        else:
            delivery = asyncio.run_coroutine_threadsafe(super().send(channel, message), self.home)
            await asyncio.wrap_future(delivery)
