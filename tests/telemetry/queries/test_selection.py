"""Filters as addresses name them."""

from datetime import timedelta

import pytest

from telemetry import queries
from telemetry.models import TelemetryRecord
from telemetry.queries import Selection, Span
from telemetry.rollups.builder import build_stale
from tests.telemetry.examples import NOON, calls_of_all_sorts, stored


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"colour": ["red"]}, "colour is not a filter. Expected one of: tool, key"),
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
        ({"transport": ["re*"]}, {}),
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


@pytest.mark.parametrize("transport", [[], ["re*"], ["*"], ["!stdio"], ["replay"], ["rest", "replay"]])
def test_a_list_has_as_many_calls_as_the_total_whatever_transport_is_asked_for(db, transport):
    """Sums have no replays, so a list has them only where the calls themselves are counted."""
    calls = [*calls_of_all_sorts(200)]
    stored(*(call._replace(transport="replay") if n % 10 == 0 else call for n, call in enumerate(calls)))
    build_stale(now=NOON + timedelta(days=2))
    span, selection = Span.of(NOON - timedelta(hours=6), NOON), Selection.of({"transport": transport})
    listed = queries.records(span, selection, size=300)
    assert len(listed.records) == listed.total == queries.totals(span, selection).calls > 0
