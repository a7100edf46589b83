"""Who lets calls finish before a process closes its connections: each says so where it keeps them."""

import asyncio
from collections.abc import Awaitable, Callable

Drain = Callable[[float], Awaitable[None]]  # takes the seconds that the calls in flight have
drains: list[Drain] = []


async def drain(seconds: float) -> None:
    await asyncio.gather(*(each(seconds) for each in drains))
