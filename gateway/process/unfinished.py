"""Connections whose request has not arrived: each is watched by a deadline, and all of them are counted.

The count is of the process and not of an address: behind a proxy, all clients have the address of the proxy.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

MOST_UNFINISHED = 500  # beyond which the longest unfinished gives way to newcomers, if it has had
GRACE_SECONDS = 2.0  # this long: after a restart, thousands of clients connect in the same moment


@dataclass(eq=False, slots=True)
class Watch:
    """One unfinished request. `give_up` closes its connection, and is called once at most."""

    began: float
    give_up: Callable[[], None]
    timer: asyncio.TimerHandle


class Unfinished:
    def __init__(self, most: int = MOST_UNFINISHED, grace: float = GRACE_SECONDS) -> None:
        self.most, self.grace = most, grace
        self._watches: dict[Watch, None] = {}  # the longest unfinished first

    def __len__(self) -> int:
        return len(self._watches)

    def watch(self, loop: asyncio.AbstractEventLoop, seconds: float, give_up: Callable[[], None]) -> Watch:
        """Calls `give_up` after so long, or earlier where there are too many, unless it is ended."""
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
