"""Registry of the components that must finish in-flight calls before a process closes its connections."""

import asyncio
from collections.abc import Awaitable, Callable

Drain = Callable[[float], Awaitable[None]]  # takes the seconds that in-flight calls have left
drains: list[Drain] = []


async def drain(seconds: float) -> None:
    await asyncio.gather(*(each(seconds) for each in drains))
