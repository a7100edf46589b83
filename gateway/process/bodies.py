"""Reads request bodies completely before the request is handled. Limits the size of each body and of all together.

Bodies of known callers (with a key, or staff) and of all others are counted separately, so that unknown callers cannot
use up the memory of known ones.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from django.conf import settings

from gateway.process import errors

LARGEST_BODY: int = settings.LARGEST_BODY
SMALL_BODY = 64 * 1024  # bodies up to this size are always accepted
FORM_BYTES = 2**20  # size of an upload form without its file
ANONYMOUS_BYTES = 16 * 2**20
CALLER_BYTES = 64 * 2**20


# Path → maximum bytes, where staff may send more than LARGEST_BODY. The path is literal, because `reverse` would load
# all pages (9 MB), which a process that only serves MCP never needs.
LARGE_BODIES = {"/admin/openapi/importedapi/import/": settings.LARGEST_DOCUMENT + FORM_BYTES}


class ClientGone(Exception):
    """The client has disconnected."""


class BodyMemory:
    """Memory for bodies, shared by the in-flight requests."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0


class MemoryShare:
    """The part of a BodyMemory that one request uses, until its context exits."""

    def __init__(self, memory: BodyMemory) -> None:
        self._memory = memory
        self._taken = 0

    def grow_to(self, size: int) -> None:
        """Raises Busy if there is no room left."""
        if size <= SMALL_BODY:
            return
        more = min(size, LARGEST_BODY) - self._taken  # larger bodies are on disk
        if self._memory.taken + more > self._memory.most:
            raise errors.too_many_bodies()
        self._taken += more
        self._memory.taken += more

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._memory.taken -= self._taken


anonymous_memory, caller_memory = BodyMemory(ANONYMOUS_BYTES), BodyMemory(CALLER_BYTES)


async def read_body(receive: Any, write: Callable[[bytes], Any], share: MemoryShare, most: int = LARGEST_BODY) -> None:
    """Reads the whole body, and passes it to `write`. Raises BodyTooLarge, Busy or ClientGone."""
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        if body := message.get("body", b""):
            size += len(body)
            if size > most:
                raise errors.body_too_large(most)
            share.grow_to(size)
            write(body)
        if not message.get("more_body", False):
            return


def replaying(message: dict[str, Any], receive: Any) -> Any:
    """A `receive` that returns `message` first, and then calls the given `receive`."""
    again = [message]

    async def received() -> Any:
        return again.pop() if again else await receive()

    return received


async def until_gone(receive: Any) -> None:
    """Returns when the client disconnects. Valid only after the body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass
