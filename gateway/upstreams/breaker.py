"""A breaker: an upstream that fails again and again is left alone for a while, then asked once."""

import time
from collections.abc import Callable
from typing import Literal

OPENS_AFTER = 5  # failures in a row
FIRST_REST = 5.0  # seconds; each further failure doubles it
LONGEST_REST = 60.0

State = Literal["closed", "open", "half-open"]


class Breaker:
    """Each exchange enters, and then succeeds, fails, or is abandoned (it was not seen how it ended)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._rest = FIRST_REST
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        if self._open_until is None:
            return "closed"
        return "open" if self._clock() < self._open_until else "half-open"

    def enter(self) -> float:
        """0.0: go on. Else the seconds until it is worth asking again."""
        if self._open_until is None:
            return 0.0
        seconds = self._open_until - self._clock()
        if seconds > 0:
            return seconds
        if self._probing:
            return 1.0
        self._probing = True
        return 0.0

    def succeeded(self) -> None:
        self._failures, self._rest = 0, FIRST_REST
        self._open_until, self._probing = None, False

    def failed(self) -> None:
        self._failures += 1
        if self._probing:
            self._rest = min(LONGEST_REST, 2 * self._rest)
        if self._probing or (self._open_until is None and self._failures >= OPENS_AFTER):
            self._open_until, self._probing = self._clock() + self._rest, False

    def abandoned(self) -> None:
        self._probing = False
