"""Bodies of requests, read whole before any work is begun for them: bounded each, and all of them together.

What is read for callers who are known (by a key, or as staff) and for all others is counted apart, so that nobody
without a key can take the room of those who have one.
"""

from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.urls import reverse

from gateway.process import errors

LARGEST_BODY: int = settings.LARGEST_BODY
SMALL_BODY = 64 * 1024  # which has room always
FORM_BYTES = 2**20  # of a form, around the file that it sends
ANONYMOUS_BYTES = 16 * 2**20
KNOWN_BYTES = 64 * 2**20


@cache
def large_bodies() -> dict[str, int]:
    """Paths at which staff may send more than LARGEST_BODY, and how much."""
    return {reverse("admin:openapi_import"): settings.LARGEST_DOCUMENT + FORM_BYTES}


class ClientGone(Exception):
    """There is nobody left to answer."""


class Room:
    """Memory for bodies, shared by requests that are under way."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0


class Share:
    """What one request takes of a room, for as long as the context lasts."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._taken = 0

    def grow_to(self, size: int) -> None:
        """Raises Busy when there is no room for it."""
        if size <= SMALL_BODY:
            return
        more = min(size, LARGEST_BODY) - self._taken  # what is larger is on disk
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
    """`receive`, with what it gave already once more."""
    again = [message]

    async def received() -> Any:
        return again.pop() if again else await receive()

    return received


async def until_gone(receive: Any) -> None:
    """Of a request whose body has been read: returns when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
