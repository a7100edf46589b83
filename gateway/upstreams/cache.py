"""Lets equal requests share an answer, which is cached or still in flight. A cached answer may be stale while the
upstream does not answer."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import replace
from typing import Any, Generic, TypeVar

from context_protection.core.cache_budget import Cache, CacheBudget, cache_budget
from gateway.upstreams.request import Request, Response

T = TypeVar("T")

ENTRY_BYTES = 3000  # an answer and its key without the body, measured with a dozen headers
STALE_SECONDS = 24 * 3600.0  # how long a stale answer may still be served

Clock = Callable[[], float]


def cache_key(request: Request, scope: str) -> Hashable:
    """Equal for equal requests. `scope` separates callers whose answers differ."""
    headers = tuple(sorted((name.lower(), value) for name, value in request.headers.items()))
    body = hashlib.sha256(request.body).digest() if request.body else b""
    return scope, request.method, request.url, headers, body


class UpstreamCache:
    """The cached answers of one upstream in this process, within the budget of all caches. The answer that was stored
    first is evicted first, however recently it was read (N-FR-009). `most_answers`: None means no limit."""

    def __init__(
        self,
        clock: Clock = time.monotonic,
        budget: CacheBudget = cache_budget,
        *,
        most_answers: int | None = None,
    ) -> None:
        self._clock, self._most_answers = clock, most_answers
        self._answers: Cache[Hashable, Response] = Cache("upstream answers", budget)

    def find(self, key: Hashable) -> Response | None:
        """The cached answer, fresh or stale; None if there is none, or if it is too old to serve."""
        answer = self._answers.peek(key)
        if answer is None or self._clock() > answer.fresh_until + STALE_SECONDS:
            return None
        return answer

    def is_fresh(self, answer: Response) -> bool:
        return self._clock() < answer.fresh_until

    def store(self, key: Hashable, answer: Response, seconds: float) -> Response:
        """Stores the answer for `seconds`, and returns it with its `fresh_until`. An answer with no-store is not
        stored."""
        if "no-store" in answer.headers.get("cache-control", "").lower():
            self.drop(key)
            return answer
        stored = answer.with_fresh_until(self._clock() + seconds)
        self._answers.put(key, stored, len(answer.body) + ENTRY_BYTES)
        if self._most_answers is not None and len(self._answers) > self._most_answers:
            self._answers.drop_oldest()
        return stored

    def drop(self, key: Hashable) -> None:
        self._answers.drop(key)

    def clear(self) -> None:
        self._answers.clear()


def conditional(request: Request, known: Response | None) -> Request:
    """The request with the validators of the `known` answer, so that the upstream may reply 304 (RFC 9110)."""
    if known is None:
        return request
    conditions = {}
    if etag := known.headers.get("etag"):
        conditions["if-none-match"] = etag
    if modified := known.headers.get("last-modified"):
        conditions["if-modified-since"] = modified
    return replace(request, headers={**request.headers, **conditions}) if conditions else request


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
        when the last of these callers is cancelled."""
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
    """Marks the exception as retrieved, so that the loop does not report it if no caller is left."""
    if not task.cancelled():
        task.exception()
