"""A thread pool for blocking work. Few threads are active at once, and the most recently used one gets the next work.
More start only while others are blocked or take long.

Python's threads take turns, and switching is expensive: eight active threads need two to three times the processor time
of one or two for the same work. The most recently used thread also has a warm database connection: SQLite's page cache,
for example, becomes invalid as soon as another connection has written.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Work = tuple["Future[Any]", Callable[[], Any]]
LOOK_SECONDS = 0.01  # how often a thread's processor time is read
# A thread that uses less until the next look is blocked. One that waits for the GIL uses more (8 µs were measured),
# because it wakes every 5 ms to ask for its turn.
LEAST_USED = 3e-6  # seconds of processor time


class _Worker:
    """A thread. `is_blocked`: whether it waited for something else than the GIL when last looked at."""

    __slots__ = ("_clock", "_used", "inbox", "is_blocked", "looked_at", "started_at")

    def __init__(self) -> None:
        self.inbox: SimpleQueue[Work] = SimpleQueue()
        self._clock: int | None = None
        self._used = 0.0

    def read_clock_of(self, thread: threading.Thread) -> None:
        if thread.ident is not None and hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(thread.ident)

    def start(self, work: Work, now: float) -> None:
        self.started_at = self.looked_at = now
        self._used, self.is_blocked = self._cpu_seconds(), False
        self.inbox.put(work)

    def is_running(self, now: float, long_seconds: float) -> bool:
        if now - self.looked_at > LOOK_SECONDS:
            used = self._cpu_seconds()
            self.is_blocked = used - self._used < LEAST_USED
            self.looked_at, self._used = now, used
        return not self.is_blocked and now - self.started_at < long_seconds

    def _cpu_seconds(self) -> float:
        """The processor time of the thread; unchanged if the system does not tell it, or if the thread is gone."""
        if self._clock is not None:
            with suppress(OSError):
                return time.clock_gettime(self._clock)
        return self._used


class WarmThreads(Executor):
    """At most `max_threads` daemon threads. At most `core_size` of them run at once; blocked threads and those that
    have worked for longer than `long_seconds` do not count.

    Queued work starts when a thread finishes, or when `reconsider` finds that a thread no longer counts as running. If
    the system allows no more threads and none is busy, the work fails with that RuntimeError."""

    def __init__(self, max_threads: int, core_size: int, name: str, *, long_seconds: float = LOOK_SECONDS) -> None:
        self.max_threads, self.core_size, self.name, self.long_seconds = max_threads, core_size, name, long_seconds
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._waiting: deque[Work] = deque()
        self._threads_made = 0

    @property
    def has_queued_work(self) -> bool:
        return bool(self._waiting)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append((future, partial(fn, *args, **kwargs)))
            self._start_queued()
        return future

    def reconsider(self) -> None:
        with self._lock:
            self._start_queued()

    def _start_queued(self) -> None:
        """Starts queued work as far as the limits allow. The caller holds the lock."""
        now = time.monotonic()
        while self._waiting and len(self._busy) < self.max_threads and self._running_count(now) < self.core_size:
            try:
                worker = self._idle.pop() if self._idle else self._new_worker()
            except RuntimeError as error:  # the system allows no more threads
                if self._busy:  # one of them will do it
                    break
                self._waiting.popleft()[0].set_exception(error)
                continue
            self._busy.add(worker)
            worker.start(self._waiting.popleft(), now)

    def _new_worker(self) -> _Worker:
        worker, name = _Worker(), f"{self.name}_{self._threads_made + 1}"
        thread = threading.Thread(target=self._run, args=(worker,), name=name, daemon=True)
        thread.start()
        self._threads_made += 1
        worker.read_clock_of(thread)
        return worker

    def _running_count(self, now: float) -> int:
        return sum(worker.is_running(now, self.long_seconds) for worker in self._busy)

    def _run(self, worker: _Worker) -> None:
        while True:
            _do(*worker.inbox.get())
            with self._lock:
                self._busy.remove(worker)
                self._idle.append(worker)
                self._start_queued()


def _do(future: "Future[Any]", work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # whoever reads the future handles it
        future.set_exception(error)
