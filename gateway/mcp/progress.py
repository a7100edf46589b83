"""Word of a call that takes long, to a client that asked for it: what its upstream says; where that is silent, that it
still runs: within two seconds, and every two seconds."""

import asyncio
import logging
import math
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import ServerRequestContext

from gateway.dispatch.progress import listener

REPORT_SECONDS = 1.5  # so that an update has arrived every 2 seconds
MOST_WAITING = 32  # reports that a client has not yet taken; of more, the oldest are left out
LAST_SECONDS = 1.0  # for the last of them, before the answer

logger = logging.getLogger(__name__)

Report = tuple[float, float | None, str | None]


@asynccontextmanager
async def reported(ctx: ServerRequestContext[Any], what: str) -> AsyncIterator[None]:
    """Reports what is inside, for as long as it takes. Who did not ask hears nothing, and no upstream is asked."""
    reporter = _Reporter(ctx, what)
    before = listener.set(reporter.heard if "progress_token" in (ctx.meta or {}) else None)
    try:
        yield
        await reporter.told()
    finally:
        listener.reset(before)
        reporter.stop()


class _Reporter:
    """Costs a call that is quick no task, only a timer."""

    def __init__(self, ctx: ServerRequestContext[Any], what: str) -> None:
        self.ctx, self.what = ctx, what
        self._waiting: deque[Report] = deque(maxlen=MOST_WAITING)
        self._seconds, self._said = 0.0, -math.inf
        self._is_heard = False  # upstream, since the last look
        self._follows_upstream = False  # whose figures go on as they are, with ours between them
        self._is_over = False
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._look)

    def heard(self, progress: float, total: float | None, message: str | None) -> None:
        """What upstream says of it."""
        self._is_heard = self._follows_upstream = True
        self._say((progress, total, message))

    async def told(self) -> None:
        """Returns when the client has been told all, or takes no more."""
        if self._task is not None and not self._task.done():  # the last report may have left the queue, unsent
            await asyncio.wait([self._task], timeout=LAST_SECONDS)

    def stop(self) -> None:
        """From here on nothing is told: what upstream says later would come after the answer."""
        self._is_over = True
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _look(self) -> None:
        self._seconds += REPORT_SECONDS
        if not (self._is_heard or self._waiting):
            after = math.nextafter(self._said, math.inf) if self._follows_upstream else self._seconds
            self._say((after, None, f"{self.what}: {self._seconds:g} s so far"))
        self._is_heard = False
        self._timer = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._look)

    def _say(self, report: Report) -> None:
        if self._is_over:
            return
        self._waiting.append(report)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        try:
            while self._waiting:
                await self.ctx.session.report_progress(*self._rising(*self._waiting.popleft()))
        except Exception as error:  # a client that has gone, which the call finds out by itself
            logger.debug("progress not told", extra={"error": type(error).__name__})

    def _rising(self, progress: float, total: float | None, message: str | None) -> Report:
        """A progress has to rise with each report. One that does not, since ours was before it or upstream begins anew,
        is told in words."""
        if progress > self._said:
            self._said = progress
            return progress, total, message
        self._said = math.nextafter(self._said, math.inf)
        of = "" if total is None else f" of {total:g}"
        return self._said, None, f"{message or self.what} ({progress:g}{of})"
