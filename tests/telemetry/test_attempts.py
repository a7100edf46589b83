"""Waits for upstreams, as a column has them."""

from telemetry.attempts import LONGEST, MOST, Wait, read, written

TRIED_TWICE = [Wait(2.1, 503), Wait(310.0), Wait(3.0, 0)]


def test_what_is_written_is_read_again():
    assert written(TRIED_TWICE) == "2.1:503 310.0 3.0:0"
    assert list(read(written(TRIED_TWICE))) == TRIED_TWICE
    assert read("") == ()


def test_more_waits_than_are_recorded_are_none():
    assert written([Wait(9_999_999.9, 599)] * (MOST + 1)) == ""


def test_the_longest_fits_its_column():
    assert len(written([Wait(9_999_999.9, 599)] * MOST)) <= LONGEST
