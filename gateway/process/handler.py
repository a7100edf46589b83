"""Django's ASGI handler with threads that are kept."""

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.core.handlers.asgi import ASGIHandler

MOST_THREADS = 16  # each may hold a database connection: further requests wait here, not for a connection


class PooledHandler(ASGIHandler):
    """The stock handler starts a thread for every request and joins it afterwards, which takes longer than most
    requests do. Here each concurrent request has a thread of its own that is then used again."""

    def __init__(self) -> None:
        super().__init__()
        self._idle: deque[ThreadPoolExecutor] = deque()
        self._free = asyncio.Semaphore(MOST_THREADS)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with self._free:
            executor = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="django")
            try:
                async with ThreadSensitiveContext(executor=executor):
                    await self.handle(scope, receive, send)
            finally:
                self._idle.append(executor)
