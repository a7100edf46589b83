"""What a web process starts and stops, as its ASGI server asks for it."""

from collections.abc import Callable
from typing import Any

from asgiref.testing import ApplicationCommunicator

from gateway.process.lifespan import Lifespan
from tests.patience import PATIENCE


async def test_hooks_run_in_order_at_the_start_and_at_the_end():
    ran: list[str] = []

    def hook(name: str) -> Callable[[], Any]:
        async def run() -> None:
            ran.append(name)

        return run

    application = Lifespan(startup=[hook("a"), hook("b")], shutdown=[hook("c")])
    communicator = ApplicationCommunicator(application, {"type": "lifespan"})
    await communicator.send_input({"type": "lifespan.startup"})
    assert await communicator.receive_output(20) == {"type": "lifespan.startup.complete"}
    assert ran == ["a", "b"]
    await communicator.send_input({"type": "lifespan.shutdown"})
    assert await communicator.receive_output(20) == {"type": "lifespan.shutdown.complete"}
    await communicator.wait(PATIENCE)
    assert ran == ["a", "b", "c"]
