"""A span is covered by the longest buckets that have all of their calls."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from telemetry.models import StaleBucket
from telemetry.models.rollups import Level
from telemetry.rollups.coverage import RAW, cover

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)
LEVELS = list(Level)


def at(text):
    return datetime.fromisoformat(f"2026-11-{text}+00:00")


def shown(parts):
    return [(part.level, f"{part.since:%d %H:%M:%S}", f"{part.until:%d %H:%M:%S}") for part in parts]


def test_days_in_the_middle_and_shorter_buckets_towards_the_ends():
    assert shown(cover(at("18T22:59:30"), at("20T01:01:10"), LEVELS, NOW)) == [
        (RAW, "18 22:59:30", "18 23:00:00"),
        (Level.HOUR, "18 23:00:00", "19 00:00:00"),
        (Level.DAY, "19 00:00:00", "20 00:00:00"),
        (Level.HOUR, "20 00:00:00", "20 01:00:00"),
        (Level.MINUTE, "20 01:00:00", "20 01:01:00"),
        (RAW, "20 01:01:00", "20 01:01:10"),
    ]


def test_a_marked_minute_is_read_from_its_calls_and_its_hour_from_the_other_minutes():
    StaleBucket.objects.create(level=Level.MINUTE, start=at("20T10:30:00"))
    assert shown(cover(at("20T10:00:00"), at("20T12:00:00"), LEVELS, NOW)) == [
        (Level.MINUTE, "20 10:00:00", "20 10:30:00"),
        (RAW, "20 10:30:00", "20 10:31:00"),
        (Level.MINUTE, "20 10:31:00", "20 11:00:00"),
        (Level.HOUR, "20 11:00:00", "20 12:00:00"),
    ]


def test_deleted_minutes_are_not_used():
    old = cover(at("10T10:00:00"), at("10T10:05:00"), LEVELS, NOW)
    assert shown(old) == [(RAW, "10 10:00:00", "10 10:05:00")]


def test_without_levels_all_is_read_from_the_calls():
    assert shown(cover(at("10T10:00:00"), at("20T10:00:00"), [], NOW)) == [(RAW, "10 10:00:00", "20 10:00:00")]


moments = st.integers(0, 4 * 86_400).map(lambda seconds: at("17T00:00:00") + timedelta(seconds=seconds))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(since=moments, length=st.integers(1, 200_000), marks=st.lists(st.tuples(st.sampled_from(LEVELS), moments)))
def test_the_parts_of_any_span_follow_each_other_without_gap_or_overlap(since, length, marks):
    StaleBucket.objects.all().delete()
    for level, moment in marks:
        start = int(moment.timestamp()) // level * level
        StaleBucket.objects.get_or_create(level=level, start=datetime.fromtimestamp(start, UTC))
    until = since + timedelta(seconds=length)
    parts = cover(since, until, LEVELS, NOW)
    assert (parts[0].since, parts[-1].until) == (since, until)
    assert all(before.until == after.since for before, after in pairwise(parts))
    for mark in StaleBucket.objects.all():
        end = mark.start + timedelta(seconds=mark.level)
        used = [part for part in parts if part.level >= mark.level and part.since < end and mark.start < part.until]
        assert not [part for part in used if part.since <= mark.start and end <= part.until]
