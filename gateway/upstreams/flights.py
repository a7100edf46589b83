"""In-flight calls: equal concurrent requests share one exchange. Later callers wait for the answer of the first."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Flight(Generic[T]):
    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class Flights(Generic[T]):
    """The in-flight calls of one event loop."""

    def __init__(self) -> None:
        self._in_flight: dict[Hashable, Flight[T]] = {}

    async def join(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result or exception of `start`, shared by all callers that wait for the same key. The task is cancelled
        when its last caller is."""
        flight = self._in_flight.get(key)
        if flight is None:
            flight = self._in_flight[key] = Flight(asyncio.create_task(start()))
            flight.task.add_done_callback(lambda _: self._remove(key, flight))
            flight.task.add_done_callback(_mark_retrieved)
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._remove(key, flight)  # a later caller starts a new task
                flight.task.cancel()

    def _remove(self, key: Hashable, flight: Flight[T]) -> None:
        if self._in_flight.get(key) is flight:
            del self._in_flight[key]


def _mark_retrieved(task: asyncio.Task[Any]) -> None:
    """Marks the exception as retrieved: the loop must not report it if no caller is left."""
    if not task.cancelled():
        task.exception()
