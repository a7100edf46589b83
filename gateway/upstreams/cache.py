"""The response cache: serves fresh answers again, and stale ones while upstream does not answer."""

import hashlib
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import replace

from gateway.upstreams.exchanges import Request, Response

MOST_ANSWERS = 1000
MOST_BYTES = 64 * 2**20
ENTRY_BYTES = 2000  # memory of an answer in addition to its body
STALE_SECONDS = 24 * 3600.0  # how long a stale answer may still be served

Clock = Callable[[], float]


def key_of(request: Request, scope: str) -> Hashable:
    """Equal for equal requests. `scope` separates callers whose answers differ."""
    headers = tuple(sorted((name.lower(), value) for name, value in request.headers.items()))
    body = hashlib.sha256(request.body).digest() if request.body else b""
    return scope, request.method, request.url, headers, body


class Kept:
    """The cached answers of one upstream in this process. The oldest is evicted first (N-FR-009)."""

    def __init__(
        self, clock: Clock = time.monotonic, most_answers: int = MOST_ANSWERS, most_bytes: int = MOST_BYTES
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

    def keep(self, key: Hashable, answer: Response, seconds: float) -> Response:
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
