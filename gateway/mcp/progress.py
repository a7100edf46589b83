"""Progress reports for clients that requested them: the upstream's reports or, while it is silent, a notice that the
call is still running. A report arrives at least every two seconds."""

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import ServerRequestContext

from gateway.dispatch.progress import listener

REPORT_SECONDS = 1.5  # leaves time for a report to arrive every 2 seconds
MAX_WAITING = 32  # unsent reports; the oldest are dropped first
LAST_SECONDS = 1.0  # time to send the last reports before the answer

logger = logging.getLogger(__name__)

Report = tuple[float, float | None, str | None]
SendReport = Callable[[float, float | None, str | None], Awaitable[None]]


@asynccontextmanager
async def reported_to(ctx: ServerRequestContext[Any], what: str) -> AsyncIterator[None]:
    """Like `reported`, for the client of an SDK request. A client in this process has no token, but gets our own
    reports; the SDK drops reports that nobody requested."""
    async with reported(ctx.session.report_progress, what, asks_upstream="progress_token" in (ctx.meta or {})):
        yield


def notification(token: str | int, progress: float, total: float | None, message: str | None) -> dict[str, Any]:
    """The JSON-RPC message of a report."""
    params = {"progressToken": token, "progress": progress, "total": total, "message": message}
    given = {name: each for name, each in params.items() if each is not None}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": given}


@asynccontextmanager
async def reported(send: SendReport | None, what: str, *, asks_upstream: bool = True) -> AsyncIterator[None]:
    """Reports the progress of the block. `send`: None if the client did not request progress."""
    if send is None:
        yield
        return
    reporter = _Reporter(send, what)
    previous = listener.set(reporter.upstream_reported if asks_upstream else None)
    try:
        yield
        await reporter.flushed()
    finally:
        listener.reset(previous)
        reporter.stop()


class _Reporter:
    """Reports one call's progress. A quick call costs only a timer, no task."""

    def __init__(self, send: SendReport, what: str) -> None:
        self.send, self.what = send, what
        self._queue: deque[Report] = deque(maxlen=MAX_WAITING)
        self._seconds, self._last_progress = 0.0, -math.inf
        self._has_upstream_reported = False  # whether the upstream has reported since the last tick
        self._follows_upstream = False  # whether it has ever reported; our own reports then raise the value minimally
        self._is_stopped = False
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._tick)

    def upstream_reported(self, progress: float, total: float | None, message: str | None) -> None:
        self._has_upstream_reported = self._follows_upstream = True
        self._enqueue((progress, total, message))

    async def flushed(self) -> None:
        """Waits until all reports are sent, but at most LAST_SECONDS, in case the client does not read."""
        if self._task is not None and not self._task.done():  # the last report may be dequeued but unsent
            await asyncio.wait([self._task], timeout=LAST_SECONDS)

    def stop(self) -> None:
        """Ends reporting. Drops later reports of the upstream, which would arrive after the answer."""
        self._is_stopped = True
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _tick(self) -> None:
        self._seconds += REPORT_SECONDS
        if not (self._has_upstream_reported or self._queue):
            after = math.nextafter(self._last_progress, math.inf) if self._follows_upstream else self._seconds
            self._enqueue((after, None, f"{self.what}: {self._seconds:g} s so far"))
        self._has_upstream_reported = False
        self._timer = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._tick)

    def _enqueue(self, report: Report) -> None:
        if self._is_stopped:
            return
        self._queue.append(report)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._send_queued())

    async def _send_queued(self) -> None:
        try:
            while self._queue:
                await self.send(*self._increasing(*self._queue.popleft()))
        except Exception as error:  # the client has disconnected; the call detects that itself
            logger.debug("progress not sent", extra={"error": type(error).__name__})

    def _increasing(self, progress: float, total: float | None, message: str | None) -> Report:
        """The protocol requires progress to increase with each report. A value that does not increase (our own report
        was higher, or the upstream started over) goes into the message instead."""
        if progress > self._last_progress:
            self._last_progress = progress
            return progress, total, message
        self._last_progress = math.nextafter(self._last_progress, math.inf)
        of = "" if total is None else f" of {total:g}"
        return self._last_progress, None, f"{message or self.what} ({progress:g}{of})"
