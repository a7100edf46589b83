"""Calls with a large response take turns: each is answered before the next one's response is parsed.

A parsed response needs ten times its size in memory. Python computes on one thread at a time anyway, so with turns the
first answers come earlier, and the last ones no later.
"""

import asyncio
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import Self
from weakref import WeakKeyDictionary

LONGEST_WAIT = 5.0  # seconds; then a call goes on without a turn, so that a slow call does not stop all others

_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


class Turn:
    """The turn of the call that is answered in the block. It takes none before `begin`."""

    __slots__ = ("_is_over", "_taken", "_token")

    def __init__(self) -> None:
        self._taken: asyncio.Semaphore | None = None
        self._is_over = False

    def __enter__(self) -> Self:
        self._token: Token[Turn | None] = _of_the_call.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        _of_the_call.reset(self._token)
        self._is_over = True
        self.pause()

    async def begin(self) -> None:
        if self._taken is not None:
            return
        turns = _by_loop.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(1))
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                await turns.acquire()
                self._taken = turns
        if self._is_over:  # the call was cancelled, but another call needs the same response
            self.pause()

    def pause(self) -> None:
        if self._taken is not None:
            self._taken.release()
            self._taken = None


_of_the_call: ContextVar[Turn | None] = ContextVar("turn", default=None)


async def begin() -> None:
    """Waits until no other call of this event loop has a turn. Does nothing outside a call."""
    if (turn := _of_the_call.get()) is not None:
        await turn.begin()


def pause() -> None:
    """Lets the next call go on, because this one waits for its upstream again."""
    if (turn := _of_the_call.get()) is not None:
        turn.pause()
