"""A circuit breaker around a store: while the store is down, calls fail at once instead of waiting for it."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from context_protection.breaker import Breaker
from context_protection.core.errors import StoreUnavailable, store_unavailable

T = TypeVar("T")
logger = logging.getLogger(__name__)
FIRST_COOLDOWN, LONGEST_COOLDOWN = 1.0, 5.0  # seconds


class Guard:
    """`means_unavailable` tells whether a driver exception means that the store is down. The first such exception opens
    the breaker. After a cooldown one call tries again, and closes the breaker on success. If a `probe` is given, a
    separate thread runs it instead, and calls are rejected until the probe succeeds."""

    def __init__(
        self,
        store: str,
        means_unavailable: Callable[[Exception], bool],
        clock: Callable[[], float] = time.monotonic,
        probe: Callable[[], Any] | None = None,
    ) -> None:
        self._store, self._means_unavailable, self._probe = store, means_unavailable, probe
        self._breaker = Breaker(clock, opens_after=1, first_cooldown=FIRST_COOLDOWN, longest_cooldown=LONGEST_COOLDOWN)
        self._is_unavailable = False

    @property
    def works(self) -> bool:
        return not self._is_unavailable

    def attempt(self, command: Callable[[], T], refusals: tuple[type[Exception], ...] = ()) -> T:
        """Returns the result of `command`. Raises StoreUnavailable, at once while the store is known to be down.
        Exceptions of the types in `refusals` are raised as they are: they come from a store that works."""
        seconds = self._breaker.enter()
        if seconds > 0:
            raise store_unavailable(seconds)
        if self._is_unavailable and self._probe is not None:
            threading.Thread(target=self._run_probe, args=(self._probe,), name="store probe", daemon=True).start()
            raise store_unavailable(FIRST_COOLDOWN)
        return self._run(command, refusals)

    def _run_probe(self, probe: Callable[[], Any]) -> None:
        with suppress(StoreUnavailable):
            self._run(probe, ())

    def _run(self, command: Callable[[], T], refusals: tuple[type[Exception], ...]) -> T:
        try:
            answer = command()
        except refusals:
            self._succeeded()
            raise
        except BaseException as error:
            if isinstance(error, Exception) and self._means_unavailable(error):
                raise self._failed(error) from None
            self._breaker.abandoned()
            raise
        self._succeeded()
        return answer

    def _failed(self, error: Exception) -> StoreUnavailable:
        self._breaker.failed()
        if not self._is_unavailable:
            self._is_unavailable = True
            logger.warning("a store is unavailable", extra={"store": self._store, "error": type(error).__name__})
        return store_unavailable(FIRST_COOLDOWN)

    def _succeeded(self) -> None:
        if self._is_unavailable:
            self._is_unavailable = False  # before the breaker closes
            logger.warning("a store is available again", extra={"store": self._store})
        self._breaker.succeeded()
