"""Progress reports for a client that requested them: what the upstream reports, or, while the upstream is silent, that
the call still runs. A report arrives at least every two seconds."""

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import ServerRequestContext

from gateway.dispatch.progress import listener

REPORT_SECONDS = 1.5  # leaves time for a report to arrive every 2 seconds
MOST_WAITING = 32  # unsent reports; the oldest are dropped first
LAST_SECONDS = 1.0  # to send the last reports before the answer

logger = logging.getLogger(__name__)

Report = tuple[float, float | None, str | None]


@asynccontextmanager
async def reported(ctx: ServerRequestContext[Any], what: str) -> AsyncIterator[None]:
    """Reports the progress of the block. If the client did not request it, the upstream is not asked for it either."""
    reporter = _Reporter(ctx, what)
    previous = listener.set(reporter.upstream_reported if "progress_token" in (ctx.meta or {}) else None)
    try:
        yield
        await reporter.flushed()
    finally:
        listener.reset(previous)
        reporter.stop()


class _Reporter:
    """Reports one call's progress. A quick call costs only a timer, no task."""

    def __init__(self, ctx: ServerRequestContext[Any], what: str) -> None:
        self.ctx, self.what = ctx, what
        self._queue: deque[Report] = deque(maxlen=MOST_WAITING)
        self._seconds, self._last_progress = 0.0, -math.inf
        self._has_upstream_reported = False  # whether upstream has reported since the last tick
        self._follows_upstream = False  # then our own reports raise the figure only minimally
        self._is_stopped = False
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._tick)

    def upstream_reported(self, progress: float, total: float | None, message: str | None) -> None:
        """Takes a report of the upstream."""
        self._has_upstream_reported = self._follows_upstream = True
        self._enqueue((progress, total, message))

    async def flushed(self) -> None:
        """Returns when all reports are sent, or after LAST_SECONDS if the client does not read."""
        if self._task is not None and not self._task.done():  # the last report may have left the queue, unsent
            await asyncio.wait([self._task], timeout=LAST_SECONDS)

    def stop(self) -> None:
        """Ends reporting. A later report of the upstream would arrive after the answer."""
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
                await self.ctx.session.report_progress(*self._increasing(*self._queue.popleft()))
        except Exception as error:  # the client has disconnected; the call notices that by itself
            logger.debug("progress not told", extra={"error": type(error).__name__})

    def _increasing(self, progress: float, total: float | None, message: str | None) -> Report:
        """The protocol requires progress to increase with each report. A figure that does not increase (our own report
        was higher, or upstream started over) goes into the message instead."""
        if progress > self._last_progress:
            self._last_progress = progress
            return progress, total, message
        self._last_progress = math.nextafter(self._last_progress, math.inf)
        of = "" if total is None else f" of {total:g}"
        return self._last_progress, None, f"{message or self.what} ({progress:g}{of})"
