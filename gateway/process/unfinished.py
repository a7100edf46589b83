"""Connections whose request has not fully arrived: each has a deadline, and all of them are counted.

They are counted per process and not per address, because behind a proxy all clients have the proxy's address.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

MOST_UNFINISHED = 500  # beyond this, the oldest connection is given up when a new one arrives
GRACE_SECONDS = 2.0  # but not before this age: after a restart, thousands of clients connect at once


@dataclass(eq=False, slots=True)
class Watch:
    """The deadline of one unfinished request. `give_up` closes its connection, and is called at most once."""

    began: float
    give_up: Callable[[], None]
    timer: asyncio.TimerHandle


class Unfinished:
    def __init__(self, most: int = MOST_UNFINISHED, grace: float = GRACE_SECONDS) -> None:
        self.most, self.grace = most, grace
        self._watches: dict[Watch, None] = {}  # the oldest first

    def __len__(self) -> int:
        return len(self._watches)

    def watch(self, loop: asyncio.AbstractEventLoop, seconds: float, give_up: Callable[[], None]) -> Watch:
        """Calls `give_up` after `seconds`, or earlier if there are too many connections, unless the watch is ended
        first."""
        watch = Watch(loop.time(), give_up, loop.call_later(seconds, give_up))
        self._watches[watch] = None
        if len(self._watches) > self.most:
            self._give_up_oldest(watch.began)
        return watch

    def end(self, watch: Watch) -> None:
        watch.timer.cancel()
        self._watches.pop(watch, None)

    def _give_up_oldest(self, now: float) -> None:
        oldest = next(iter(self._watches))
        if now - oldest.began >= self.grace:
            self.end(oldest)
            oldest.give_up()
