"""Stores for snapshots: Redis, or a table that Celery beat purges. All processes share either one."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import redis
from django.conf import settings
from django.db import connection

from context_protection.core.cursors import ORIGIN_LIFETIME, Sealer, Snapshot, SnapshotOrigin, Snapshots, SnapshotStore
from context_protection.core.errors import StoreUnavailable, store_unavailable
from context_protection.stores.database_errors import is_away
from context_protection.stores.guard import Guard
from context_protection.stores.redis_client import connect

T = TypeVar("T")
MAX_AT_ONCE = 4  # threads of this process that may use the table at a time
TURN_SECONDS = 0.25
READ = "SELECT id, data FROM context_protection_storedwalk WHERE id IN ({}) AND expires_at > %s"
WRITE = (
    "INSERT INTO context_protection_storedwalk (id, data, expires_at) VALUES {} "
    "ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at"
)
ADD = (
    "INSERT INTO context_protection_storedwalk (id, data, expires_at) VALUES (%s, %s, %s) "
    "ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at "
    "WHERE context_protection_storedwalk.expires_at <= %s"
)
COUNT = "SELECT count(*) FROM context_protection_storedwalk WHERE id IN ({}) AND expires_at > %s"
ROOM_KEY, ROOM_BYTES = "room", 64 * 1024
ORIGIN = "origin"  # the part of a snapshot's key under which its origin is stored
PREFIX = "walk:2:"  # the prefix of Redis keys; raise the number when the packed format changes
Entry = tuple[str, bytes, float]  # key, value, expiry in Unix seconds


def _entries(snapshot: Snapshot, blocks: Sequence[bytes]) -> list[Entry]:
    """The entries that store a snapshot. The snapshot itself comes last: if it exists, all other entries do."""
    stored = [
        (_block_key(snapshot.id, number), data, snapshot.expires_at) for number, data in enumerate(blocks, start=1)
    ]
    origin = (_origin_key(snapshot.id), snapshot.origin.pack(), snapshot.expires_at + ORIGIN_LIFETIME)
    return [*stored, origin, (snapshot.id, snapshot.pack(), snapshot.expires_at)]


class TableSnapshots:
    """Snapshots in a database table."""

    def __init__(self) -> None:
        # SQLite has no table locks, and it already serializes its writers.
        self._turns = threading.Semaphore(MAX_AT_ONCE) if connection.vendor == "postgresql" else None
        self._reads = Guard("the table of snapshots", is_away)
        self._writes = Guard("the table of snapshots, for writing", is_away)  # a full disk still allows reads

    @property
    def works(self) -> bool:
        """Whether the last read and the last write reached the table."""
        return self._reads.works and self._writes.works

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        entries = _entries(snapshot, blocks)
        rows = ", ".join(["(%s, %s, %s)"] * len(entries))
        self._write(WRITE.format(rows), [value for entry in entries for value in entry])
        return replace(snapshot, in_table=True)

    def get(self, snapshot_id: str) -> Snapshot | None:
        data = self._read(snapshot_id)
        return replace(Snapshot.unpack(data), in_table=True) if data is not None else None

    def recall(self, snapshot_id: str) -> Snapshot | None:
        return self.get(snapshot_id)

    def origin(self, snapshot_id: str) -> SnapshotOrigin | None:
        data = self._read(_origin_key(snapshot_id))
        return SnapshotOrigin.unpack(data) if data is not None else None

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        key = _block_key(snapshot.id, number)
        self._write(ADD, [key, data, snapshot.expires_at, time.time()])
        return self._read(key) or data

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        keys = _block_keys(snapshot, numbers)
        found = self._read_all(keys)
        return [found.get(key) for key in keys]

    def has_blocks(self, snapshot: Snapshot, count: int) -> bool:
        keys = _block_keys(snapshot, range(1, count + 1))
        return self._run(COUNT.format(_placeholders(keys)), [*keys, time.time()]) == [(count,)]

    def try_room(self) -> None:
        """Writes as many bytes as a page of a list may need, even while the table is known to be unavailable. Raises
        DatabaseError."""
        with connection.cursor() as cursor:
            cursor.execute(WRITE.format("(%s, %s, %s)"), [ROOM_KEY, b"\0" * ROOM_BYTES, 0.0])

    def purge(self) -> int:
        """Deletes expired rows; returns how many."""
        from context_protection.models import StoredWalk

        return StoredWalk.objects.filter(expires_at__lte=time.time()).delete()[0]

    # Every list call reads here once, and every new snapshot writes. Plain SQL takes half as long as the ORM.

    def _read(self, key: str) -> bytes | None:
        return self._read_all([key]).get(key)

    def _read_all(self, keys: Sequence[str]) -> dict[str, bytes]:
        rows = self._run(READ.format(_placeholders(keys)), [*keys, time.time()])
        return {key: bytes(data) for key, data in rows}

    def _write(self, statement: str, values: Sequence[Any]) -> None:
        """Does not try to write while reads fail. Raises StoreUnavailable."""
        self._in_turn(lambda: self._reads.attempt(lambda: self._writes.attempt(lambda: _rows(statement, values))))

    def _run(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows that the statement returns. Raises StoreUnavailable."""
        return self._in_turn(lambda: self._reads.attempt(lambda: _rows(statement, values)))

    def _in_turn(self, command: Callable[[], list[Any]]) -> list[Any]:
        """Raises StoreUnavailable if no slot is free within TURN_SECONDS: a locked table then blocks at most
        MAX_AT_ONCE of the threads that all calls share."""
        if self._turns is None:
            return command()
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise store_unavailable(TURN_SECONDS)
        try:
            return command()
        finally:
            self._turns.release()


