"""An upstream that fails again and again is left alone for a while, then asked once."""

import pytest

from context_protection.breaker import FIRST_COOLDOWN, LONGEST_COOLDOWN, OPENS_AFTER, TRIAL_SECONDS, Breaker
from tests.gateway.upstreams.conftest import Time


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def breaker(time: Time) -> Breaker:
    return Breaker(time)


def fail(breaker: Breaker, times: int = OPENS_AFTER) -> None:
    for _ in range(times):
        assert breaker.enter() == 0
        breaker.failed()


def test_it_opens_after_failures_in_a_row(breaker: Breaker):
    fail(breaker, OPENS_AFTER - 1)
    assert breaker.state == "closed"
    fail(breaker, 1)
    assert breaker.state == "open"
    assert breaker.enter() == FIRST_COOLDOWN


def test_a_success_between_failures_begins_the_row_anew(breaker: Breaker):
    fail(breaker, OPENS_AFTER - 1)
    breaker.succeeded()
    fail(breaker, OPENS_AFTER - 1)
    assert breaker.state == "closed"


def test_after_its_rest_one_is_let_through_and_its_success_closes(breaker: Breaker, time: Time):
    fail(breaker)
    time.now += FIRST_COOLDOWN
    assert breaker.state == "half-open"
    assert [breaker.enter(), breaker.enter() > 0, breaker.enter() > 0] == [0, True, True]
    breaker.succeeded()
    assert breaker.state == "closed"
    assert breaker.enter() == 0


def test_each_failure_after_a_rest_doubles_it_up_to_a_bound(breaker: Breaker, time: Time):
    fail(breaker)
    rests = []
    for _ in range(6):
        rests.append(breaker.enter())
        time.now += rests[-1]
        fail(breaker, 1)
    assert rests == [5, 10, 20, 40, 60, 60]
    assert breaker.enter() == LONGEST_COOLDOWN


def test_a_success_forgets_how_long_it_has_rested(breaker: Breaker, time: Time):
    fail(breaker)
    time.now += FIRST_COOLDOWN
    fail(breaker, 1)
    time.now += 2 * FIRST_COOLDOWN
    assert breaker.enter() == 0
    breaker.succeeded()
    fail(breaker)
    assert breaker.enter() == FIRST_COOLDOWN


def test_who_was_let_through_and_was_cancelled_leaves_the_place_to_the_next(breaker: Breaker, time: Time):
    fail(breaker)
    time.now += FIRST_COOLDOWN
    assert breaker.enter() == 0
    breaker.abandoned()
    assert breaker.enter() == 0


def test_failures_of_before_do_not_make_a_rest_longer(breaker: Breaker, time: Time):
    for _ in range(OPENS_AFTER + 3):
        assert breaker.enter() == 0
    for _ in range(OPENS_AFTER):
        breaker.failed()
    time.now += 3
    breaker.failed()
    assert breaker.enter() == FIRST_COOLDOWN - 3


def test_failures_of_other_processes_count(breaker: Breaker):
    fail(breaker, OPENS_AFTER - 1)
    breaker.failed()  # elsewhere: this process did not enter
    assert breaker.state == "open"


def test_while_another_process_tries_this_one_waits_and_obeys_the_outcome(breaker: Breaker, time: Time):
    fail(breaker)
    time.now += FIRST_COOLDOWN
    breaker.tried_elsewhere()
    assert breaker.enter() == 1
    breaker.failed()
    assert breaker.enter() == 2 * FIRST_COOLDOWN
    time.now += 2 * FIRST_COOLDOWN
    breaker.tried_elsewhere()
    breaker.succeeded()
    assert breaker.state == "closed"


def test_a_trial_of_a_process_that_was_killed_does_not_last(breaker: Breaker, time: Time):
    fail(breaker)
    time.now += FIRST_COOLDOWN
    breaker.tried_elsewhere()
    time.now += TRIAL_SECONDS
    assert breaker.enter() == 0
    assert breaker.is_trying
