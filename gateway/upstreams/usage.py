"""The use of upstreams by one call: the last upstream, the number of requests, the last status, and the time waited."""

import time
from contextvars import ContextVar
from typing import Self

from context_protection.core.context_value import ContextValue
from telemetry.attempts import MOST, Wait


class UpstreamUse:
    """`name`: the upstream that was needed last; empty if cached data was enough. `attempts`: the number of requests
    sent. `status`: the HTTP status of the last request; 0: no answer, or not HTTP. `paused_seconds`: the sum of all
    pauses, also of concurrent requests. `waits`: requests and pauses in order, at most one more than telemetry records.
    Only one event loop writes at a time, so no lock is needed."""

    __slots__ = ("_since", "_waiting", "attempts", "milliseconds", "name", "paused_seconds", "status", "waits")

    def __init__(self) -> None:
        self.name = ""
        self.attempts = self.status = 0
        self.milliseconds = self.paused_seconds = 0.0
        self.waits: list[Wait] = []
        self._waiting = 0  # requests in flight: time that they share is counted once
        self._since = 0.0

    def waiting_for(self, name: str) -> Self:
        """Counts the time of the block as waiting for the upstream, even if the call is cancelled."""
        self.name = name
        return self

    def __enter__(self) -> None:
        if not self._waiting:
            self._since = time.perf_counter()
        self._waiting += 1

    def __exit__(self, *error: object) -> None:
        self._waiting -= 1
        if not self._waiting:
            self.milliseconds += (time.perf_counter() - self._since) * 1000

    def note_attempt(self, status: int = 0, seconds: float | None = None) -> None:
        self.attempts += 1
        self.status = status
        if seconds is not None:
            self._note(Wait(1000 * seconds, status))

    def note_pause(self, seconds: float) -> None:
        """Lists a pause between two attempts, or for the upstream's rate limit."""
        self._note(Wait(1000 * seconds))

    def _note(self, wait: Wait) -> None:
        if len(self.waits) <= MOST:
            self.waits.append(wait)


_of_the_call: ContextVar[UpstreamUse | None] = ContextVar("upstream_use", default=None)


def one_call(use: UpstreamUse | None = None) -> ContextValue[UpstreamUse]:
    """All requests in the block belong to one call. `use`: where they are noted, for a caller that reads them later."""
    return ContextValue(_of_the_call, use or UpstreamUse())


of_this_call = _of_the_call.get  # returns None outside `one_call`, as for a cached answer


def upstream_use() -> UpstreamUse:
    """The use of upstreams by the current call. Outside a call, as in a background task, a new object, which only the
    request reads."""
    return _of_the_call.get() or UpstreamUse()
