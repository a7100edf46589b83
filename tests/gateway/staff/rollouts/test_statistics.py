"""Intervals cover the truth at every look together, and become narrow enough to decide."""

import random

import pytest

from gateway.staff.rollouts import statistics

LOOKS = range(20, 400, 20)


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_two_equal_groups_are_told_apart_in_no_more_than_five_of_a_hundred_trials(share: float):
    chance = random.Random(f"equal {share}")
    wrong = 0
    for _ in range(120):
        treated, control = ([chance.betavariate(share * 20, (1 - share) * 20) for _ in range(400)] for _ in range(2))
        wrong += any(statistics.difference(treated[:n], control[:n]).excludes_zero for n in LOOKS)
    assert wrong <= 6


def test_a_look_each_time_at_an_ordinary_interval_would_be_wrong_more_often():
    chance = random.Random("ordinary")
    wrong = 0
    for _ in range(300):
        values = [chance.gauss(0, 1) for _ in range(400)]
        wrong += any(abs(sum(values[:n]) / n) > 1.96 / n**0.5 for n in LOOKS)
    assert wrong > 30, "this is why the intervals are wider"


def test_a_difference_is_seen_in_time():
    chance = random.Random("other")
    treated = [chance.gauss(0.30, 0.1) for _ in range(60)]
    control = [chance.gauss(0.10, 0.1) for _ in range(60)]
    found = statistics.difference(treated, control)
    assert found.is_above(0.05)
    assert found.low < 0.2 < found.high


def test_equal_shares_of_calls_are_told_apart_seldom():
    chance = random.Random("calls")
    wrong = 0
    for _ in range(200):
        treated, control = ([chance.random() < 0.03 for _ in range(2000)] for _ in range(2))
        wrong += any(
            statistics.share_difference((sum(treated[:n]), n), (sum(control[:n]), n)).excludes_zero
            for n in range(100, 2001, 100)
        )
    assert wrong <= 10


def test_nothing_is_known_of_one_caller():
    found = statistics.difference([0.5], [0.1, 0.2, 0.3])
    assert not found.is_above(0.0)
    assert not found.is_below(1.0)


def test_no_failure_so_far_is_no_proof():
    assert statistics.share_interval(0, 30).high > 0.1
    assert statistics.share_interval(0, 30_000).high < 0.01
