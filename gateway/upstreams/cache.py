"""Answers that are given again while they are fresh, and as the last known state while upstream gives none."""

import hashlib
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import replace

from gateway.upstreams.exchanges import Request, Response

MOST_ANSWERS = 1000
MOST_BYTES = 64 * 2**20
ENTRY_BYTES = 2000  # what an answer takes beside its body
STALE_SECONDS = 24 * 3600.0  # that an answer outlives its freshness

Clock = Callable[[], float]


def key_of(request: Request, scope: str) -> Hashable:
    """What an equal request has in common with it: `scope` is whose answer it is."""
    headers = tuple(sorted((name.lower(), value) for name, value in request.headers.items()))
    body = hashlib.sha256(request.body).digest() if request.body else b""
    return scope, request.method, request.url, headers, body


class Kept:
    """Those of one upstream in this process; the oldest goes first (N-FR-009)."""

    def __init__(
        self, clock: Clock = time.monotonic, most_answers: int = MOST_ANSWERS, most_bytes: int = MOST_BYTES
    ) -> None:
        self._clock, self._most_answers, self._most_bytes = clock, most_answers, most_bytes
        self._answers: dict[Hashable, Response] = {}
        self._bytes = 0
        self._lock = threading.Lock()  # an upstream may be called from several loops

    def find(self, key: Hashable) -> Response | None:
        """The answer, fresh or not, unless it is too old to be shown at all."""
        answer = self._answers.get(key)
        if answer is None or self._clock() > answer.fresh_until + STALE_SECONDS:
            return None
        return answer

    def is_fresh(self, answer: Response) -> bool:
        return self._clock() < answer.fresh_until

    def keep(self, key: Hashable, answer: Response, seconds: float) -> Response:
        """The answer as it is kept; one that says no-store is not."""
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
    """The request, so that an answer which is still `known` need not be sent again (RFC 9110, 13)."""
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
