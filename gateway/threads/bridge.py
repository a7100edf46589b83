"""The only bridge from async code to blocking code (the ORM, and everything that uses it).

The pool of threads is bounded. asgiref's default is a single thread per process, on which one slow query would block
every socket. When a call is cancelled or times out, its query is stopped too.
"""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from functools import partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from gateway.threads.pool import LOOK_SECONDS, WarmThreads

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger(__name__)

POOL_SIZE = 8
# Core size of the pool: threads that compute at once. The others are for calls that wait for the database or a child
# process. SQLite computes in this process: with two threads a list takes three times the processor time, and twice as
# long.
STEADY = 1 if settings.EMBEDDED_DATABASE else 2
# How long work counts towards the core size. Work with Postgres waits for it again and again, if only shortly.
LONG_SECONDS = 0.1 if settings.EMBEDDED_DATABASE else 0.01
STOP_SECONDS = 5.0  # how long the database may take to accept a request to cancel a query
STOP_PAUSES = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)  # seconds after each such request
_pool = WarmThreads(POOL_SIZE, STEADY, "sluice", long_seconds=LONG_SECONDS)
_stopping = WarmThreads(2, 2, "stopping")
_reconsidering: WeakSet[asyncio.AbstractEventLoop] = WeakSet()  # event loops with a pending `_reconsider`

# Tests set this: their transaction is open on one thread, and the pool's threads would not see its data.
on_callers_thread = contextvars.ContextVar("on_callers_thread", default=False)
_running: contextvars.ContextVar["Running | None"] = contextvars.ContextVar("running", default=None)
# The event loop that submitted the thread's work.
_origin_loop: contextvars.ContextVar[asyncio.AbstractEventLoop | None] = contextvars.ContextVar("home", default=None)
CHECK_SECONDS = 0.25  # how often a thread that waits for the event loop checks whether its call was cancelled


class Stopped(Exception):
    """The call was cancelled or timed out, so nothing waits for the result any more."""


class Running:
    """A function on a thread of the pool, whose query can be cancelled from another thread."""

    def __init__(self) -> None:
        self.stopped = False
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._database: BaseDatabaseWrapper | None = None

    def run(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        close_old_connections()
        with self._lock:
            if self.stopped:
                raise Stopped
            self._database = connections[DEFAULT_DB_ALIAS]
        _running.set(self)
        try:
            return function(*args, **kwargs)
        finally:
            with self._lock:  # so that `stop` cannot cancel a query of the connection's next user
                self._database = None
            self._ended.set()
            close_old_connections()

    def stop(self) -> None:
        """Cancels the query repeatedly, until the function has ended or STOP_PAUSES is used up: a new query may start
        just after one was cancelled. Blocks."""
        for pause in STOP_PAUSES:
            with self._lock:
                self.stopped = True
                if self._database is None:
                    return
                _interrupt(self._database)
            if self._ended.wait(pause):
                return


def _interrupt(database: Any) -> None:
    """Cancels the connection's current query, if there is one."""
    raw = database.connection
    try:
        if raw is None:
            return
        if database.vendor == "sqlite":
            raw.interrupt()
        else:
            raw.cancel_safe(timeout=STOP_SECONDS)
    except (database.Database.Error, OSError) as error:
        logger.warning("query not stopped", extra={"error": str(error)})


def check_wanted() -> None:
    """Raises Stopped if nothing waits for the result any more. For use between the steps of long work on a thread."""
    running = _running.get()
    if running is not None and running.stopped:
        raise Stopped


def wait_for(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine on the event loop, for blocking code on a thread. The coroutine itself must not need a thread
    of the pool."""
    loop = _origin_loop.get()
    if loop is None:
        return async_to_sync(work)()
    future = asyncio.run_coroutine_threadsafe(work(), loop)
    try:
        while not future.done():
            wait([future], timeout=CHECK_SECONDS)
            check_wanted()
    except Stopped:
        future.cancel()
        raise
    return future.result()


async def run_sync(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs blocking `function` off the event loop, and then releases its database connection. Cancelling this coroutine
    also cancels the query."""
    return await run_sync_and(_do_nothing, function, *args, **kwargs)


async def run_sync_and(ended: Callable[[], None], function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Like `run_sync`. `ended` is called on the event loop when the thread is free again; if the call is cancelled,
    that is after this coroutine has ended."""
    if on_callers_thread.get():
        try:
            return await sync_to_async(function, thread_sensitive=True)(*args, **kwargs)
        finally:
            ended()
    running, loop = Running(), asyncio.get_running_loop()
    work = partial(running.run, function, *args, **kwargs)
    context = contextvars.copy_context()
    context.run(_origin_loop.set, loop)
    job = _pool.submit(context.run, work)
    _reconsider_soon(loop)
    try:
        result = await asyncio.wrap_future(job)
    except asyncio.CancelledError:
        job.add_done_callback(lambda _: loop.call_soon_threadsafe(ended))
        _stopping.submit(running.stop)
        raise
    except BaseException:
        ended()
        raise
    ended()
    return result


def _do_nothing() -> None:
    """Does nothing, for calls without a concurrency limit."""


def _reconsider_soon(loop: asyncio.AbstractEventLoop) -> None:
    """Schedules a check while work is queued, because blocked and long work stops counting as running. One timer per
    event loop checks for all queued work."""
    if _pool.has_queued_work and loop not in _reconsidering:
        _reconsidering.add(loop)
        loop.call_later(LOOK_SECONDS, _reconsider, loop)


def _reconsider(loop: asyncio.AbstractEventLoop) -> None:
    _reconsidering.discard(loop)
    _pool.reconsider()
    _reconsider_soon(loop)
