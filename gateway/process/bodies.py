"""Request bodies are read whole before any other work is done for them. Each body is bounded, and so is their total.

Bodies of known callers (with a key, or staff) and of all others are counted separately, so that nobody without a key
can use up the memory of those who have one.
"""

from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.urls import reverse

from gateway.process import errors

LARGEST_BODY: int = settings.LARGEST_BODY
SMALL_BODY = 64 * 1024  # up to which a body is always accepted
FORM_BYTES = 2**20  # of a form around the uploaded file
ANONYMOUS_BYTES = 16 * 2**20
KNOWN_BYTES = 64 * 2**20


@cache
def large_bodies() -> dict[str, int]:
    """Paths where staff may send more than LARGEST_BODY, and how much."""
    return {reverse("admin:openapi_import"): settings.LARGEST_DOCUMENT + FORM_BYTES}


class ClientGone(Exception):
    """The client has disconnected."""


class Room:
    """Memory for bodies, shared by the requests in progress."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0


class Share:
    """The part of a room that one request uses, for as long as the context lasts."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._taken = 0

    def grow_to(self, size: int) -> None:
        """Raises Busy if there is no room left."""
        if size <= SMALL_BODY:
            return
        more = min(size, LARGEST_BODY) - self._taken  # larger bodies are on disk
        if self._room.taken + more > self._room.most:
            raise errors.too_many_bodies()
        self._taken += more
        self._room.taken += more

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._room.taken -= self._taken


anonymous, known = Room(ANONYMOUS_BYTES), Room(KNOWN_BYTES)


async def read_body(receive: Any, write: Callable[[bytes], Any], share: Share, most: int = LARGEST_BODY) -> None:
    """Writes the whole body. Raises BodyTooLarge, Busy or ClientGone."""
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
    """A `receive` that returns `message` once more before it goes on."""
    again = [message]

    async def received() -> Any:
        return again.pop() if again else await receive()

    return received


async def until_gone(receive: Any) -> None:
    """Returns when the client disconnects. Only for a request whose body has been read."""
    while (await receive())["type"] != "http.disconnect":
        pass
