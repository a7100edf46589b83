"""Configuration in the process: loaded once per revision; the last good one stays while the database fails (law 5)."""

import itertools

import pytest
from django.db import OperationalError

from context_protection.configuration.live import Live
from context_protection.configuration.revisions import revisions


class Source:
    """A configuration in a database that can be away."""

    def __init__(self) -> None:
        self.numbers = itertools.count(1)
        self.away = False

    def load(self) -> int:
        if self.away:
            raise OperationalError("the database is away")
        return next(self.numbers)


@pytest.fixture
def source() -> Source:
    return Source()


def test_it_is_loaded_once_per_revision(source: Source):
    live = Live(source.load)
    assert [live.get(), live.get()] == [1, 1]
    revisions.bump()
    assert [live.get(), live.get()] == [2, 2]


def test_the_last_good_value_stays_while_the_database_is_away(source: Source, caplog: pytest.LogCaptureFixture):
    live = Live(source.load)
    assert live.get() == 1
    source.away = True
    revisions.bump()
    assert live.get() == 1
    assert "the last one remains in use" in caplog.text


def test_a_change_is_seen_once_the_database_is_back(source: Source):
    """A key that was revoked in that moment must not stay valid until somebody changes something else."""
    live = Live(source.load)
    live.get()
    source.away = True
    revisions.bump()
    live.get()
    source.away = False
    assert live.get() == 2


def test_without_any_good_value_the_failure_is_told(source: Source):
    source.away = True
    with pytest.raises(OperationalError):
        Live(source.load).get()
