"""The response cache: an equal call of the same caller over the same transport gets the stored response, byte for byte,
while the data and configuration behind it have not changed. Such a call needs no thread, no query and no protection.

If the upstream must be called each time, the version of its data is compared: unchanged data is not protected again.
"""

import math
import time
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson

from context_protection.configuration.revisions import revisions
from context_protection.core.cache_budget import Cache, CacheBudget, cache_budget
from context_protection.core.payloads import Envelope
from gateway.catalog.operation import Operation

CACHE_SECONDS = 60.0  # cursors in a cached response lose at most this much of their lifetime of ten minutes
OVERHEAD = 800  # measured bytes of a response and its key, besides the body and the arguments


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
    revision: int = 0  # of the configuration
    arm: str = ""  # the caller's arm of a rollout or an experiment


class ResponseCache:
    """Least recently used responses are dropped first, within the budget of all caches."""

    def __init__(self, budget: CacheBudget) -> None:
        self.entries: Cache[CacheKey, CachedResponse] = Cache("responses", budget)

    def find(self, key: CacheKey, operation: Operation) -> CachedResponse | None:
        """The cached response, if it is valid without an upstream call."""
        cached = self.entries.get(key)
        if cached is None:
            return None  # before `state_of`, which may block the event loop if the state has not been read yet
        is_valid = self._is_valid(key, cached, state_of(operation, revisions.current()))
        return cached if is_valid and cached.fresh_until >= time.monotonic() else None

    def unchanged(self, key: CacheKey, state: Hashable, version: Hashable, fresh_until: float) -> CachedResponse | None:
        """The cached response that was made from the same version as the data just fetched. Marks it as fresh until
        `fresh_until`."""
        cached = self.entries.get(key)
        if cached is None or not self._is_valid(key, cached, state) or version is None or cached.version != version:
            return None
        fresh = replace(cached, fresh_until=fresh_until)
        self.entries.replace(key, cached, fresh)
        return fresh

    def _is_valid(self, key: CacheKey, cached: CachedResponse, state: Hashable) -> bool:
        """Drops an invalid response from the cache."""
        if cached.until >= time.monotonic() and cached.state == state:
            return True
        self.entries.drop(key, cached)
        return False

    def store(self, key: CacheKey, response: CachedResponse) -> None:
        self.entries.put(key, response, _size(key, response))

    def forget(self, caller: str | None = None) -> None:
        """Drops the responses of one caller (None: of all callers), after cursors in them were lost."""
        self.entries.drop_where(lambda key: caller in (None, key.caller))


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


response_cache = ResponseCache(cache_budget)
