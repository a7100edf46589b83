"""The budget of one call: money and time, shared by its steps.

A step is work that is named in the answer's `tools`: search, symbols, history. It asks `has_left` between small pieces
of work, and stops when that is false. The last RESERVE of both limits is kept for writing the answer.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

RESERVE = 0.1  # a share of the limits
MICRODOLLARS = 1_000_000  # in a dollar


def amount(dollars: float) -> float:
    """The amount as answers show it. Rounded down, so that shown amounts never add up to more than the limit."""
    return math.floor(dollars * MICRODOLLARS) / MICRODOLLARS


@dataclass(slots=True)
class Step:
    """`seconds`: elapsed. `cost`: in dollars. `is_partial`: it has left something out. `is_over_budget`: because of the
    budget."""

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
    """`limit`: dollars. `seconds`: from now. `price`: dollars per second of processor time of the thread that runs the
    steps. Used by one thread."""

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
        self._stop_at = self._started + seconds * (1 - RESERVE)
        self._current: Step | None = None
        self._billed_until = 0.0  # of processor time
        self.steps: list[Step] = []

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Bills the work of the block. Steps follow each other; they are not nested."""
        step = Step(name)
        self.steps.append(step)
        self._current, self._billed_until, started = step, self._processor_time(), self._clock()
        try:
            yield step
        finally:
            self._bill()
            step.seconds, self._current = self._clock() - started, None

    def has_left(self) -> bool:
        """Whether the current step may go on. If not, the step is marked as over budget."""
        self._bill()
        if self._clock() < self._stop_at and self.cost < self.limit * (1 - RESERVE):
            return True
        if self._current:
            self._current.is_partial = self._current.is_over_budget = True
        return False

    def charge(self, dollars: float) -> None:
        """Bills what the current step has bought elsewhere, such as a language model's answer."""
        if self._current is None:
            raise RuntimeError("Only a step can be charged.")
        self._add(self._current, dollars)

    @property
    def cost(self) -> float:
        """Dollars billed so far: the sum over the steps, never more than `limit`."""
        return sum(step.cost for step in self.steps)

    @property
    def total(self) -> float:
        """The cost that answers show: the sum of the costs that they show for the steps."""
        return round(sum(amount(step.cost) for step in self.steps) * MICRODOLLARS) / MICRODOLLARS

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
        """A piece of work that began within the budget may end beyond it: that part is not billed."""
        left = max(0.0, self.limit - self.cost)
        if dollars > left:
            step.is_over_budget = True
        step.cost += min(dollars, left)
