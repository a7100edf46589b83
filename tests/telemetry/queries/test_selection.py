"""Filters as addresses name them."""

import pytest

from telemetry.models import TelemetryRecord
from telemetry.queries import Selection
from tests.telemetry.examples import calls_of_all_sorts, stored


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


@pytest.mark.parametrize(
    ("values", "at_least"),
    [
        ({}, {}),
        ({"tool": ["list_bookings", "READ_*"]}, {}),
        ({"tool": ["!get_*"], "key": ["desk"]}, {}),
        ({"origin": ["upstream", "caller"], "reason": ["!not_found"]}, {}),
        ({"cache": ["yes"], "outcome": ["!error"]}, {}),
        ({"oversized": ["yes"]}, {}),
        ({"cache": ["!yes"], "status": ["0", "503"]}, {}),
        ({"transport": ["stdio", "replay"]}, {}),
        ({"transport": ["!stdio"]}, {}),
        ({"upstream": ["!*"], "client": ["claude*"]}, {}),
        ({}, {"min_ms": 20.0}),
        ({"policy": ["r1"]}, {"min_tokens": 1000}),
    ],
)
def test_a_call_in_memory_matches_what_the_database_selects(db, values, at_least):
    calls = [*calls_of_all_sorts(300)]
    calls = [call._replace(transport="replay") if n % 10 == 0 else call for n, call in enumerate(calls)]
    stored(*calls)
    selection = Selection.of(values, **at_least)
    selected = {*TelemetryRecord.objects.filter(selection.of_calls).values_list("request_id", flat=True)}
    assert {call.request_id for call in calls if selection.matches(call)} == selected
