"""The MCP client of the current call, for connectors whose upstream can ask it something while the call runs."""

import asyncio
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Client(Protocol):
    """`session` is equal for calls of one connection. Both methods are called on the call's event loop."""

    @property
    def session(self) -> Hashable: ...

    def lacks(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether the client, or the connection to it, cannot answer this request of an MCP server."""

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The client's answer to the request, as JSON of the protocol. Raises MCPError if the client refuses."""


# The client of the current call; None: the client does not speak MCP.
client: ContextVar[Client | None] = ContextVar("client", default=None)

# The time limit of the current call.
time_limit: ContextVar[asyncio.Timeout | None] = ContextVar("time_limit", default=None)


@contextmanager
def time_stopped(limit: asyncio.Timeout | None) -> Iterator[None]:
    """Pauses the time limit during the block: a person may think about an answer for longer than a call may take."""
    when = limit.when() if limit is not None else None
    if limit is None or when is None:  # there is no limit, or another question has paused it already
        yield
        return
    loop = asyncio.get_running_loop()
    left = when - loop.time()
    limit.reschedule(None)
    try:
        yield
    finally:
        if not limit.expired():
            limit.reschedule(loop.time() + left)
