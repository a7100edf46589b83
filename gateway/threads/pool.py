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
    """At most `most` daemon threads. At most `steady` of them run at once; one that has worked for longer than
    LONG_SECONDS no longer counts. Queued work starts when a thread has finished, or when `reconsider` finds that
    running ones no longer count."""

    def __init__(self, most: int, steady: int, name: str) -> None:
        self.most, self.steady, self.name = most, steady, name
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Work]] = []
        self._waiting: deque[Work] = deque()
        self._started_at: dict[int, float] = {}  # busy threads by their queue's id, with their start times
        self._threads_made = 0

    @property
    def is_waited_for(self) -> bool:
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
        while self._waiting and len(self._started_at) < self.most and self._running_count(now) < self.steady:
            work = self._waiting.popleft()
            if self._idle:
                inbox = self._idle.pop()
            else:
                inbox = SimpleQueue()
                self._threads_made += 1
                name = f"{self.name}_{self._threads_made}"
                threading.Thread(target=self._run, args=(inbox,), name=name, daemon=True).start()
            self._started_at[id(inbox)] = now
            inbox.put(work)

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
    except BaseException as error:  # the caller handles it
        future.set_exception(error)
