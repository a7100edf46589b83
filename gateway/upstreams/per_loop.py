"""Objects that belong to one event loop and end with it, because loops cannot share connections."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One `T` per running loop, ended by `close` or when its loop shuts down."""

    def __init__(self, make: Callable[[], T], end: Callable[[T], Awaitable[None]]) -> None:
        self._make, self._end = make, end
        self._held: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[None, None]]] = {}

    async def get(self) -> T:
        loop = asyncio.get_running_loop()
        held = self._held.get(loop)
        if held is None:
            self._forget_closed()
            made = self._make()
            life = self._life(loop, made)
            self._held[loop] = held = made, life
            await anext(life)
        return held[0]

    async def close(self) -> None:
        held = self._held.get(asyncio.get_running_loop())
        if held is not None:
            await held[1].aclose()

    async def _life(self, loop: asyncio.AbstractEventLoop, made: T) -> AsyncGenerator[None, None]:
        """A generator that ends `made` when the loop shuts down: asyncio.run, which uvicorn uses, closes generators."""
        try:
            yield
        finally:
            self._held.pop(loop, None)
            await self._end(made)

    def _forget_closed(self) -> None:
        """Drops the objects of loops that were closed without a shutdown."""
        for loop in list(self._held):
            if loop.is_closed():
                self._held.pop(loop, None)
