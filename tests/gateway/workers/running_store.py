"""The store that a parent process shares with its workers, in an event loop on a thread of its own."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from gateway.workers.store import SharedStore


@contextmanager
def running_store(folder: Path) -> Iterator[str]:
    """Its URL."""
    path = folder / "store.sock"

    async def start() -> asyncio.Server:
        return await SharedStore().start(path)

    with start_blocking_portal() as portal:
        server = portal.call(start)
        yield f"unix://{path}"
        portal.call(server.close)
