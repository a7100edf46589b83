"""The budget of one call of the codebase tools."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.connectors.codebase.budget import Budget

PRICE = 0.01  # dollars per second


class Clocks:
    """Elapsed time and processor time that a test moves."""

    def __init__(self) -> None:
        self.elapsed = self.processor = 100.0

    def budget(self, *, limit: float = 1.0, seconds: float = 30) -> Budget:
        return Budget(
            limit=limit,
            seconds=seconds,
            price=PRICE,
            clock=lambda: self.elapsed,
            processor_time=lambda: self.processor,
        )

    def work(self, seconds: float) -> None:
        self.elapsed += seconds
        self.processor += seconds


def fail(clocks: Clocks) -> None:
    clocks.work(1)
    raise LookupError("no such file")


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


def test_a_step_costs_its_processor_time(clocks: Clocks):
    budget = clocks.budget()
    with budget.step("search"):
        clocks.work(2)
        clocks.elapsed += 3  # it waits
    (step,) = budget.steps
    assert step.document() == {
        "name": "search",
        "executionTimeMs": 5000,
        "cost": 0.02,
        "isPartialResult": False,
        "budgetExceeded": False,
    }
    assert budget.document() == {"limit": 1.0, "used": 0.02, "exceeded": False}


def test_time_between_steps_costs_nothing(clocks: Clocks):
    budget = clocks.budget()
    clocks.work(5)
    with budget.step("search"):
        clocks.work(1)
    clocks.work(5)
    assert budget.total == 0.01
    assert budget.elapsed == 11


def test_work_that_is_done_again_is_listed_once(clocks: Clocks):
    budget = clocks.budget()
    for _ in range(2):
        with budget.step("search"):
            clocks.work(2)
    (step,) = budget.steps
    assert (step.seconds, budget.total) == (4, 0.04)


def test_a_step_stops_before_the_money_is_spent(clocks: Clocks):
    budget = clocks.budget(limit=0.01)  # a second of work
    with budget.step("search") as step:
        clocks.work(0.89)
        assert budget.has_left()
        clocks.work(0.02)
        assert not budget.has_left()
    assert (step.is_partial, step.is_over_budget, budget.is_exceeded) == (True, True, True)
    assert budget.total == pytest.approx(0.0091, abs=2e-6)


def test_a_step_stops_before_the_time_is_over(clocks: Clocks):
    budget = clocks.budget(seconds=10)
    with budget.step("search") as step:
        clocks.elapsed += 8.9
        assert budget.has_left()
        clocks.elapsed += 0.2
        assert not budget.has_left()
    assert step.is_partial


def test_only_the_step_that_meets_the_limit_is_marked(clocks: Clocks):
    budget = clocks.budget(limit=0.01)
    with budget.step("search") as whole:
        clocks.work(0.5)
    with budget.step("symbols") as cut:
        clocks.work(0.45)
        assert not budget.has_left()
    assert (whole.is_partial, cut.is_partial) == (False, True)


def test_a_bought_answer_is_billed(clocks: Clocks):
    budget = clocks.budget()
    with budget.step("model"):
        budget.charge(0.25)
    assert budget.total == 0.25
    with pytest.raises(RuntimeError, match="Only a step"):
        budget.charge(0.1)


def test_a_failed_step_is_billed(clocks: Clocks):
    budget = clocks.budget()
    with pytest.raises(LookupError, match="no such file"), budget.step("search"):
        fail(clocks)
    assert budget.total == 0.01


@given(
    limit=st.floats(0.01, 10),
    steps=st.lists(st.lists(st.floats(0, 2000), max_size=4), max_size=5),
)
def test_the_cost_never_passes_the_limit_and_is_the_sum_of_the_steps(limit: float, steps: list[list[float]]):
    clocks = Clocks()
    budget = clocks.budget(limit=limit)
    for number, pieces in enumerate(steps):
        with budget.step(f"step {number}"):
            for seconds in pieces:
                clocks.work(seconds)
                budget.has_left()
    shown = [step.document()["cost"] for step in budget.steps]
    assert budget.total == pytest.approx(sum(shown), abs=1e-9)
    assert budget.total <= limit
    assert budget.cost <= limit + 1e-9
