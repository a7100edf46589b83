"""From the hot path to the database: a bounded queue, and one writer thread per process.

    record(call)  ─►  queue (10,000)  ─►  writer thread, ≤ 500 calls or every 0.5 s  ─►  storage.store()

`record` never blocks and never raises: a failure loses telemetry, never a response (R4). Other items from the hot path
(such as samples to audit) have a `Recorder` of their own that works the same way.

Tests: a writer thread cannot see a test's transaction. Inside `with recorder.on_callers_thread():` no thread is
started, and `flush()` writes on the thread that calls it.
"""

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from django.db import connections
from django.utils.asyncio import async_unsafe

from telemetry import storage
from telemetry.calls import Call
from telemetry.storage import Stored

__all__ = [
    "Call",
    "ProcessRecorder",
    "Recorder",
    "RecorderState",
    "drain",
    "flush",
    "on_callers_thread",
    "record",
    "record_answer",
    "state",
    "stop",
]

CAPACITY = 10_000  # calls; about 4 MB
BATCH = 500  # calls
INTERVAL = 0.5  # seconds to wait for a batch to fill
PATIENCE = 30.0  # seconds without a database after which calls are dropped, the oldest first
SHUTDOWN = 3.0  # seconds

logger = logging.getLogger(__name__)


class Dated(Protocol):
    @property
    def at(self) -> datetime: ...


Item = TypeVar("Item", bound=Dated)


@dataclass(frozen=True, slots=True)
class RecorderState:
    """Figures about the recorder of this process."""

    queued: int
    stored: int
    dropped: int  # the queue was full, the row was unusable, or the database was down for too long
    corrected: int  # stored with a corrected figure
    last_error: str  # the error's type only: database messages quote rows
    lag_seconds: float  # the age of the oldest call that is not stored yet


class Recorder(Generic[Item]):
    """`store` saves a batch of items. If it raises, the same items are retried for at most `patience` seconds."""

    def __init__(
        self,
        store: Callable[[Sequence[Item]], Stored],
        *,
        name: str = "telemetry-writer",
        threaded: bool = True,
        capacity: int = CAPACITY,
        batch: int = BATCH,
        interval: float = INTERVAL,
        patience: float = PATIENCE,
    ) -> None:
        self._store = store
        self._name = name
        self._threaded = threaded
        self._capacity = capacity
        self._batch = batch
        self._interval = interval
        self._patience = patience

        # A flush appends a marker (an Event) behind the calls that it waits for.
        self._queue: deque[Item | threading.Event] = deque()
        self._arrived = threading.Event()
        self._hurry = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

        self._starting = threading.Lock()
        self._writing = threading.Lock()
        self._counting = threading.Lock()
        self._stored = self._dropped = self._corrected = 0
        self._last_error = ""
        self._failing_since: float | None = None

    def record(self, item: Item) -> None:
        try:
            waiting = len(self._queue)
            if waiting >= self._capacity:
                self._count(dropped=1)
                return
            self._queue.append(item)
            if not self._arrived.is_set():
                self._arrived.set()
            if waiting >= self._batch and not self._hurry.is_set():
                self._hurry.set()
            if self._thread is None:
                self._start()
        except Exception as error:  # for example, no thread can be started: the call must succeed anyway
            self._last_error = type(error).__name__

    def flush(self, timeout: float = SHUTDOWN) -> bool:
        """Waits until everything recorded so far is stored or dropped; False after `timeout` seconds."""
        if not self._threaded:
            return self.drain()
        marker = threading.Event()
        self._queue.append(marker)
        self._hurry.set()
        self._arrived.set()
        try:
            self._start()
        except RuntimeError:  # no thread can be started: the interpreter is shutting down
            return self.drain()
        return marker.wait(timeout)

    def stop(self, timeout: float = SHUTDOWN) -> bool:
        """Flushes and ends the writer thread. A later `record` starts a new one."""
        flushed = not self._queue or self.flush(timeout)
        thread = self._thread
        if thread is not None:
            self._stopping.set()
            self._hurry.set()
            self._arrived.set()
            thread.join(timeout if flushed else 0)
        return flushed and (thread is None or not thread.is_alive())

    def state(self) -> RecorderState:
        return RecorderState(
            queued=len(self._queue),
            stored=self._stored,
            dropped=self._dropped,
            corrected=self._corrected,
            last_error=self._last_error,
            lag_seconds=self._lag(),
        )

    @async_unsafe("Write telemetry from a thread: sync_to_async(recorder.flush)().")
    def drain(self) -> bool:
        """Stores the queued calls on this thread; False if the database is down and the calls stay queued."""
        with self._writing:
            while batch := self._take():
                if not self._settle(batch):
                    return False
        return True

    def _start(self) -> None:
        if not self._threaded or not self._starting.acquire(blocking=False):
            return
        try:
            if self._thread is None:
                self._stopping.clear()
                self._thread = threading.Thread(target=self._write, name=self._name, daemon=True)
                self._thread.start()
        except BaseException:
            self._thread = None
            raise
        finally:
            self._starting.release()

    def _write(self) -> None:
        """The writer thread's loop: waits for a call, lets the batch fill, stores it."""
        try:
            while not self._stopping.is_set():
                self._arrived.wait()
                self._hurry.wait(self._interval)
                self._arrived.clear()
                self._hurry.clear()
                if not self.drain():
                    self._arrived.set()
                    self._stopping.wait(self._interval)
        finally:
            self._thread = None
            connections.close_all()

    def _take(self) -> list[Item | threading.Event]:
        """Takes the next batch off the queue. Only `drain` calls this, under its lock."""
        size = min(len(self._queue), self._batch)
        return [self._queue.popleft() for _ in range(size)]

    def _settle(self, batch: list[Item | threading.Event]) -> bool:
        items = [item for item in batch if not isinstance(item, threading.Event)]
        try:
            outcome = self._store(items) if items else Stored()
        except Exception as error:
            self._failed(error)
            if self._may_retry():
                self._queue.extendleft(reversed(batch))
                return False
            outcome = Stored(dropped=len(items))
        else:
            self._succeeded(outcome)
        self._count(stored=outcome.stored, dropped=outcome.dropped, corrected=outcome.corrected)
        for item in batch:
            if isinstance(item, threading.Event):
                item.set()
        return True

    def _failed(self, error: Exception) -> None:
        self._last_error = type(error.__cause__ or error).__name__
        if self._failing_since is None:
            self._failing_since = time.monotonic()
            logger.warning("telemetry cannot be stored", extra={"writer": self._name, "error": self._last_error})

    def _may_retry(self) -> bool:
        """Whether the database has been down for less than `patience` seconds, so that calls stay queued."""
        return self._failing_since is None or time.monotonic() - self._failing_since < self._patience

    def _succeeded(self, outcome: Stored) -> None:
        if outcome.last_error:
            self._last_error = outcome.last_error
        if self._failing_since is not None and outcome.stored:
            self._failing_since = None
            logger.warning("telemetry is stored again", extra={"writer": self._name, "dropped": self._dropped})

    def _count(self, *, stored: int = 0, dropped: int = 0, corrected: int = 0) -> None:
        with self._counting:
            self._stored += stored
            self._dropped += dropped
            self._corrected += corrected

    def _lag(self) -> float:
        try:
            oldest = next(item for item in self._queue if not isinstance(item, threading.Event))
            return max(0.0, (datetime.now(UTC) - oldest.at).total_seconds())
        except (StopIteration, RuntimeError, TypeError, AttributeError):  # empty; changed by a thread; invalid items
            return 0.0


