from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.intervals import cut
from tests.telemetry.examples import NOON


@given(st.timedeltas(timedelta(0), timedelta(days=4000)), st.integers(20, 200))
def test_intervals_cover_the_span_without_gaps(span, at_most):
    since = NOON - span
    intervals = cut(since, NOON, at_most)
    assert intervals.start <= since
    assert intervals.starts[-1] <= NOON < intervals.starts[-1] + intervals.step
    assert intervals.count <= at_most + 2 or intervals.step == timedelta(days=365)


@pytest.mark.parametrize(
    ("span", "step"),
    [
        (timedelta(hours=1), timedelta(minutes=1)),
        (timedelta(hours=24), timedelta(minutes=30)),
        (timedelta(days=7), timedelta(hours=3)),
        (timedelta(days=30), timedelta(hours=12)),
    ],
)
def test_the_ranges_of_the_admin_are_cut_as_people_would(span, step):
    assert cut(NOON - span, NOON, 60).step == step


def test_charts_drawn_a_moment_apart_have_the_same_intervals():
    first = cut(NOON - timedelta(hours=24), NOON, 60)
    second = cut(NOON - timedelta(hours=24) + timedelta(seconds=40), NOON + timedelta(seconds=40), 60)
    assert first == second
