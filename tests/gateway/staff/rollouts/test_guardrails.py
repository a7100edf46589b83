"""With few callers, a rollout rolls back because of a fault, and not because callers differ or an upstream was away."""

import random

import pytest

from gateway.staff.rollouts.figures import CallerFigures, Sides
from gateway.staff.rollouts.guardrails import Advice, verdict

LOOK = 10  # calls of each caller between two looks
RUNS = 120
CALLS = 300  # of each caller


def rolled_back_after(chance: random.Random, callers: tuple[int, int], *, past: int, fault: float = 0.0) -> int:
    """Calls of the included callers until the rollback; 0 without one. Each caller has its own share of errors, 3 % at
    the mean and much more for a few; and now and then an upstream is away, for everybody."""
    treated, control = ([chance.betavariate(0.5, 16) for _ in range(count)] for count in callers)
    before = {}
    if past:
        for number, share in enumerate(treated):
            failed = sum(chance.random() < share for _ in range(past))
            before[str(number)] = CallerFigures(calls=past, failed=failed)
    both = [{str(number): CallerFigures() for number in range(count)} for count in callers]
    for _ in range(CALLS // LOOK):
        outage = 0.5 if chance.random() < 0.02 else 0.0
        for side, shares, more in zip(both, (treated, control), (fault, 0.0), strict=True):
            for figures, share in zip(side.values(), shares, strict=True):
                figures.calls += LOOK
                figures.failed += sum(chance.random() < share + outage + more for _ in range(LOOK))
        found = verdict(Sides(both[0], both[1], before), minimum_calls=200, has_waited=False, share=50)
        if found.advice is Advice.ROLL_BACK:
            return Sides.calls(both[0])
    return 0


@pytest.mark.parametrize("callers", [(1, 3), (2, 2), (5, 5)])
@pytest.mark.parametrize("past", [0, 1000])
def test_without_a_cause_two_of_a_hundred_roll_back_at_most(callers: tuple[int, int], past: int):
    chance = random.Random(f"{callers} {past}")
    assert sum(rolled_back_after(chance, callers, past=past) > 0 for _ in range(RUNS)) <= 0.02 * RUNS


@pytest.mark.parametrize("callers", [(1, 3), (1, 0), (5, 5)])
@pytest.mark.parametrize("past", [0, 1000])
def test_a_fault_of_half_of_the_calls_always_does_and_soon(callers: tuple[int, int], past: int):
    chance = random.Random(f"fault {callers} {past}")
    found = sorted(rolled_back_after(chance, callers, past=past, fault=0.5) for _ in range(20))
    assert found[0] > 0
    assert found[len(found) // 2] <= 100


def test_a_rise_that_few_callers_cannot_tell_waits_for_a_person():
    sides = Sides({"one": CallerFigures(calls=1000, failed=120)}, {"two": CallerFigures(calls=1000, failed=10)}, {})
    found = verdict(sides, minimum_calls=200, has_waited=True, share=50)
    assert found.advice is Advice.WAIT
    assert found.reason.startswith("Errors: +11.0 points, over the limit of +1.0. So few callers can differ that much")


def test_many_callers_of_which_one_makes_nearly_all_calls_are_like_one():
    few = {f"key-{number}": CallerFigures(calls=2) for number in range(24)}
    treated = {**few, "heavy": CallerFigures(calls=1000, failed=120)}
    found = verdict(Sides(treated, few, {}), minimum_calls=20, has_waited=True, share=50)
    assert found.advice is Advice.WAIT
