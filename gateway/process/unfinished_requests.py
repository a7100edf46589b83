"""Limits the time and the number of connections whose request has not fully arrived.

The number is limited per process and not per address, because behind a proxy all clients have the proxy's address.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

MAX_UNFINISHED = 500  # beyond this, the oldest connection is closed when a new one arrives
GRACE_SECONDS = 2.0  # a younger connection is not closed: after a restart, thousands of clients connect at once


@dataclass(eq=False, slots=True)
class Watch:
    """The deadline of one unfinished request. `close` closes its connection, and is called at most once."""

    began: float
    close: Callable[[], None]
    timer: asyncio.TimerHandle


class Unfinished:
    """The unfinished requests of one process. Connections younger than `grace` seconds are closed only by deadline."""

    def __init__(self, most: int = MAX_UNFINISHED, grace: float = GRACE_SECONDS) -> None:
        self.most, self.grace = most, grace
        self._watches: dict[Watch, None] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._watches)

    def watch(self, loop: asyncio.AbstractEventLoop, seconds: float, close: Callable[[], None]) -> Watch:
        """Calls `close` after `seconds`, or earlier if there are too many connections, unless `end` is
        called first."""
        watch = Watch(loop.time(), close, loop.call_later(seconds, close))
        self._watches[watch] = None
        if len(self._watches) > self.most:
            self._close_oldest(watch.began)
        return watch

    def end(self, watch: Watch) -> None:
        watch.timer.cancel()
        self._watches.pop(watch, None)

    def _close_oldest(self, now: float) -> None:
        oldest = next(iter(self._watches))
        if now - oldest.began >= self.grace:
            self.end(oldest)
            oldest.close()
