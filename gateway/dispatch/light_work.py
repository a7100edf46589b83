"""Decides which payloads are protected on the event loop: those that take less time than a switch to a thread."""

import gc
import math
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeGuard, TypeVar

from django.core.exceptions import SynchronousOnlyOperation

from context_protection.core.payloads import Payload, Record
from context_protection.core.rows import MemoryRows
from context_protection.core.upstream_pages import PagedRows
from context_protection.stores.snapshots import snapshots
from gateway.catalog.operation import NativeResult
from gateway.dispatch.request import PreparedCall

T = TypeVar("T")
MAX_BYTES = 128 * 1024  # size up to which an upstream's answer counts as small; a hostile one takes up to 1.3 s
HEAVY_ARGUMENTS = frozenset({"where", "aggregate"})
QUICK_SECONDS = 0.02  # processor time up to which work counts as quick
# Seconds for which threads protect the answers of an operation that was slow on the event loop. The first pause is
# short, because a busy machine slows any answer now and then; each further one is twice as long, up to LONGEST_PAUSE.
# Any pause is at least PAUSES times as long as the work took, so no upstream can block the event loop for more than a
# small share.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
PAUSES = 40


def is_light(prepared: PreparedCall, payload: Payload | NativeResult) -> bool:
    """Whether protection of a small answer is usually quick and needs no store that blocks: for a list or record of
    known shape, answered in its default form."""
    if not snapshots.store.defers_writes:
        return False
    has_shape = isinstance(payload, MemoryRows | PagedRows | Record) and bool(payload.shape.canonical)
    return has_shape and _is_plain(prepared)


def is_small(size: int | None) -> TypeGuard[int]:
    """`size`: of an answer, as in Fetched."""
    return size is not None and size <= MAX_BYTES


def _is_plain(prepared: PreparedCall) -> bool:
    request, policy = prepared.request, prepared.policy
    is_chosen = request.snapshot or request.fields is not None or request.format is not None or request.pages
    is_searched = request.search is not None or not HEAVY_ARGUMENTS.isdisjoint(request.arguments)
    return not (is_chosen or is_searched) and policy.summarization and policy.pagination


class _Collector(threading.local):
    """Sums the seconds of processor time that Python's garbage collector takes on this thread: it runs in the middle of
    any work, for what other calls have allocated."""

    seconds = began = 0.0

    def note(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self.began = time.thread_time()
        else:
            self.seconds += time.thread_time() - self.began


_collector = _Collector()
gc.callbacks.append(_collector.note)


class Pace:
    """Knows which operations' light answers are quick to protect. A thread protects an operation's answers until one of
    about the same size was quick, and again for a pause after a slow one of any size, so no upstream can often block
    the event loop. The pages of an upstream's list are redacted one at a time before the list is protected, and are
    timed separately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._quick: set[tuple[str, int]] = set()  # names and sizes of work that was quick on a thread
        self._paused_until: dict[str, float] = {}  # by the name of the work
        self._pauses: dict[str, float] = {}  # by the name of the work: the length of its last pause

    def is_quick(self, name: str, size: int) -> bool:
        return (name, _rounded(size)) in self._quick and self._paused_until.get(name, -math.inf) <= self._clock()

    def on_thread(self, name: str, size: int, work: Callable[[], T]) -> T:
        began = _own_seconds()
        result = work()
        if _own_seconds() - began <= QUICK_SECONDS:
            self._quick.add((name, _rounded(size)))
        return result

    def on_loop(self, name: str, work: Callable[[], T]) -> T:
        began = _own_seconds()
        try:
            return work()
        finally:
            taken = _own_seconds() - began
            if taken > QUICK_SECONDS:
                self._pause(name, taken)

    def _pause(self, name: str, taken: float) -> None:
        now = self._clock()
        is_first = now > self._paused_until.get(name, -math.inf) + LONGEST_PAUSE
        usual = FIRST_PAUSE if is_first else min(2 * self._pauses[name], LONGEST_PAUSE)
        self._pauses[name] = max(usual, PAUSES * taken)
        self._paused_until[name] = now + self._pauses[name]


def _rounded(size: int) -> int:
    """Equal for sizes between two powers of 2."""
    return size.bit_length()


def _own_seconds() -> float:
    """The processor time of this thread, apart from the collector's."""
    return time.thread_time() - _collector.seconds


pace = Pace()


async def run(name: str, size: int, work: Callable[[], T], on_thread: Callable[[Callable[[], T]], Awaitable[T]]) -> T:
    """Runs work that is usually light, on the event loop if it is quick. `name`: work of the same name is timed
    together. `size`: bytes that it processes."""
    if pace.is_quick(name, size):
        with suppress(SynchronousOnlyOperation):  # it blocks after all, for example if the configuration has changed
            return pace.on_loop(name, work)
    return await on_thread(partial(pace.on_thread, name, size, work))
