"""Equal requests share an answer: a cached one, which may be stale while upstream does not answer, or one in flight."""

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from gateway.upstreams.request import Request, Response

T = TypeVar("T")

MAX_ANSWERS = 1000
MAX_BYTES = 64 * 2**20
ENTRY_BYTES = 2000  # memory of an answer in addition to its body
STALE_SECONDS = 24 * 3600.0  # how long a stale answer may still be served

Clock = Callable[[], float]


def cache_key(request: Request, scope: str) -> Hashable:
    """Equal for equal requests. `scope` separates callers whose answers differ."""
    headers = tuple(sorted((name.lower(), value) for name, value in request.headers.items()))
    body = hashlib.sha256(request.body).digest() if request.body else b""
    return scope, request.method, request.url, headers, body


class UpstreamCache:
    """The cached answers of one upstream in this process. The oldest is evicted first (N-FR-009)."""

    def __init__(
        self, clock: Clock = time.monotonic, most_answers: int = MAX_ANSWERS, most_bytes: int = MAX_BYTES
    ) -> None:
        self._clock, self._most_answers, self._most_bytes = clock, most_answers, most_bytes
        self._answers: dict[Hashable, Response] = {}
        self._bytes = 0
        self._lock = threading.Lock()  # an upstream may be called from several loops

    def find(self, key: Hashable) -> Response | None:
        """The cached answer, fresh or stale; None if it is too old to serve at all."""
        answer = self._answers.get(key)
        if answer is None or self._clock() > answer.fresh_until + STALE_SECONDS:
            return None
        return answer

    def is_fresh(self, answer: Response) -> bool:
        return self._clock() < answer.fresh_until

    def store(self, key: Hashable, answer: Response, seconds: float) -> Response:
        """Stores the answer for `seconds` and returns it with its `fresh_until`. A no-store answer is not stored."""
        if "no-store" in answer.headers.get("cache-control", "").lower():
            self.drop(key)
            return answer
        answer = replace(answer, fresh_until=self._clock() + seconds)
        with self._lock:
            self._remove(key)
            self._answers[key] = answer
            self._bytes += _size(answer)
            while len(self._answers) > self._most_answers or self._bytes > self._most_bytes:
                self._remove(next(iter(self._answers)))
        return answer

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._remove(key)

    def clear(self) -> None:
        with self._lock:
            self._answers.clear()
            self._bytes = 0

    def _remove(self, key: Hashable) -> None:
        gone = self._answers.pop(key, None)
        if gone is not None:
            self._bytes -= _size(gone)


def conditional(request: Request, known: Response | None) -> Request:
    """The request with the validators of the `known` answer, so that upstream may reply 304 (RFC 9110, 13)."""
    if known is None:
        return request
    conditions = {}
    if etag := known.headers.get("etag"):
        conditions["if-none-match"] = etag
    if modified := known.headers.get("last-modified"):
        conditions["if-modified-since"] = modified
    return replace(request, headers={**request.headers, **conditions}) if conditions else request


def _size(answer: Response) -> int:
    return len(answer.body) + ENTRY_BYTES


class InFlightCall(Generic[T]):
    def __init__(self, task: asyncio.Task[T]) -> None:
        self.task = task
        self.waiting = 0


class InFlightCalls(Generic[T]):
    """The in-flight calls of one event loop."""

    def __init__(self) -> None:
        self._in_flight: dict[Hashable, InFlightCall[T]] = {}

    async def join(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The result or exception of `start`, shared by all callers that wait for the same key. The task is cancelled
        when its last caller is."""
        flight = self._in_flight.get(key)
        if flight is None:
            flight = self._in_flight[key] = InFlightCall(asyncio.create_task(start()))
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

    def _remove(self, key: Hashable, flight: InFlightCall[T]) -> None:
        if self._in_flight.get(key) is flight:
            del self._in_flight[key]


def _mark_retrieved(task: asyncio.Task[Any]) -> None:
    """Marks the exception as retrieved: the loop must not report it if no caller is left."""
    if not task.cancelled():
        task.exception()
