"""A pool of long-lived child processes. Each runs one job at a time, until the pool is stopped."""

import multiprocessing
import multiprocessing.util
import signal
import threading
from collections.abc import Callable

from pebble import ProcessPool


class ChildProcesses:
    """`most`: how many there are at the same time. `prepare`: a function of a module, which each process calls when it
    starts. They start with the first work of their pool, and end at the latest with the process that started them."""

    def __init__(self, most: int, prepare: Callable[[], None]) -> None:
        self._most, self._prepare = most, prepare
        self._lock = threading.RLock()  # a signal may call `stop` while this thread has it
        self._end: multiprocessing.util.Finalize | None = None
        self._pool: ProcessPool | None = None

    @property
    def are_started(self) -> bool:
        return self._pool is not None and self._pool.active

    def pool(self) -> ProcessPool:
        """The pool that takes work. A pool of which a process ended without work, such as one that was killed for
        want of memory, never works again: another takes its place."""
        with self._lock:
            if self._pool is not None and not self._pool.active:
                threading.Thread(target=_end, args=(self._pool,), daemon=True).start()  # who calls does not wait
                self._pool = None
            if self._pool is None:
                context = multiprocessing.get_context("spawn")
                # A process that ends waits for its children: they must have been told to end.
                self._end = self._end or multiprocessing.util.Finalize(None, self.stop, exitpriority=0)
                self._pool = ProcessPool(self._most, initializer=_initialize, initargs=[self._prepare], context=context)
            return self._pool

    def stop(self) -> None:
        """Blocks until the processes have ended. Later work starts others."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool:
            _end(pool)


def _end(pool: ProcessPool) -> None:
    """Blocks until its processes and threads have ended."""
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()


def _initialize(prepare: Callable[[], None]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which stops these processes itself
    prepare()
