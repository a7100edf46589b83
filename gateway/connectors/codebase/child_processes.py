"""A pool of long-lived child processes. Each runs one job at a time, until the pool is stopped."""

import multiprocessing
import multiprocessing.util
import signal
import threading
from collections.abc import Callable

from pebble import ProcessPool


class ChildProcesses:
    """`most`: the number of processes. `prepare`: a module-level function that each process calls when it starts. The
    processes start when the pool gets its first job, and end no later than the process that started them."""

    def __init__(self, most: int, prepare: Callable[[], None]) -> None:
        self._most, self._prepare = most, prepare
        self._lock = threading.RLock()  # a signal handler may call `stop` while this thread holds it
        self._end: multiprocessing.util.Finalize | None = None
        self._pool: ProcessPool | None = None

    @property
    def are_started(self) -> bool:
        return self._pool is not None and self._pool.active

    def pool(self) -> ProcessPool:
        """The pool that takes jobs. A pool stops working for good if one of its idle processes dies, for example
        because memory ran out. A new pool then replaces it."""
        with self._lock:
            if self._pool is not None and not self._pool.active:
                threading.Thread(target=_end, args=(self._pool,), daemon=True).start()  # the caller does not wait
                self._pool = None
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                # A process that exits waits for its children, so they must be told to end before that.
                self._end = self._end or multiprocessing.util.Finalize(None, self.stop, exitpriority=0)
                self._pool = ProcessPool(self._most, initializer=_initialize, initargs=[self._prepare], context=context)
            return self._pool

    def stop(self) -> None:
        """Blocks until the processes have ended. A later job starts new ones."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool:
            _end(pool)


def _end(pool: ProcessPool) -> None:
    """Blocks until its processes and threads have ended."""
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()


def _initialize(prepare: Callable[[], None]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops these processes itself
    prepare()
