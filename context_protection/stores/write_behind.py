"""Snapshots that a thread writes to the table in batches, so that answers do not wait for the database.

The process that took a snapshot reads it from memory until it is written. A process beside it, such as another worker
or `manage.py mcp`, waits for a batch and reads again. If that process takes an equal snapshot in the meantime, the
handle and the cursors are equal, but the time is its own. A crash loses the snapshots of the last batch. While the
table cannot be written, nothing more is queued, so that answers say what could not be stored.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from django.db import connections

from context_protection.core.cursors import Snapshot, SnapshotOrigin
from context_protection.core.errors import StoreUnavailable
from context_protection.stores.table_snapshots import TableSnapshots

logger = logging.getLogger(__name__)

BATCH_SECONDS = 0.25
WORKERS_BATCH_SECONDS = 0.1  # shorter, because another worker may wait for the snapshot
MOST_BYTES = 8 * 2**20  # bytes of queued snapshots; from then on, snapshots are written at once
RETRIES = 4  # retries of a read, half a batch apart, because another process may be about to write the snapshot
MAX_REMEMBERED = 4096  # snapshots whose first `taken_at` is remembered


@dataclass(frozen=True, slots=True)
class _UnwrittenSnapshot:
    snapshot: Snapshot
    blocks: Sequence[bytes]

    @property
    def size(self) -> int:
        return len(self.snapshot.first_block) + sum(map(len, self.blocks))


class WriteBehindSnapshots:
    """A `SnapshotStore` in front of the table. Within its context, it writes in batches; otherwise at once."""

    def __init__(self, table: TableSnapshots, batch_seconds: float = BATCH_SECONDS) -> None:
        self._table, self._batch_seconds = table, batch_seconds
        self._waiting: dict[str, _UnwrittenSnapshot] = {}
        self._bytes = 0
        self._first: OrderedDict[str, tuple[float, float]] = OrderedDict()  # taken_at and expires_at by id
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._arrived, self._stopping = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.is_beside_another = False  # whether another process may defer its writes to the same table

    def beside_workers(self) -> Self:
        """The store for a worker, beside others that defer their writes to the same table."""
        self.is_beside_another, self._batch_seconds = True, WORKERS_BATCH_SECONDS
        return self

    @property
    def defers_writes(self) -> bool:
        return self._thread is not None and self._bytes < MOST_BYTES and self._table.works

    def __enter__(self) -> Self:
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="snapshots", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Tries to write all queued snapshots."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stopping.set()
            self._arrived.set()
            thread.join()
            self._try_to_flush()

    def flush(self) -> None:
        """Writes all queued snapshots. Raises StoreUnavailable; they then stay queued."""
        with self._writing:
            batch = self._batch()
            self._table.put_all([(each.snapshot, each.blocks) for each in batch])
            self._remove(batch)

    # -- The store ----------------------------------------------------------------------------------

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        if not self.defers_writes:
            return self._table.put(snapshot, blocks)
        with self._lock:
            stored = snapshot.in_table_since(self._first_taken_at(snapshot))
            self._add(_UnwrittenSnapshot(stored, blocks))
        self._arrived.set()
        return stored

    def get(self, snapshot_id: str) -> Snapshot | None:
        found = self.recall(snapshot_id)
        retries = RETRIES if self.is_beside_another else 0
        while found is None and retries:
            time.sleep(self._batch_seconds / 2)
            found, retries = self._table.get(snapshot_id), retries - 1
        return found

    def recall(self, snapshot_id: str) -> Snapshot | None:
        waiting = self._found(snapshot_id)
        return waiting.snapshot if waiting else self._table.get(snapshot_id)

    def origin(self, snapshot_id: str) -> SnapshotOrigin | None:
        waiting = self._waiting.get(snapshot_id)
        return waiting.snapshot.origin if waiting else self._table.origin(snapshot_id)

    def add_block(self, snapshot: Snapshot, number: int, data: bytes) -> bytes:
        if snapshot.id in self._waiting:
            self.flush()
        return self._table.add_block(snapshot, number, data)

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        waiting = self._found(snapshot.id)
        found: dict[int, bytes | None] = dict(enumerate(waiting.blocks, start=1)) if waiting else {}
        written = [number for number in numbers if number not in found]
        if written:
            found.update(zip(written, self._table.blocks(snapshot, written), strict=True))
        return [found[number] for number in numbers]

    def has_blocks(self, snapshot: Snapshot, count: int) -> bool:
        waiting = self._found(snapshot.id)
        return self._table.has_blocks(snapshot, count) if waiting is None else count <= len(waiting.blocks)

    # -- The queue ----------------------------------------------------------------------------------

    def _found(self, snapshot_id: str) -> _UnwrittenSnapshot | None:
        waiting = self._waiting.get(snapshot_id)
        return waiting if waiting and waiting.snapshot.expires_at > time.time() else None

    def _first_taken_at(self, snapshot: Snapshot) -> float:
        """The time at which an equal snapshot that has not expired was first taken; if there is none, its own."""
        taken_at, expires_at = self._first.pop(snapshot.id, (snapshot.taken_at, 0.0))
        if expires_at <= snapshot.taken_at:
            taken_at = snapshot.taken_at
        self._first[snapshot.id] = taken_at, snapshot.expires_at
        if len(self._first) > MAX_REMEMBERED:
            self._first.popitem(last=False)
        return taken_at

    def _batch(self) -> list[_UnwrittenSnapshot]:
        with self._lock:
            return list(self._waiting.values())

    def _add(self, added: _UnwrittenSnapshot) -> None:
        replaced = self._waiting.get(added.snapshot.id)
        self._waiting[added.snapshot.id] = added
        self._bytes += added.size - (replaced.size if replaced else 0)

    def _remove(self, written: Sequence[_UnwrittenSnapshot]) -> None:
        with self._lock:
            for each in written:
                if self._waiting.get(each.snapshot.id) is each:  # otherwise it was put again meanwhile
                    del self._waiting[each.snapshot.id]
                    self._bytes -= each.size

    # -- The thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._arrived.wait() and not self._stopping.wait(self._batch_seconds):
                self._arrived.clear()
                self._try_to_flush()
        finally:
            connections.close_all()  # this thread's

    def _try_to_flush(self) -> None:
        try:
            self.flush()
        except StoreUnavailable:
            self._arrived.set()  # tries again, which costs nothing while the table is known to be unavailable
        except Exception:
            self._flush_one_by_one()

    def _flush_one_by_one(self) -> None:
        """Drops only the snapshots that cannot be written: each of them would make every later batch fail."""
        for each in self._batch():
            try:
                self._table.put(each.snapshot, each.blocks)
            except StoreUnavailable:
                self._arrived.set()
                return
            except Exception:
                logger.exception("a snapshot was not written")
            self._remove([each])
