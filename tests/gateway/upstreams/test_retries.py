"""What failed is sent once more where that may help, after a pause, and not more often than its budget lets it."""

from dataclasses import replace

import pytest

from gateway.upstreams.errors import UpstreamUnavailable
from gateway.upstreams.retries import BUDGET_FLOOR, BUDGET_SECONDS, FIRST_PAUSE, LONGEST_PAUSE, Budget, Retries
from tests.gateway.upstreams.conftest import Time

ERROR = UpstreamUnavailable("Acme failed.", transient=True)


def retries(time: Time, chance: float = 1.0, attempts: int = 3) -> Retries:
    return Retries(attempts, time, lambda: chance)


def test_pauses_double_up_to_a_bound(time: Time):
    many = retries(time, attempts=100)
    for _ in range(100):
        many.budget.note_call()
    assert [many.pause(ERROR, attempt, 60) for attempt in (1, 2, 3)] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert many.pause(ERROR, 50, 60) == LONGEST_PAUSE


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_a_pause_is_anywhere_up_to_its_bound_so_that_callers_do_not_come_back_together(time: Time, chance: float):
    assert retries(time, chance).pause(ERROR, 1, 60) == pytest.approx(chance * FIRST_PAUSE)


def test_the_last_attempt_is_the_last(time: Time):
    assert retries(time).pause(ERROR, 2, 60) is not None
    assert retries(time).pause(ERROR, 3, 60) is None


def test_what_will_not_do_better_is_not_sent_again(time: Time):
    assert retries(time).pause(replace(ERROR, transient=False), 1, 60) is None


def test_what_upstream_asks_for_is_waited_for_where_there_is_time(time: Time):
    asked = replace(ERROR, retry_after=7)
    assert retries(time).pause(asked, 1, 8) == 7
    assert retries(time).pause(asked, 1, 7) is None


def test_a_pause_that_takes_all_the_time_that_is_left_is_not_made(time: Time):
    assert retries(time).pause(ERROR, 1, FIRST_PAUSE / 2) is None


def test_of_few_calls_some_may_be_repeated(time: Time):
    budget = Budget(time)
    assert [budget.take() for _ in range(BUDGET_FLOOR + 2)] == [True] * BUDGET_FLOOR + [False] * 2


def test_of_many_calls_a_fifth_may_be_repeated(time: Time):
    budget = Budget(time)
    for _ in range(100):
        budget.note_call()
    assert sum(budget.take() for _ in range(100)) == 20


def test_what_was_long_ago_counts_no_more(time: Time):
    budget = Budget(time)
    for _ in range(100):
        budget.note_call()
    time.now += BUDGET_SECONDS
    assert sum(budget.take() for _ in range(100)) == BUDGET_FLOOR
    time.now += BUDGET_SECONDS
    assert budget.take()


def test_a_long_life_takes_no_more_room(time: Time):
    budget = Budget(time)
    for _ in range(1000):
        time.now += 1
        budget.note_call()
        budget.take()
    assert len(budget._calls) + len(budget._retries) <= 2 * (BUDGET_SECONDS + 1)