def _rows(statement: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def _placeholders(keys: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(keys))


class RedisSnapshots:
    """Snapshots in Redis, which expires them itself. While Redis is down or full, new snapshots go to the table (law 5)
    and stay there. While it is down, the snapshots in it are reported as unavailable, not as expired. A page takes one
    round trip for the snapshot, and a second one if its rows are stored in blocks."""

    def __init__(self, redis_url: str, table: SnapshotStore) -> None:
        self.redis = connect(redis_url)
        self.table = table
        self._reach = Guard("Redis", lambda error: isinstance(error, redis.RedisError | OSError), probe=self.redis.ping)
        # When it is full, Redis rejects writes but still serves reads.
        self._room = Guard("Redis, for writing", lambda error: isinstance(error, redis.ResponseError))

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        if not snapshot.in_table:
            with suppress(StoreUnavailable):
                self._write(lambda: self._put(_entries(snapshot, blocks)))
                return snapshot
        return self.table.put(snapshot, blocks)

    def get(self, snapshot_id: str) -> Snapshot | None:
        return self._lookup(snapshot_id, Snapshot.unpack, self.table.get)

    def recall(self, snapshot_id: str) -> Snapshot | None:
        return self._lookup(snapshot_id, Snapshot.unpack, lambda _: None)

    def origin(self, snapshot_id: str) -> SnapshotOrigin | None:
        return self._lookup(_origin_key(snapshot_id), SnapshotOrigin.unpack, lambda _: self.table.origin(snapshot_id))

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        if snapshot.in_table:
            return self.table.add_block(snapshot, number, data)
        try:
            return self._write(lambda: self._add(_block_key(snapshot.id, number), data, snapshot.expires_at))
        except StoreUnavailable:
            return self.table.add_block(self._move_to_table(snapshot, number), number, data)

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        if snapshot.in_table:
            return self.table.blocks(snapshot, numbers)
        return self._reach.attempt(lambda: self._blocks(_block_keys(snapshot, numbers)))

    def has_blocks(self, snapshot: Snapshot, count: int) -> bool:
        if snapshot.in_table:
            return self.table.has_blocks(snapshot, count)
        keys = _redis_keys(_block_keys(snapshot, range(1, count + 1)))
        return self._reach.attempt(lambda: self.redis.exists(*keys) == count)

    def _move_to_table(self, snapshot: Snapshot, next_block: int) -> Snapshot:
        """Moves the whole snapshot to the table, because Redis has no room for its next block. Raises
        StoreUnavailable."""
        numbers = range(1, next_block)
        blocks = [block for block in self.blocks(snapshot, numbers) if block is not None] if numbers else []
        moved = self.table.put(snapshot, blocks)
        keys = _redis_keys([snapshot.id, *_block_keys(snapshot, numbers)])
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


def _origin_key(snapshot_id: str) -> str:
    return f"{snapshot_id}.{ORIGIN}"


def _block_key(snapshot_id: str, number: int) -> str:
    return f"{snapshot_id}.{number}"


def _block_keys(snapshot: Snapshot, numbers: Sequence[int]) -> list[str]:
    return [_block_key(snapshot.id, number) for number in numbers]


table = TableSnapshots()


def _configured_store() -> SnapshotStore:
    return RedisSnapshots(settings.REDIS_URL, table) if getattr(settings, "REDIS_URL", "") else table


snapshots = Snapshots(store=_configured_store(), sealer=Sealer([settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]))
