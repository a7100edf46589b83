"""Decides whether and when a failed request is sent again. No other layer retries."""

import random
import time
from collections.abc import Callable

from gateway.upstreams.errors import UpstreamError

FIRST_PAUSE = 0.2  # seconds; upper bound of the first pause
LONGEST_PAUSE = 5.0
BUDGET_SHARE = 0.2  # retries per recent call
BUDGET_FLOOR = 3  # retries that are always allowed
BUDGET_SECONDS = 10


class Budget:
    """Limits the retries of an upstream, so that they do not multiply the load of an outage. Counts per second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: dict[int, int] = {}
        self._retries: dict[int, int] = {}

    def note_call(self) -> None:
        self._count(self._calls)

    def take(self) -> bool:
        """Takes one retry from the budget. False if none is left."""
        first = int(self._clock()) - BUDGET_SECONDS
        calls, retries = (sum(n for at, n in counts.items() if at > first) for counts in (self._calls, self._retries))
        if retries >= max(BUDGET_FLOOR, int(BUDGET_SHARE * calls)):
            return False
        self._count(self._retries)
        return True

    def _count(self, counts: dict[int, int]) -> None:
        second = int(self._clock())
        counts[second] = counts.get(second, 0) + 1
        if len(counts) > BUDGET_SECONDS:
            counts.pop(min(counts), None)


class Retries:
    def __init__(
        self, attempts: int, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random.random
    ) -> None:
        self._attempts, self._chance = attempts, chance
        self.budget = Budget(clock)

    def pause(self, error: UpstreamError, attempt: int, seconds_left: float) -> float | None:
        """The pause in seconds after failed attempt number `attempt`; None: do not retry. It is upstream's retry_after,
        else random below a bound that doubles. A pause that exceeds `seconds_left` means no retry."""
        if not error.transient or attempt >= self._attempts:
            return None
        bound = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (attempt - 1))
        seconds = float(error.retry_after) if error.retry_after is not None else self._chance() * bound
        return seconds if seconds < seconds_left and self.budget.take() else None
