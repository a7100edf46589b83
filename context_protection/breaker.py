"""A circuit breaker. After repeated failures, an upstream or store is not called during a cooldown. Then one trial call
decides whether it is called again."""

import threading
import time
from collections.abc import Callable
from typing import Literal

OPENS_AFTER = 5  # failures in a row
FIRST_COOLDOWN = 5.0  # seconds; doubled after each failed trial call
LONGEST_COOLDOWN = 60.0
TRIAL_SECONDS = 60.0  # another process's trial call blocks trials of this process for this long

State = Literal["closed", "open", "half-open"]


class Breaker:
    """Call `enter` before a call, and `succeeded`, `failed` or `abandoned` (outcome unknown) after it. Thread-safe.

    To share the state between processes, call `succeeded` and `failed` for the calls of other processes too, and
    `tried_elsewhere` when another process makes the trial call."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        opens_after: int = OPENS_AFTER,
        first_cooldown: float = FIRST_COOLDOWN,
        longest_cooldown: float = LONGEST_COOLDOWN,
    ) -> None:
        self._clock = clock
        self._opens_after, self._first_cooldown, self._longest_cooldown = opens_after, first_cooldown, longest_cooldown
        self._lock = threading.Lock()
        self._failures = 0
        self._cooldown = first_cooldown
        self._open_until: float | None = None
        self._is_trying = False
        self._tried_elsewhere_until = 0.0

    @property
    def is_healthy(self) -> bool:
        """Closed, and the last call did not fail."""
        return self._failures == 0 and self._open_until is None

    @property
    def is_trying(self) -> bool:
        """Whether a trial call is in flight."""
        return self._is_trying

    @property
    def cooldown(self) -> float:
        """The seconds that the breaker stays open, or would stay open if it opened now."""
        return self._cooldown

    @property
    def state(self) -> State:
        open_until = self._open_until
        if open_until is None:
            return "closed"
        return "open" if self._clock() < open_until else "half-open"

    @property
    def seconds_left(self) -> float:
        """The seconds until the next trial; 0 if calls may proceed."""
        open_until = self._open_until
        return 0.0 if open_until is None else max(0.0, open_until - self._clock())

    def enter(self) -> float:
        """0.0 if the call may proceed, else the seconds until a retry makes sense."""
        if self._open_until is None:
            return 0.0
        with self._lock:
            if self._open_until is None:
                return 0.0
            seconds = self._open_until - self._clock()
            if seconds > 0:
                return seconds
            if self._is_trying or self._clock() < self._tried_elsewhere_until:
                return 1.0
            self._is_trying = True
            return 0.0

    def tried_elsewhere(self) -> None:
        """Another process makes the trial call."""
        with self._lock:
            self._tried_elsewhere_until = self._clock() + TRIAL_SECONDS

    def open_for(self, seconds: float, cooldown: float) -> None:
        """Opens the breaker of a new process, to match the other processes."""
        with self._lock:
            self._open_until, self._cooldown = self._clock() + seconds, cooldown

    def succeeded(self) -> None:
        if self.is_healthy:
            return
        with self._lock:
            self._failures, self._cooldown = 0, self._first_cooldown
            self._open_until = None
            self._end_trial()

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            was_trial = self._is_trying or self._clock() < self._tried_elsewhere_until
            if was_trial:
                self._cooldown = min(self._longest_cooldown, 2 * self._cooldown)
            if was_trial or (self._open_until is None and self._failures >= self._opens_after):
                self._open_until = self._clock() + self._cooldown
                self._end_trial()

    def abandoned(self) -> None:
        """Ends the trial, if there is one, without a result: the next call becomes the trial."""
        self._end_trial()

    def _end_trial(self) -> None:
        self._is_trying, self._tried_elsewhere_until = False, 0.0
