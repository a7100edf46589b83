"""The use of upstreams by one call: the last one, how often it was asked, its last status, and the time waited."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from telemetry.attempts import MOST, Wait


class UpstreamUse:
    """`name`: the upstream that was needed last; empty while cached data was enough. `attempts`: requests sent.
    `status`: the HTTP status of the last of them; 0: no answer, or not HTTP. `waits`: requests and pauses in their
    order, one more than are recorded. Filled on one event loop, or by one call after another, so it needs no lock."""

    __slots__ = ("_since", "_waiting", "attempts", "milliseconds", "name", "status", "waits")

    def __init__(self) -> None:
        self.name = ""
        self.attempts = self.status = 0
        self.milliseconds = 0.0
        self.waits: list[Wait] = []
        self._waiting = 0  # requests in flight: their time counts once
        self._since = 0.0

    @contextmanager
    def waiting_for(self, name: str) -> Iterator[None]:
        """The time within counts as spent waiting for the upstream, also if the call is cancelled."""
        self.name = name
        if not self._waiting:
            self._since = time.perf_counter()
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self.milliseconds += (time.perf_counter() - self._since) * 1000

    def note_attempt(self, status: int = 0, seconds: float | None = None) -> None:
        self.attempts += 1
        self.status = status
        if seconds is not None:
            self._note(Wait(1000 * seconds, status))

    def note_pause(self, seconds: float) -> None:
        """Between two attempts, or for the upstream's rate limit."""
        self._note(Wait(1000 * seconds))

    def _note(self, wait: Wait) -> None:
        if len(self.waits) <= MOST:
            self.waits.append(wait)


_of_the_call: ContextVar[UpstreamUse | None] = ContextVar("upstream_use", default=None)


@contextmanager
def one_call(use: UpstreamUse | None = None) -> Iterator[None]:
    """All requests within belong to one call. `use`: where they are noted, for a caller that reads it afterwards."""
    token = _of_the_call.set(use or UpstreamUse())
    try:
        yield
    finally:
        _of_the_call.reset(token)


of_this_call = _of_the_call.get  # None if no upstream can have been used


def upstream_use() -> UpstreamUse:
    """The use of upstreams by the current call. Outside of a call, as in a background task, nothing reads it."""
    return _of_the_call.get() or UpstreamUse()
