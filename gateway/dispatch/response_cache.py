"""The response cache: an equal call of the same caller over the same transport gets the stored response, byte for byte,
while the data and configuration behind it have not changed. Such a call needs no thread, no query and no protection.

Where the upstream must be called each time, the version of its data is compared: unchanged data is not protected again.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson
from django.conf import settings

from context_protection.configuration.revisions import revisions
from context_protection.core.payloads import Envelope
from gateway.catalog.operation import Operation

CACHE_SECONDS = 60.0  # cursors in a cached response lose at most this much of their ten minutes
OVERHEAD = 1000  # bytes of an entry, in addition to its body and arguments


class CacheKey(NamedTuple):
    """The cache key: equal calls have equal keys."""

    operation: str
    caller: str
    hints: Hashable
    arguments: str


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """A cached response. `state` identifies the configuration and data that it was made from; `version` the upstream's
    data (None: unknown, or there is no upstream)."""

    envelope: Envelope
    threshold: int
    state: Hashable
    until: float  # time.monotonic()
    fresh_until: float = math.inf  # time.monotonic(); until then the upstream need not be called
    version: Hashable = None
    revision: int = 0  # the configuration's
    arm: str = ""  # the caller's arm of a rollout or an experiment


class ResponseCache:
    """A least-recently-used cache of at most `most_bytes`."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._entries: OrderedDict[CacheKey, CachedResponse] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def find(self, key: CacheKey, operation: Operation) -> CachedResponse | None:
        """The cached response, if it is valid without an upstream call."""
        with self._lock:
            if key not in self._entries:
                return None  # before `state_of`, which may block the event loop if the state has not been read yet
            cached = self._valid(key, state_of(operation, revisions.current()))
            return cached if cached is not None and cached.fresh_until >= time.monotonic() else None

    def unchanged(self, key: CacheKey, state: Hashable, version: Hashable, fresh_until: float) -> CachedResponse | None:
        """The cached response that was made from the same version as the data just fetched. Marks it as fresh until
        `fresh_until`."""
        with self._lock:
            cached = self._valid(key, state)
            if cached is None or version is None or cached.version != version:
                return None
            self._entries[key] = cached = replace(cached, fresh_until=fresh_until)
            return cached

    def _valid(self, key: CacheKey, state: Hashable) -> CachedResponse | None:
        cached = self._entries.get(key)
        if cached is None:
            return None
        if cached.until < time.monotonic() or cached.state != state:
            self._drop(key)
            return None
        self._entries.move_to_end(key)
        return cached

    def store(self, key: CacheKey, response: CachedResponse) -> None:
        with self._lock:
            self._drop(key)
            self._entries[key] = response
            self._bytes += _size(key, response)
            while self._bytes > self.most_bytes:
                self._drop(next(iter(self._entries)))

    def forget(self, caller: str | None = None) -> None:
        """Drops one caller's responses, or all of them, after cursors in them were lost."""
        with self._lock:
            for key in [key for key in self._entries if caller in (None, key.caller)]:
                self._drop(key)

    def _drop(self, key: CacheKey) -> None:
        cached = self._entries.pop(key, None)
        if cached is not None:
            self._bytes -= _size(key, cached)


def _size(key: CacheKey, response: CachedResponse) -> int:
    """Size of an entry in bytes. Arguments can be longer than the response."""
    return len(key.arguments) + len(response.envelope.body) + OVERHEAD


def state_of(operation: Operation, revision: int) -> Hashable:
    """Identifies the configuration, by its revision, and the data that a response made now would use. None: responses
    of this operation are not cached."""
    version = operation.version
    return None if version is None else (revision, version())


def canonical(arguments: object) -> str:
    """A text that is equal for equal arguments. A `str`, because orjson's bytes retain kilobytes of memory. Raises
    TypeError for values that are not JSON."""
    return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS).decode()


response_cache = ResponseCache(settings.ANSWER_CACHE_MB * 1024 * 1024)
