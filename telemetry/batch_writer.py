"""A bounded queue, and one writer thread that stores its items in batches.

    put(item)  ─►  queue (10,000)  ─►  writer thread, ≤ 500 items or every 0.5 s  ─►  store(items)

`put` never raises, and never waits for the database: a failure loses telemetry, never a response (law 5).
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, Protocol, TypeVar

from django.db import connections
from django.utils.asyncio import async_unsafe

from telemetry.storage import StoreResult

CAPACITY = 10_000  # items; about 4 MB for calls
BATCH = 500  # items
INTERVAL = 0.5  # seconds to wait for a batch to fill
PATIENCE = 30.0  # seconds without a database after which items are dropped, the oldest first
SHUTDOWN = 3.0  # seconds that a flush or a stop may take

logger = logging.getLogger(__name__)


class Dated(Protocol):
    @property
    def at(self) -> datetime: ...


Item = TypeVar("Item", bound=Dated)


@dataclass(frozen=True, slots=True)
class WriterState:
    """Figures about a writer and its queue."""

    queued: int
    stored: int
    dropped: int  # the queue was full, the row was unusable, or the database was down for too long
    corrected: int  # stored with a corrected figure
    last_error: str  # the error's type only: database messages quote rows
    lag_seconds: float  # the age of the oldest item that is not stored yet
    last_dropped_at: datetime | None


class BatchWriter(Generic[Item]):
    """`store` saves a batch of items. If it raises, the same items are retried for at most `patience` seconds.

    The queue holds items up to a total `weight` of `capacity`; an item weighs 1 by default. Beyond that, the oldest
    items are dropped and counted.

    One lock guards all mutable state. It is never held while a batch is stored, so `put` waits only for a few
    instructions of another thread.
    """

    def __init__(
        self,
        store: Callable[[Sequence[Item]], StoreResult],
        *,
        name: str = "telemetry-writer",
        threaded: bool = True,
        capacity: int = CAPACITY,
        weight: Callable[[Item], int] | None = None,
        batch: int = BATCH,
        interval: float = INTERVAL,
        patience: float = PATIENCE,
    ) -> None:
        self._store = store
        self._name = name
        self._threaded = threaded
        self._capacity = capacity
        self._weight = weight
        self._batch = batch
        self._interval = interval
        self._patience = patience

        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._queue: deque[Item] = deque()
        self._queued_weight = 0
        self._accepted = 0  # items ever queued
        self._settled = 0  # queued items that were stored or dropped
        self._stored = self._dropped = self._corrected = 0
        self._last_dropped_at: datetime | None = None
        self._last_error = ""
        self._failing_since: float | None = None
        self._thread: threading.Thread | None = None
        self._wake_at: int | None = None  # the queue's length that the writer waits for; None: it does not wait
        self._is_storing = False
        self._is_stopping = False
        self._flushes = 0  # threads that wait in flush()

    def put(self, item: Item) -> None:
        try:
            with self._lock:
                self._queue.append(item)
                self._queued_weight += 1 if self._weight is None else self._weight(item)
                self._accepted += 1
                if self._queued_weight > self._capacity:
                    self._drop_oldest()
                if len(self._queue) == self._wake_at:
                    self._changed.notify_all()
                elif self._thread is None:
                    self._start()
        except Exception as error:  # for example, no thread can be started: the call must succeed anyway
            self._last_error = type(error).__name__

    def _drop_oldest(self) -> None:
        """Drops the oldest items, because the newest matter more for the present. The caller holds the lock."""
        while self._queue and self._queued_weight > self._capacity:
            self._queued_weight -= self._weight_of(self._queue.popleft())
            self._dropped += 1
            self._last_dropped_at = datetime.now(UTC)
            self._settled += 1

    def _weight_of(self, item: Item) -> int:
        return 1 if self._weight is None else self._weight(item)

    def flush(self, timeout: float = SHUTDOWN) -> bool:
        """Waits until everything recorded so far is stored or dropped. False after `timeout` seconds, or if this thread
        has to store it and the database is down."""
        if not self._threaded:
            return self.drain()
        try:
            with self._changed:
                if self._queue and self._thread is None:
                    self._start()
                return self._wait_until_settled(self._accepted, timeout)
        except RuntimeError:  # no thread can be started: the interpreter is shutting down
            return self.drain()

    def stop(self, timeout: float = SHUTDOWN) -> bool:
        """Flushes and ends the writer thread; False if either takes too long. A later `put` starts a new one."""
        flushed = not (self._queue or self._is_storing) or self.flush(timeout)
        with self._changed:
            thread = self._thread
            self._is_stopping = thread is not None
            self._changed.notify_all()
        if thread is None:
            return flushed
        thread.join(timeout if flushed else 0)
        return flushed and not thread.is_alive()

    def state(self) -> WriterState:
        with self._lock:
            return WriterState(
                queued=len(self._queue),
                stored=self._stored,
                dropped=self._dropped,
                corrected=self._corrected,
                last_error=self._last_error,
                lag_seconds=self._lag(),
                last_dropped_at=self._last_dropped_at,
            )

    @async_unsafe("Write telemetry from a thread: sync_to_async(recorder.flush)().")
    def drain(self) -> bool:
        """Stores the queued items on this thread; False if the database is down and they stay queued."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_storing)
            self._is_storing = True
        try:
            while batch := self._take():
                if not self._settle(batch):
                    return False
            return True
        finally:
            with self._changed:
                self._is_storing = False
                self._changed.notify_all()

    def _start(self) -> None:
        """Starts the writer thread. The caller holds the lock."""
        if self._threaded:
            thread = threading.Thread(target=self._write, name=self._name, daemon=True)
            thread.start()
            self._thread = thread

    def _write(self) -> None:
        """The writer thread's loop: waits for a batch and stores it, until it is stopped."""
        try:
            while True:
                self._wait_for_batch()
                if self._ends_after(is_stored=self.drain()):
                    return
        finally:
            with self._lock:
                if self._thread is threading.current_thread():  # an error ended it
                    self._thread = None
            connections.close_all()

    def _wait_for_batch(self) -> None:
        """Waits for an item, then for a full batch or the end of the interval. A flush or a stop ends both waits."""
        with self._changed:
            self._wait_for_queue(1)
            self._wait_for_queue(self._batch, self._interval)

    def _wait_for_queue(self, length: int, timeout: float | None = None) -> None:
        self._wake_at = length
        self._changed.wait_for(lambda: len(self._queue) >= length or self._flushes or self._is_stopping, timeout)
        self._wake_at = None

    def _ends_after(self, *, is_stored: bool) -> bool:
        """Decides under the lock whether the writer ends, so that the next `put` either wakes it or starts another.
        Pauses before a batch is retried."""
        with self._changed:
            if not is_stored:
                self._changed.wait_for(lambda: self._is_stopping, self._interval)
            if not self._is_stopping or (is_stored and self._queue):
                return False
            self._thread, self._is_stopping = None, False
            return True

    def _wait_until_settled(self, number: int, timeout: float) -> bool:
        self._flushes += 1
        self._changed.notify_all()
        try:
            return self._changed.wait_for(lambda: self._settled >= number, timeout)
        finally:
            self._flushes -= 1

    def _take(self) -> list[Item]:
        """Takes the next batch off the queue. Only `drain` calls this."""
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), self._batch))]
            self._queued_weight -= sum(map(self._weight_of, batch))
            return batch

    def _settle(self, batch: list[Item]) -> bool:
        """Stores the batch; False if it is queued again."""
        try:
            result = self._store(batch)
        except Exception as error:
            self._note_failure(error)
            if self._may_retry():
                with self._lock:
                    self._queue.extendleft(reversed(batch))
                    self._queued_weight += sum(map(self._weight_of, batch))
                    self._drop_oldest()
                return False
            result = StoreResult(dropped=len(batch))
        self._note_recovery(result)
        with self._changed:
            self._stored += result.stored
            self._dropped += result.dropped
            if result.dropped:
                self._last_dropped_at = datetime.now(UTC)
            self._corrected += result.corrected
            self._last_error = result.last_error or self._last_error
            self._settled += len(batch)
            self._changed.notify_all()
        return True

    def _note_failure(self, error: Exception) -> None:
        self._last_error = type(error.__cause__ or error).__name__
        if self._failing_since is None:
            self._failing_since = time.monotonic()
            logger.warning("telemetry cannot be stored", extra={"writer": self._name, "error": self._last_error})

    def _may_retry(self) -> bool:
        """Whether the database has been down for less than `patience` seconds."""
        return self._failing_since is None or time.monotonic() - self._failing_since < self._patience

    def _note_recovery(self, result: StoreResult) -> None:
        if self._failing_since is not None and result.stored:
            self._failing_since = None
            logger.warning("telemetry is stored again", extra={"writer": self._name, "dropped": self._dropped})

    def _lag(self) -> float:
        try:
            return max(0.0, (datetime.now(UTC) - self._queue[0].at).total_seconds())
        except (IndexError, TypeError, AttributeError):  # the queue is empty, or its first item is invalid
            return 0.0