class ProcessRecorder(Generic[Item]):
    """The recorder of this process for one kind of items. A forked process starts with an empty recorder: it has no
    writer thread, its parent stores the queued items, and a copied lock may be held."""

    def __init__(self, store: Callable[[Sequence[Item]], Stored], *, name: str) -> None:
        self._make = partial(Recorder, store, name=name)
        self._recorder: Recorder[Item] = self._make()
        os.register_at_fork(after_in_child=self._replace)
        atexit.register(self.stop)

    def record(self, item: Item) -> None:
        """Queues one item: takes a few microseconds, does no I/O, never raises. A full queue drops and counts it."""
        self._recorder.record(item)

    def drain(self) -> bool:
        """Stores the queued items on the calling thread; False if the database is down and they stay queued."""
        return self._recorder.drain()

    def flush(self, timeout: float = SHUTDOWN) -> bool:
        """Blocks until everything recorded so far is stored or dropped; False after `timeout` seconds."""
        return self._recorder.flush(timeout)

    def stop(self, timeout: float = SHUTDOWN) -> bool:
        """For shutdown: flushes for at most `timeout` seconds and ends the writer thread. Safe to call again."""
        return self._recorder.stop(timeout)

    def state(self) -> RecorderState:
        """The recorder's own figures, for /metrics and the dashboards."""
        return self._recorder.state()

    @contextmanager
    def on_callers_thread(self) -> Iterator[None]:
        """For tests: uses a new recorder without a thread; `flush()` writes on the calling thread."""
        ordinary, self._recorder = self._recorder, self._make(threaded=False)
        try:
            yield
        finally:
            self._recorder = ordinary

    def _replace(self) -> None:
        self._recorder = self._make()


_calls: ProcessRecorder[Call] = ProcessRecorder(storage.store, name="telemetry-writer")
record = _calls.record
drain = _calls.drain
flush = _calls.flush
stop = _calls.stop
state = _calls.state
on_callers_thread = _calls.on_callers_thread


def record_answer(**figures: Any) -> None:
    """`record` for applications that do not import telemetry: takes the fields of Call as keyword arguments."""
    record(Call(**figures))
