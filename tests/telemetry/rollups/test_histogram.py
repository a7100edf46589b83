"""Percentiles of histograms are within 2.2 % of the exact ones, and histograms can be added up."""

import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.rollups import histogram

TOLERANCE = 0.0221


def counts(durations):
    return Counter(map(histogram.bucket_of, durations))


@given(st.floats(0.0011, 1e9))
def test_a_bucket_stands_for_its_durations_within_2_2_percent(duration):
    assert histogram.middle(histogram.bucket_of(duration)) == pytest.approx(duration, rel=TOLERANCE)


@pytest.mark.parametrize("percent", [1, 50, 90, 95, 99, 100])
def test_a_percentile_is_within_2_2_percent_of_the_exact_one(percent):
    chance = random.Random(5)
    durations = sorted(chance.lognormvariate(3, 2) for _ in range(5000))
    exact = durations[math.ceil(len(durations) * percent / 100) - 1]
    assert histogram.percentile(counts(durations), percent) == pytest.approx(exact, rel=TOLERANCE)


@given(st.lists(st.floats(0, 1e6)), st.lists(st.floats(0, 1e6)))
def test_two_histograms_add_up_to_that_of_all_durations(some, others):
    stored = [histogram.dumps(counts(durations)) for durations in (some, others)]
    assert histogram.joined(",".join(stored)) == counts(some + others)


@given(st.dictionaries(st.integers(0, histogram.LAST), st.integers(1, 10**9)))
def test_a_histogram_is_stored_and_read_again(found):
    assert histogram.joined(histogram.dumps(found)) == found


@pytest.mark.parametrize(("duration", "bucket"), [(0, 0), (0.001, 0), (1e300, histogram.LAST)])
def test_durations_beyond_the_buckets_are_in_the_first_and_the_last(duration, bucket):
    assert histogram.bucket_of(duration) == bucket


def test_no_calls_have_no_percentile():
    assert histogram.percentile({}, 95) is None
    assert histogram.joined("") == {}
