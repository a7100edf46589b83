"""One memory limit for all caches of a process.

All caches together are one LRU: the least recently used entry is dropped first, whichever cache it is in. So memory
goes to the cache that this process needs most, and the caches of a hundred upstreams take no more than those of one.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MEGABYTE: Final = 2**20
DEFAULT_MEGABYTES: Final = 16
# The limit if answers are not cached. Other caches stay in use, because counting tokens without them takes ten times as
# long.
MIN_BYTES: Final = 4 * MEGABYTE
ENTRY_BYTES: Final = 250  # measured bytes that an entry takes besides its key and value


class CacheEntry:
    """Compared by identity."""

    __slots__ = ("cache", "key", "size", "value")

    def __init__(self, cache: "Cache[Any, Any]", key: Any, value: Any, size: int) -> None:
        self.cache, self.key, self.value, self.size = cache, key, value, size


class CacheBudget:
    """The memory that all caches of a process may use together."""

    def __init__(self, most_bytes: int = DEFAULT_MEGABYTES * MEGABYTE) -> None:
        self.lock = threading.Lock()
        self.order: OrderedDict[CacheEntry, None] = OrderedDict()  # the least recently used entry first
        self.used = 0
        self._used_by: dict[str, int] = {}
        self.set_limit(most_bytes)

    def set_limit(self, most_bytes: int) -> None:
        """A limit of 0 means that answers are not cached."""
        with self.lock:
            self.allows_answers = most_bytes > 0
            self.most_bytes = most_bytes or MIN_BYTES
            self.make_room(0)

    def used_by_cache(self) -> dict[str, int]:
        """Cache name → bytes in use, sorted by name. Caches that share a name are added together."""
        with self.lock:
            return dict(sorted(self._used_by.items()))

    # The callers of the following methods hold the lock.

    def make_room(self, size: int) -> None:
        while self.used + size > self.most_bytes:
            self.remove(next(iter(self.order)))

    def add(self, entry: CacheEntry) -> None:
        self.order[entry] = None
        self.charge(entry, entry.size)

    def remove(self, entry: CacheEntry) -> None:
        del self.order[entry], entry.cache.entries[entry.key]
        self.charge(entry, -entry.size)
        if entry.cache.removed is not None:
            entry.cache.removed(entry.value)

    def charge(self, entry: CacheEntry, size: int) -> None:
        name = entry.cache.name
        self.used += size
        self._used_by[name] = self._used_by.get(name, 0) + size


class Cache(Generic[K, V]):
    """A dictionary that shares the budget. Thread-safe. `has_answers`: the cache holds answers, so it stores nothing
    while caching of answers is off. `removed` is called with each removed value under the budget's lock: it must be
    quick, and must not use a cache."""

    def __init__(
        self,
        name: str,
        budget: CacheBudget,
        *,
        has_answers: bool = True,
        removed: Callable[[V], None] | None = None,
    ) -> None:
        self.name, self.removed = name, removed
        self.entries: dict[K, CacheEntry] = {}
        self._budget, self._has_answers = budget, has_answers

    def peek(self, key: K) -> V | None:
        """The value, without counting this as a use."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value

    def get(self, key: K) -> V | None:
        """The value, which becomes the most recently used one."""
        with self._budget.lock:
            entry = self.entries.get(key)
            if entry is None:
                return None
            self._budget.order.move_to_end(entry)
            value: V = entry.value
            return value

    def put(self, key: K, value: V, size: int) -> bool:
        """Stores or replaces a value. `size`: the bytes of key and value. Returns False if the value is larger than the
        whole limit, or if this cache holds answers and those are not cached. The key then has no value: an earlier one
        is dropped too."""
        size += ENTRY_BYTES
        with self._budget.lock:
            self._discard(key)
            if size > self._budget.most_bytes or (self._has_answers and not self._budget.allows_answers):
                return False
            self._budget.make_room(size)
            self.entries[key] = entry = CacheEntry(self, key, value, size)
            self._budget.add(entry)
            return True

    def replace(self, key: K, old: V, new: V) -> None:
        """Replaces `old`, if it is still the value, by a value of the same size."""
        with self._budget.lock:
            entry = self.entries.get(key)
            if entry is not None and entry.value is old:
                entry.value = new

    def grow(self, key: K, size: int) -> bool:
        """Charges `size` more bytes for a value, which becomes the most recently used one. Returns False, and changes
        nothing, if the value has been dropped or would exceed the whole limit."""
        with self._budget.lock:
            entry = self.entries.get(key)
            if entry is None or entry.size + size > self._budget.most_bytes:
                return False
            self._budget.order.move_to_end(entry)
            self._budget.make_room(size)
            entry.size += size
            self._budget.charge(entry, size)
            return True

    def drop(self, key: K, value: V | None = None) -> None:
        """Drops the entry of the key; if `value` is given, only if it is the entry's value."""
        with self._budget.lock:
            if value is None or self.peek(key) is value:
                self._discard(key)

    def drop_oldest(self) -> None:
        """Drops the entry that was stored first, however recently it was used."""
        with self._budget.lock:
            self._discard(next(iter(self.entries), None))

    def drop_where(self, matches: Callable[[K], bool]) -> None:
        with self._budget.lock:
            for key in list(filter(matches, self.entries)):
                self._discard(key)

    def clear(self) -> None:
        self.drop_where(lambda _: True)

    def values(self) -> list[V]:
        with self._budget.lock:
            return [entry.value for entry in self.entries.values()]

    def size(self, key: K) -> int:
        """The bytes that are charged for the key; 0 without a value."""
        entry = self.entries.get(key)
        return 0 if entry is None else entry.size

    def __len__(self) -> int:
        return len(self.entries)

    def _discard(self, key: K | None) -> None:
        entry = self.entries.get(key) if key is not None else None
        if entry is not None:
            self._budget.remove(entry)


cache_budget: Final = CacheBudget()
