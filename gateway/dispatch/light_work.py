"""Decides which payloads are protected on the event loop: those that take less time than a switch to a thread."""

import gc
import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from django.core.exceptions import SynchronousOnlyOperation

from context_protection.core.payloads import Payload, Record
from context_protection.core.rows import MemoryRows
from context_protection.core.upstream_pages import PagedRows
from context_protection.stores.snapshots import snapshots
from gateway.catalog.operation import NativeResult
from gateway.dispatch.request import PreparedCall

T = TypeVar("T")
MAX_BYTES = 256 * 1024  # size up to which an upstream's answer counts as small
HEAVY_ARGUMENTS = frozenset({"where", "aggregate"})
QUICK_SECONDS = 0.02  # processor time up to which work counts as quick
# Seconds for which threads protect the answers of an operation that was slow on the event loop. The first pause is
# short, because a busy machine slows any answer now and then; each further one is twice as long.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


def is_light(prepared: PreparedCall, payload: Payload | NativeResult, size: int | None) -> bool:
    """Whether protection is usually quick and needs no store that blocks: for a small list or record of known shape,
    answered in its default form. `size`: as in Fetched."""
    if not is_small(size) or not snapshots.store.defers_writes:
        return False
    has_shape = isinstance(payload, MemoryRows | PagedRows | Record) and bool(payload.shape.canonical)
    return has_shape and _is_plain(prepared)


def is_small(size: int | None) -> bool:
    return size is not None and size <= MAX_BYTES


def _is_plain(prepared: PreparedCall) -> bool:
    request, policy = prepared.request, prepared.policy
    is_chosen = request.snapshot or request.fields is not None or request.format is not None or request.pages
    is_searched = request.search is not None or not HEAVY_ARGUMENTS.isdisjoint(request.arguments)
    return not (is_chosen or is_searched) and policy.summarization and policy.pagination


class _Collector:
    """Sums the seconds of processor time that Python's garbage collector takes: it runs in the middle of any work, for
    what other calls have allocated."""

    def __init__(self) -> None:
        self.seconds = self._began = 0.0
        gc.callbacks.append(self._note)

    def _note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._began = time.thread_time()
        else:
            self.seconds += time.thread_time() - self._began


_collector = _Collector()


class Pace:
    """Knows which operations' light answers are quick to protect. A thread protects an operation's answers until one
    was quick, and again for a pause after a slow one, so no upstream can often block the event loop. The pages of an
    upstream's list are redacted one at a time before the list is protected, and are timed separately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._quick_from: dict[str, float] = {}  # name of work → when it may run on the event loop
        self._pauses: dict[str, float] = {}  # name of work → the length of its last pause

    def is_quick(self, operation: str) -> bool:
        return self._quick_from.get(operation, math.inf) <= self._clock()

    def on_thread(self, operation: str, work: Callable[[], T]) -> T:
        began = _own_seconds()
        result = work()
        if _own_seconds() - began <= QUICK_SECONDS:
            self._quick_from.setdefault(operation, -math.inf)
        return result

    def on_loop(self, operation: str, work: Callable[[], T]) -> T:
        began = _own_seconds()
        try:
            return work()
        finally:
            if _own_seconds() - began > QUICK_SECONDS:
                self._pause(operation)

    def _pause(self, operation: str) -> None:
        now = self._clock()
        is_first = now > self._quick_from[operation] + LONGEST_PAUSE
        pause = FIRST_PAUSE if is_first else min(2 * self._pauses[operation], LONGEST_PAUSE)
        self._pauses[operation], self._quick_from[operation] = pause, now + pause


def _own_seconds() -> float:
    """The processor time of this thread, apart from the collector's."""
    return time.thread_time() - _collector.seconds


pace = Pace()


async def run(
    name: str, size: int | None, work: Callable[[], T], on_thread: Callable[[Callable[[], T]], Awaitable[T]]
) -> T:
    """Runs work that is usually light, on the event loop if it is quick. `name`: work of the same name is timed
    together, if it is of about the same `size` (in bytes), so that small answers say nothing about large ones."""
    name = f"{name} {(size or 0).bit_length()}"
    if pace.is_quick(name):
        with suppress(SynchronousOnlyOperation):  # it blocks after all, for example if the configuration has changed
            return pace.on_loop(name, work)
    return await on_thread(partial(pace.on_thread, name, work))
