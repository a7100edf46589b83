"""A thread pool for blocking work. Few threads are active at once, and the most recently used one gets the next work.
More start only while others are blocked.

Python's threads take turns, and switching is expensive: eight active threads need two to three times the processor time
of one or two for the same work. The most recently used thread also has a warm database connection: SQLite's page cache,
for example, becomes invalid as soon as another connection has written.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Work = tuple["Future[Any]", Callable[[], Any]]
LONG_SECONDS = 0.01  # work that has run this long is probably blocked, not waiting for the GIL


class WarmThreads(Executor):
    """At most `max_threads` daemon threads, of which at most `core_size` run at once. A thread that has worked for
    longer than LONG_SECONDS is taken for blocked and no longer counts as running.

    Queued work starts when a thread finishes, or when `reconsider` finds that a running thread has become blocked."""

    def __init__(self, max_threads: int, core_size: int, name: str) -> None:
        self.max_threads, self.core_size, self.name = max_threads, core_size, name
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Work]] = []
        self._waiting: deque[Work] = deque()
        self._started_at: dict[int, float] = {}  # id of a busy thread's queue → when its work started
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
        while self._waiting and len(self._started_at) < self.max_threads and self._running_count(now) < self.core_size:
            work = self._waiting.popleft()
            inbox = self._idle.pop() if self._idle else self._new_thread()
            self._started_at[id(inbox)] = now
            inbox.put(work)

    def _new_thread(self) -> SimpleQueue[Work]:
        """Starts a thread, and returns the queue that it takes its work from."""
        inbox: SimpleQueue[Work] = SimpleQueue()
        self._threads_made += 1
        name = f"{self.name}_{self._threads_made}"
        threading.Thread(target=self._run, args=(inbox,), name=name, daemon=True).start()
        return inbox

    def _running_count(self, now: float) -> int:
        return sum(start > now - LONG_SECONDS for start in self._started_at.values())

    def _run(self, inbox: "SimpleQueue[Work]") -> None:
        while True:
            _do(*inbox.get())
            with self._lock:
                del self._started_at[id(inbox)]
                self._idle.append(inbox)
                self._start_queued()


def _do(future: "Future[Any]", work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # whoever reads the future handles it
        future.set_exception(error)
