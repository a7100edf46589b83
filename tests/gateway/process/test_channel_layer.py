"""The channel layer of the embedded default is awake to threads."""

import asyncio
import threading

from gateway.process.channel_layer import EmbeddedChannelLayer
from tests.patience import PATIENCE


class WatchedLayer(EmbeddedChannelLayer):
    """Notes on which threads its queues are touched."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: set[int] = set()

    def require_valid_channel_name(self, name: str, receive: bool = False) -> bool:
        self.threads.add(threading.get_ident())
        return bool(super().require_valid_channel_name(name, receive))


async def test_a_message_from_a_thread_is_delivered_on_the_loop_that_waits_for_it():
    """An asyncio queue that another thread fills does not wake its loop."""
    layer = WatchedLayer()
    waiting = asyncio.ensure_future(layer.receive("here"))
    await asyncio.sleep(0)  # so that it waits
    await asyncio.to_thread(lambda: asyncio.run(layer.send("here", {"type": "raised"})))
    assert await asyncio.wait_for(waiting, PATIENCE) == {"type": "raised"}
    assert layer.threads == {threading.get_ident()}


async def test_a_message_from_the_same_loop_arrives_too():
    layer = EmbeddedChannelLayer()
    await layer.send("here", {"n": 1})
    await layer.send("here", {"n": 2})
    assert [await layer.receive("here"), await layer.receive("here")] == [{"n": 1}, {"n": 2}]
