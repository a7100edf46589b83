"""The last contact with each server: when a call last succeeded, and when and why one last failed."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.upstreams.client import REQUEST_REASONS, UpstreamState
from gateway.upstreams.errors import UpstreamError

CONNECTOR = "mcp_servers"


class Contact:
    def __init__(self) -> None:
        self._succeeded_at: float | None = None
        self._failed_at: float | None = None
        self._failure = ""
        self._calls = 0

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Records the outcome of the call inside the context. An error that the request caused counts as an answer."""
        self._calls += 1
        try:
            yield
        except UpstreamError as error:
            if error.reason in REQUEST_REASONS:
                self._succeeded_at = time.time()
            else:
                self._failed_at, self._failure = time.time(), error.reason
            raise
        self._succeeded_at = time.time()

    def state(self, name: str, pause: float) -> UpstreamState:
        return UpstreamState(
            name=name,
            breaker="open" if pause else "closed",
            last_success_at=self._succeeded_at,
            last_failure_at=self._failed_at,
            last_failure=self._failure,
            rate_left=None,
            calls=self._calls,
            connector=CONNECTOR,
            next_try_seconds=pause,
        )
