"""The recorder of this process, which stores a measurement for each call.

    record(measurement)  ─►  BatchWriter  ─►  storage.store()

Other items from the hot path (rejected keys, samples to audit) have their own writers.

Tests: a writer thread cannot see a test's transaction. Inside `with recorder.on_callers_thread():` no thread is
started, and `flush()` writes on the thread that calls it.
"""

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic

from telemetry import storage
from telemetry.batch_writer import SHUTDOWN, BatchWriter, Item, WriterState
from telemetry.measurement import Measurement
from telemetry.storage import PendingCall, StoreResult


class ProcessRecorder(Generic[Item]):
    """This process's writer for one kind of item; `limits` are those of BatchWriter. A forked process gets a new
    writer: the copy has no thread, its lock may be held, and the parent stores the queued items."""

    def __init__(self, store: Callable[[Sequence[Item]], StoreResult], *, name: str, **limits: Any) -> None:
        self._make = partial(BatchWriter, store, name=name, **limits)
        self._writer: BatchWriter[Item] = self._make()
        os.register_at_fork(after_in_child=self._replace)
        atexit.register(self.stop)

    def record(self, item: Item) -> None:
        """Queues one item in a microsecond, without I/O; never raises. A full queue drops and counts the
        oldest item."""
        self._writer.put(item)

    def flush(self, timeout: float = SHUTDOWN) -> bool:
        """Blocks until everything recorded so far is stored or dropped; see BatchWriter.flush."""
        return self._writer.flush(timeout)

    def stop(self, timeout: float = SHUTDOWN) -> bool:
        """Flushes for at most `timeout` seconds and ends the writer thread, at shutdown. Safe to call again."""
        return self._writer.stop(timeout)

    def state(self) -> WriterState:
        """The writer's own figures, for /metrics and the dashboards."""
        return self._writer.state()

    @contextmanager
    def on_callers_thread(self) -> Iterator[None]:
        """Uses a new writer without a thread, in tests; `flush()` writes on the calling thread."""
        ordinary, self._writer = self._writer, self._make(threaded=False)
        try:
            yield
        finally:
            self._writer = ordinary

    def _replace(self) -> None:
        self._writer = self._make()


_calls: ProcessRecorder[PendingCall] = ProcessRecorder(storage.store, name="telemetry-writer")
record = _calls.record
flush = _calls.flush
stop = _calls.stop
state = _calls.state
on_callers_thread = _calls.on_callers_thread


def record_answer(**figures: Any) -> None:
    """`record` for applications that do not import telemetry: takes the fields of Measurement as keyword arguments.
    Omitted fields count as not measured."""
    record(Measurement.with_defaults(**figures))
