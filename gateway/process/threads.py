"""Threads for blocking work: few that work, of which the one that worked last works next; more only while some wait.

Python's threads take turns, and each turn costs: eight that work at once take two to three times the processor time of
one or two for the same work. And the one that worked last has a warm database connection: SQLite's page cache, for one,
is void as soon as another connection has written.
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
LONG_SECONDS = 0.01  # work that has taken so long most likely waits for something, and not for its turn


class WarmThreads(Executor):
    """At most `most` threads, that end with the process. Beside those that are long at it, `steady` work at once; what
    waits is begun when one has finished, or when `reconsider` finds that others have become long."""

    def __init__(self, most: int, steady: int, name: str) -> None:
        self.most, self.steady, self.name = most, steady, name
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Work]] = []
        self._waiting: deque[Work] = deque()
        self._begun: dict[int, float] = {}  # the threads that work, and since when
        self._started = 0

    @property
    def is_waited_for(self) -> bool:
        return bool(self._waiting)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append((future, partial(fn, *args, **kwargs)))
            self._begin()
        return future

    def reconsider(self) -> None:
        with self._lock:
            self._begin()

    def _begin(self) -> None:
        """Begins what may be begun now. The lock is held."""
        now = time.monotonic()
        while self._waiting and len(self._begun) < self.most and self._at_work(now) < self.steady:
            work = self._waiting.popleft()
            if self._idle:
                inbox = self._idle.pop()
            else:
                inbox = SimpleQueue()
                self._started += 1
                name = f"{self.name}_{self._started}"
                threading.Thread(target=self._run, args=(inbox,), name=name, daemon=True).start()
            self._begun[id(inbox)] = now
            inbox.put(work)

    def _at_work(self, now: float) -> int:
        return sum(begun > now - LONG_SECONDS for begun in self._begun.values())

    def _run(self, inbox: "SimpleQueue[Work]") -> None:
        while True:
            _do(*inbox.get())
            with self._lock:
                del self._begun[id(inbox)]
                self._idle.append(inbox)
                self._begin()


def _do(future: "Future[Any]", work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # it is its caller's
        future.set_exception(error)
