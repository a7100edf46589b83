"""Snapshots in Redis, and in the table while Redis is unavailable."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import redis

from context_protection.core.cursors import Snapshot, SnapshotOrigin, SnapshotStore
from context_protection.core.errors import StoreUnavailable
from context_protection.stores.entries import Entry, block_key, block_keys, entries, origin_key
from context_protection.stores.guard import Guard
from context_protection.stores.redis_client import connect

T = TypeVar("T")
PREFIX = "walk:2:"  # the prefix of Redis keys; raise the number when the packed format changes


class RedisSnapshots:
    """Snapshots in Redis, which expires them itself. While Redis is down or full, new snapshots go to the table (law 5)
    and stay there. While it is down, the snapshots in it are reported as unavailable, not as expired. A page takes one
    round trip for the snapshot, and a second one if its rows are stored in blocks."""

    defers_writes = False

    def __init__(self, redis_url: str, table: SnapshotStore) -> None:
        self.redis = connect(redis_url)
        self.table = table
        self._reach = Guard("Redis", lambda error: isinstance(error, redis.RedisError | OSError), probe=self.redis.ping)
        # When it is full, Redis rejects writes but still serves reads.
        self._room = Guard("Redis, for writing", lambda error: isinstance(error, redis.ResponseError))

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        if not snapshot.in_table:
            with suppress(StoreUnavailable):
                self._write(lambda: self._put(entries(snapshot, blocks)))
                return snapshot
        return self.table.put(snapshot, blocks)

    def get(self, snapshot_id: str) -> Snapshot | None:
        return self._lookup(snapshot_id, Snapshot.unpack, self.table.get)

    def recall(self, snapshot_id: str) -> Snapshot | None:
        return self._lookup(snapshot_id, Snapshot.unpack, lambda _: None)

    def origin(self, snapshot_id: str) -> SnapshotOrigin | None:
        return self._lookup(origin_key(snapshot_id), SnapshotOrigin.unpack, lambda _: self.table.origin(snapshot_id))

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        if snapshot.in_table:
            return self.table.add_block(snapshot, number, data)
        try:
            return self._write(lambda: self._add(block_key(snapshot.id, number), data, snapshot.expires_at))
        except StoreUnavailable:
            return self.table.add_block(self._move_to_table(snapshot, number), number, data)

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        if snapshot.in_table:
            return self.table.blocks(snapshot, numbers)
        return self._reach.attempt(lambda: self._blocks(block_keys(snapshot, numbers)))

    def has_blocks(self, snapshot: Snapshot, count: int) -> bool:
        if snapshot.in_table:
            return self.table.has_blocks(snapshot, count)
        keys = _redis_keys(block_keys(snapshot, range(1, count + 1)))
        return self._reach.attempt(lambda: self.redis.exists(*keys) == count)

    def _move_to_table(self, snapshot: Snapshot, next_block: int) -> Snapshot:
        """Moves the whole snapshot to the table, because Redis has no room for its next block. Raises
        StoreUnavailable."""
        numbers = range(1, next_block)
        blocks = [block for block in self.blocks(snapshot, numbers) if block is not None] if numbers else []
        moved = self.table.put(snapshot, blocks)
        keys = _redis_keys([snapshot.id, *block_keys(snapshot, numbers)])
        self._reach.attempt(lambda: self.redis.delete(*keys))
        return moved

    def _lookup(self, key: str, unpack: Callable[[bytes], T], in_table: Callable[[str], T | None]) -> T | None:
        """Reads Redis, then the table: the entry may have been stored there while Redis was down. Raises
        StoreUnavailable if Redis does not respond and the table has no such entry."""
        try:
            data: Any = self._reach.attempt(lambda: self.redis.get(PREFIX + key))
        except StoreUnavailable:
            found = in_table(key)
            if found is None:
                raise
            return found
        return unpack(data) if data is not None else in_table(key)

    # -- Redis commands -----------------------------------------------------------------------------

    def _put(self, entries: Sequence[Entry]) -> None:
        with self.redis.pipeline(transaction=False) as pipeline:
            for key, data, expires_at in entries:
                pipeline.set(PREFIX + key, data, ex=_seconds_until(expires_at))
            pipeline.execute()

    def _add(self, key: str, data: bytes, expires_at: float) -> bytes:
        with self.redis.pipeline(transaction=False) as pipeline:
            pipeline.set(PREFIX + key, data, ex=_seconds_until(expires_at), nx=True)
            pipeline.get(PREFIX + key)
            stored: bytes | None = pipeline.execute()[1]
        return data if stored is None else stored

    def _blocks(self, keys: Sequence[str]) -> list[bytes | None]:
        found: Any = self.redis.mget(_redis_keys(keys))
        return list(found)

    def _write(self, command: Callable[[], T]) -> T:
        return self._room.attempt(lambda: self._reach.attempt(command, refusals=(redis.ResponseError,)))


def _redis_keys(keys: Sequence[str]) -> list[str]:
    return [PREFIX + key for key in keys]


def _seconds_until(moment: float) -> int:
    return max(1, int(moment - time.time()))
