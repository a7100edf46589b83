"""Snapshots in a database table, which Celery beat purges."""

import threading
import time
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, TypeVar

from django.db import connection, transaction

from context_protection.core.cursors import Snapshot, SnapshotOrigin
from context_protection.core.errors import store_unavailable
from context_protection.stores.database_errors import means_unavailable
from context_protection.stores.entries import Entry, block_key, block_keys, entries, origin_key
from context_protection.stores.guard import Guard

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
AT_ONCE = 8  # rows of one statement; with more, SQLite copies the changed pages to a file, so that it can undo them
SMALL_BYTES = 16 * 1024  # of a row that is inserted with others
ROOM_KEY, ROOM_BYTES = "room", 64 * 1024


class TableSnapshots:
    """Snapshots in a database table."""

    defers_writes = False

    def __init__(self) -> None:
        # SQLite has no table locks, and it already serializes its writers.
        self._turns = threading.Semaphore(MAX_AT_ONCE) if connection.vendor == "postgresql" else None
        self._reads = Guard("the table of snapshots", means_unavailable)
        self._writes = Guard("the table of snapshots, for writing", means_unavailable)  # a full disk still allows reads

    @property
    def works(self) -> bool:
        """Whether the last read and the last write reached the table."""
        return self._reads.works and self._writes.works

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        self._write_all(entries(snapshot, blocks))
        return snapshot.in_table_since(snapshot.taken_at)

    def put_all(self, snapshots: Sequence[tuple[Snapshot, Sequence[bytes]]]) -> None:
        """Stores different snapshots with their blocks, all of them or none. Raises StoreUnavailable."""
        rows = [entry for snapshot, blocks in snapshots for entry in entries(snapshot, blocks)]
        self._attempt_write(lambda: _insert_each(rows))

    def get(self, snapshot_id: str) -> Snapshot | None:
        data = self._read(snapshot_id)
        if data is None:
            return None
        snapshot = Snapshot.unpack(data)
        return snapshot.in_table_since(snapshot.taken_at)

    def recall(self, snapshot_id: str) -> Snapshot | None:
        return self.get(snapshot_id)

    def origin(self, snapshot_id: str) -> SnapshotOrigin | None:
        data = self._read(origin_key(snapshot_id))
        return SnapshotOrigin.unpack(data) if data is not None else None

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        key = block_key(snapshot.id, number)
        self._write(ADD, [key, data, snapshot.expires_at, time.time()])
        return self._read(key) or data

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        keys = block_keys(snapshot, numbers)
        found = self._read_all(keys)
        return [found.get(key) for key in keys]

    def has_blocks(self, snapshot: Snapshot, count: int) -> bool:
        keys = block_keys(snapshot, range(1, count + 1))
        return self._run(COUNT.format(_placeholders(keys)), [*keys, time.time()]) == [(count,)]

    def try_room(self) -> None:
        """Writes as many bytes as a page of a list may need, even while the table is known to be unavailable. Raises
        DatabaseError."""
        with connection.cursor() as cursor:
            cursor.execute(_statement(1), [ROOM_KEY, b"\0" * ROOM_BYTES, 0.0])

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

    def _write_all(self, written: Sequence[Entry]) -> None:
        self._write(_statement(len(written)), list(chain.from_iterable(written)))

    def _write(self, statement: str, values: Sequence[Any]) -> None:
        """Raises StoreUnavailable."""
        self._attempt_write(lambda: _rows(statement, values))

    def _attempt_write(self, command: Callable[[], object]) -> None:
        """Does not try to write while reads fail. Raises StoreUnavailable."""
        self._in_turn(lambda: self._reads.attempt(lambda: self._writes.attempt(command)))

    def _run(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows that the statement returns. Raises StoreUnavailable."""
        return self._in_turn(lambda: self._reads.attempt(lambda: _rows(statement, values)))

    def _in_turn(self, command: Callable[[], T]) -> T:
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


def _insert_each(rows: Sequence[Entry]) -> None:
    """Inserts small rows several at once: during each statement, the thread that serves requests may take over Python,
    and this thread then waits for its turn. There are only two different statements, because a SQLite connection keeps
    the last values of each: with one for each number of rows, these took 12 MB after 10,000 calls."""
    small = [row for row in rows if len(row[1]) <= SMALL_BYTES]
    grouped = len(small) - len(small) % AT_ONCE
    others = small[grouped:] + [row for row in rows if len(row[1]) > SMALL_BYTES]
    with transaction.atomic(), connection.cursor() as cursor:
        for start in range(0, grouped, AT_ONCE):
            cursor.execute(_statement(AT_ONCE), list(chain.from_iterable(small[start : start + AT_ONCE])))
        cursor.executemany(_statement(1), others)


def _statement(rows: int) -> str:
    """The statement that writes so many rows."""
    return WRITE.format(", ".join(["(%s, %s, %s)"] * rows))


def _placeholders(keys: Sequence[str]) -> str:
    return ", ".join(["%s"] * len(keys))
