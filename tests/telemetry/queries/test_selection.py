"""Filters as addresses name them."""

import pytest

from telemetry.queries import Selection


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"colour": ["red"]}, "colour is no filter. Expected one of: tool, key"),
        ({"cache": ["maybe"]}, "cache is 'maybe'; expected yes or no"),
        ({"status": ["teapot"]}, "status is 'teapot'; expected an HTTP status"),
    ],
)
def test_what_is_no_filter_is_rejected_with_what_is_expected(values, complaint):
    with pytest.raises(ValueError, match=complaint):
        Selection.of(values)


def test_a_value_that_looks_like_a_pattern_is_only_one_in_its_stars():
    (condition,) = Selection.of({"tool": ["a.b*"]}).conditions
    assert condition.q.children == [("operation__iregex", r"^a\.b.*$")]
