"""Callers keep their side: over restarts, over larger shares, and whoever comes later."""

import itertools

import pytest

from gateway.staff.rollouts.assignment import cutoff, is_included, place

CALLERS = [f"key-{number}" for number in range(400)]


def included(share: float, callers: list[str], salt: str = "tables") -> set[str]:
    limit = cutoff(salt, share, callers)
    return {each for each in callers if is_included(salt, each, limit)}


def test_shares_are_exact_and_each_has_those_of_the_smaller_one():
    sizes = [included(share, CALLERS) for share in (0.05, 0.25, 0.5, 1.0)]
    assert [len(each) for each in sizes] == [20, 100, 200, 400]
    assert all(small < large for small, large in itertools.pairwise(sizes))


def test_the_first_step_of_few_callers_is_one_caller():
    assert len(included(0.05, CALLERS[:4])) == 1
    assert included(0.05, CALLERS[:4]) <= included(0.5, CALLERS[:4])


def test_places_are_the_same_everywhere_and_differ_between_trials():
    assert place("tables", "key-1") == pytest.approx(0.8315788379)
    both = included(0.5, CALLERS) & included(0.5, CALLERS, "another")
    assert 80 < len(both) < 120


def test_nobody_is_known_yet():
    assert cutoff("tables", 0.25, []) == 0.25
    assert not is_included("tables", "key-1", cutoff("tables", 0.0, CALLERS))
    assert is_included("tables", "key-1", cutoff("tables", 1.0, []))
