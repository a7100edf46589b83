"""The command itself works: a short run finds no fault. With a smaller `tokens.MARGIN` it does."""

from tests.hostile.__main__ import hostile_run


def test_a_short_run_finds_no_fault():
    tally = hostile_run(seed=7, answers=200, seconds=30, clients=2)
    assert tally.reports == []
    assert tally.answers > 50
