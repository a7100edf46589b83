"""What the failed calls share, against counts that are made without SQL."""

from collections import Counter
from datetime import timedelta

import pytest

from telemetry.queries import Selection, Span
from telemetry.queries.selection import DIMENSIONS
from telemetry.queries.shares import COMPARED, Shares, Value, shares
from tests.telemetry.examples import NOON, a_call, calls_of_all_sorts, stored

pytestmark = pytest.mark.django_db
SPAN = Span.of(NOON - timedelta(hours=6), NOON + timedelta(seconds=1))


def failed(**changes):
    return a_call(outcome="error", origin="upstream", error_reason="upstream_unavailable", **changes)


def test_every_value_is_counted_among_failed_and_other_calls():
    calls = [
        call._replace(upstream=("acme", "")[n % 2], arm="control" * (n % 3 == 0), revision="213")
        for n, call in enumerate(calls_of_all_sorts(300))
    ]
    stored(*calls)
    found = shares(SPAN, Selection())
    assert (found.failed, found.others) == (
        sum(call.outcome == "error" for call in calls),
        sum(call.outcome != "error" for call in calls),
    )
    assert found.failed > 10
    for dimension in COMPARED:
        column = DIMENSIONS[dimension]
        expected = Counter(getattr(call, column) for call in calls if call.outcome == "error")
        others = Counter(getattr(call, column) for call in calls if call.outcome != "error")
        for each in (value for value in found.values if value.dimension == dimension):
            assert (each.failed, each.others) == (expected[each.value], others[each.value]), each
        names = {value.value for value in found.values if value.dimension == dimension}
        assert names == {name for name in (expected | others) if name}


def test_filters_and_times_hold():
    stored(failed(caller="a"), failed(caller="b"), failed(caller="a", at=NOON - timedelta(hours=7)))
    found = shares(SPAN, Selection.of({"key": ["a"]}))
    assert (found.failed, found.others) == (1, 0)


def test_only_the_newest_calls_are_compared_and_it_is_said():
    stored(*(a_call(at=NOON - timedelta(seconds=n)) for n in range(5)), failed(at=NOON - timedelta(seconds=9)))
    found = shares(SPAN, Selection(), newest=4)
    assert found.is_cut
    assert found.failed == 0
    assert not shares(SPAN, Selection(), newest=7).is_cut


def test_no_calls_share_nothing():
    found = shares(SPAN, Selection())
    assert (found.calls, found.gaps) == (0, ())


def a_share(*values: Value, failed: int = 100, others: int = 100) -> Shares:
    return Shares(values, failed, others, is_cut=False)


def test_gaps_of_ten_points_are_shown_and_smaller_ones_not():
    assert a_share(Value("tool", "a", 30, 20)).gaps[0].size == pytest.approx(0.10)
    assert a_share(Value("tool", "a", 29, 20)).gaps == ()
    assert a_share(Value("tool", "a", 10, 90)).gaps == (), "more frequent among the others"


def test_the_four_largest_gaps_come_first_one_of_each_dimension():
    values = [
        Value("key", "ci-bot", 61, 40),
        Value("upstream", "acme", 99, 4),
        Value("reason", "unavailable", 97, 0),
        Value("tool", "get_order", 80, 2),
        Value("tool", "get_item", 40, 1),
        Value("client", "cursor", 55, 40),
    ]
    assert [gap.dimension for gap in a_share(*values).gaps] == ["reason", "upstream", "tool", "key"]
    assert [gap.value for gap in a_share(*values).gaps][2] == "get_order"


def test_too_few_failed_calls_are_not_compared():
    assert a_share(Value("tool", "a", 4, 0), failed=4).gaps == ()
    assert a_share(Value("tool", "a", 5, 0), failed=5).gaps
    assert a_share(Value("tool", "a", 50, 0), failed=50, others=0).gaps == (), "nothing to compare with"
