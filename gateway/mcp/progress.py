"""Word of a call that takes long, to a client that asked for it: within two seconds, and every two seconds."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mcp.server import ServerRequestContext

REPORT_SECONDS = 1.5  # so that an update has arrived every 2 seconds


@contextmanager
def reported(ctx: ServerRequestContext[Any], what: str) -> Iterator[None]:
    """Reports the seconds that what is inside has taken, for as long as it takes. Who did not ask hears nothing."""
    reporter = _Reporter(ctx, what)
    try:
        yield
    finally:
        reporter.stop()


class _Reporter:
    """Costs a call that is quick no task, only a timer."""

    def __init__(self, ctx: ServerRequestContext[Any], what: str) -> None:
        self.ctx = ctx
        self.what = what
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._start)

    def _start(self) -> None:
        self._task = asyncio.create_task(self._report())

    async def _report(self) -> None:
        seconds = REPORT_SECONDS
        while True:
            await self.ctx.session.report_progress(seconds, None, f"{self.what}: {seconds:g} s so far")
            await asyncio.sleep(REPORT_SECONDS)
            seconds += REPORT_SECONDS

    def stop(self) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
