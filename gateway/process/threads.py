"""Threads for blocking work, of which the one that worked last works next.

It has a warm database connection. SQLite's page cache, for one, is void as soon as another connection has written: with
threads taking turns, every walk that is stored would empty the caches of all the others.
"""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Work = tuple["Future[Any]", Callable[[], Any]]


class WarmThreads(Executor):
    """At most `most` of them; they end with the process."""

    def __init__(self, most: int, name: str) -> None:
        self.most, self.name = most, name
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Work]] = []
        self._waiting: deque[Work] = deque()
        self._started = 0

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        future: Future[T] = Future()
        work = future, partial(fn, *args, **kwargs)
        with self._lock:
            if self._idle:
                self._idle.pop().put(work)
            elif self._started < self.most:
                self._started += 1
                threading.Thread(
                    target=self._run, args=(work,), name=f"{self.name}_{self._started}", daemon=True
                ).start()
            else:
                self._waiting.append(work)
        return future

    def _run(self, work: Work) -> None:
        inbox: SimpleQueue[Work] = SimpleQueue()
        while True:
            _do(*work)
            del work  # and what it holds, while nothing is to be done
            with self._lock:
                if self._waiting:
                    work = self._waiting.popleft()
                    continue
                self._idle.append(inbox)
            work = inbox.get()


def _do(future: "Future[Any]", work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:  # it is its caller's
        future.set_exception(error)
