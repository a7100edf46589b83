"""The budget of one call: the money and the time that its steps may use together.

A step is a part of the work that the answer lists under `tools`, such as search, symbols or history. A step asks
`has_left` between small pieces of work, and stops when it returns false. This happens before a limit is reached,
because the share RESERVE of both limits is kept for writing the answer.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

RESERVE = 0.1  # the share of both limits that is kept for writing the answer
MICRODOLLARS = 1_000_000  # in a dollar


def amount(dollars: float) -> float:
    """The amount as answers show it: rounded down, so that shown amounts never add up to more than the limit."""
    return math.floor(dollars * MICRODOLLARS) / MICRODOLLARS


def total_of(amounts: Iterable[float]) -> float:
    """The sum of shown amounts, without floating-point errors."""
    return round(sum(amounts) * MICRODOLLARS) / MICRODOLLARS


@dataclass(slots=True)
class Step:
    """`seconds`: how long it took. `cost`: in dollars. `is_partial`: it left something out. `is_over_budget`: the
    budget was used up while it worked."""

    name: str
    seconds: float = 0.0
    cost: float = 0.0
    is_partial: bool = False
    is_over_budget: bool = False

    def document(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "executionTimeMs": round(self.seconds * 1000),
            "cost": amount(self.cost),
            "isPartialResult": self.is_partial,
            "budgetExceeded": self.is_over_budget,
        }


class Budget:
    """`limit`: the cost limit in dollars. `seconds`: the time limit, counted from now. `price`: dollars per second of
    processor time of the thread that runs the steps. To be used by one thread."""

    def __init__(
        self,
        *,
        limit: float,
        seconds: float,
        price: float,
        clock: Callable[[], float] = time.monotonic,
        processor_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self.limit, self._price = limit, price
        self._clock, self._processor_time = clock, processor_time
        self._started = clock()
        self._seconds = seconds
        self._current: Step | None = None
        self._billed_until = 0.0  # the processor time in seconds up to which the current step is billed
        self.steps: list[Step] = []

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Runs the block as a step, and bills its processor time. Steps run one after another and are not nested. A
        second step of the same name adds to the first."""
        step = next((each for each in self.steps if each.name == name), None)
        if step is None:
            self.steps.append(step := Step(name))
        self._current, self._billed_until, started = step, self._processor_time(), self._clock()
        try:
            yield step
        finally:
            self._bill()
            step.seconds += self._clock() - started
            self._current = None

    def has_left(self, share: float = 1.0) -> bool:
        """Whether the current step may go on. If not, it is marked as partial and over budget. `share`: how much of the
        whole budget may be used by the end of this step, 0 to 1; the rest is left to later steps."""
        self._bill()
        share *= 1 - RESERVE
        if self.elapsed < self._seconds * share and self.cost < self.limit * share:
            return True
        if self._current:
            self._current.is_partial = self._current.is_over_budget = True
        return False

    def charge(self, dollars: float) -> None:
        """Bills the current step for a cost other than processor time, such as a language model's answer."""
        if self._current is None:
            raise RuntimeError("Only a step can be charged.")
        self._add(self._current, dollars)

    @property
    def cost(self) -> float:
        """Dollars billed so far: the sum over the steps, never more than `limit`."""
        return sum(step.cost for step in self.steps)

    @property
    def total(self) -> float:
        """The total cost that answers show: the sum of the steps' costs, each rounded down as answers show it."""
        return total_of(amount(step.cost) for step in self.steps)

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return self._clock() - self._started

    @property
    def is_exceeded(self) -> bool:
        return any(step.is_over_budget for step in self.steps)

    def document(self) -> dict[str, Any]:
        return {"limit": self.limit, "used": self.total, "exceeded": self.is_exceeded}

    def _bill(self) -> None:
        if self._current:
            now = self._processor_time()
            self._add(self._current, (now - self._billed_until) * self._price)
            self._billed_until = now

    def _add(self, step: Step, dollars: float) -> None:
        """Bills at most what is left of the budget. Work that ends over budget is not billed for the excess."""
        left = max(0.0, self.limit - self.cost)
        if dollars > left:
            step.is_over_budget = True
        step.cost += min(dollars, left)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a call, to be passed to another process. `cost`: in dollars. `ends_at`: a value of
    time.monotonic(), whose clock all processes of a machine share. `price`: as in Budget."""

    cost: float
    ends_at: float
    price: float

    def budget(self) -> Budget:
        return Budget(limit=self.cost, seconds=max(0.0, self.ends_at - time.monotonic()), price=self.price)
