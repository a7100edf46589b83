"""Reuses a slow result for a while, and recomputes it in the background while requests get the old one."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import DatabaseError, connections

T = TypeVar("T")

QUICK_SECONDS = 0.01  # a result that takes less time is never reused
REUSE = 100  # a result is reused for 100 times its computing time, so computing takes at most 1 % of a processor


class Refreshed(Generic[T]):
    """`get` waits for `make` only the first time, or if `make` is quick. Safe to share between threads."""

    def __init__(self, make: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._make, self._clock = make, clock
        self._lock = threading.Lock()
        self._made: list[T] = []  # none yet, or one
        self._reuse_until = 0.0
        self._is_refreshing = False

    def get(self) -> T:
        """Raises what `make` raises, if there is no result to reuse."""
        if self._made and self._clock() < self._reuse_until:
            return self._made[0]
        if not self._made or self._reuse_until == 0.0:
            return self._refresh()
        old = self._made[0]
        self._refresh_in_background()
        return old

    def _refresh(self) -> T:
        started = self._clock()
        made = self._make()
        seconds = self._clock() - started
        self._made = [made]
        self._reuse_until = self._clock() + seconds * REUSE if REUSE and seconds > QUICK_SECONDS else 0.0
        return made

    def _refresh_in_background(self) -> None:
        with self._lock:
            if self._is_refreshing:
                return
            self._is_refreshing = True
        threading.Thread(target=self._refresh_and_close, name="refresh", daemon=True).start()

    def _refresh_and_close(self) -> None:
        try:
            self._refresh()
        except DatabaseError:
            self._reuse_until = 0.0  # the next request computes the result itself, and sees the error
        finally:
            self._is_refreshing = False
            connections.close_all()
