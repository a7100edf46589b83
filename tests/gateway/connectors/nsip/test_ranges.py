"""The range of each trait as two numbers, whichever way upstream writes it."""

import pytest

from gateway.connectors.nsip.ranges import trait_ranges


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("-0.891 - 1.299", -0.891, 1.299),
        ("-3 - -1", -3, -1),
        ("0.1-0.3", 0.1, 0.3),
        ("-3--1", -3, -1),
        (" 0 - 0 ", 0, 0),
        ("-1.5e-3 - 2E1", -0.0015, 20),
    ],
)
def test_a_range_that_is_a_text_becomes_two_numbers(text, low, high):
    assert trait_ranges({"rangeBWT": text}) == {"BWT": {"min": low, "max": high}}


def test_a_range_that_is_numbers_stays_as_it_is():
    assert trait_ranges({"BWT": {"min": -0.713, "max": 0.0}}) == {"BWT": {"min": -0.713, "max": 0.0}}


@pytest.mark.parametrize("odd", [None, "", "n/a", "1", "1 - ", 7, "٣ - ٤", "1 - 2 - 3"])
def test_what_is_no_range_is_kept_rather_than_lost(odd):
    assert trait_ranges({"rangeYSL": odd}) == {"YSL": odd}
