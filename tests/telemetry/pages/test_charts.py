"""The time axis, and drawings that need no script."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from telemetry.pages.drawings import bars, polyline
from telemetry.pages.ticks import ticks

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(minutes=15), ["11:46", "11:48", "11:50", "11:52", "11:54", "11:56", "11:58", "12:00"]),
        (timedelta(hours=6), ["06:00", "07:00", "08:00", "09:00", "10:00", "11:00", "12:00"]),
        (timedelta(hours=24), ["12:00", "15:00", "18:00", "21:00", "22 Nov", "03:00", "06:00", "09:00", "12:00"]),
        (timedelta(days=7), ["16 Nov", "17 Nov", "18 Nov", "19 Nov", "20 Nov", "21 Nov", "22 Nov"]),
    ],
)
def test_ticks_are_at_whole_hours_and_days(span, words):
    with timezone.override("UTC"):
        assert [text for _, text in ticks(NOON - span, NOON)] == words


def test_days_begin_at_midnight_of_the_zone_of_the_page():
    with timezone.override("Asia/Tokyo"):
        moments = ticks(NOON - timedelta(days=7), NOON)
        assert {timezone.localtime(at).hour for at, _ in moments} == {0}


def test_bars_are_stacked_and_fill_the_height():
    drawing = bars([(1, None, 3), (1, 2, 0)], ["s1", "s2"])
    first, second = (path.d for path in drawing.paths)
    assert first.count("M") == 2
    assert second.count("M") == 2
    assert "V0.0h" in first, "3 is the highest stack"
    assert "66.7V33.3h" in second, "stands on the first series' 1 of 3"


def test_a_line_is_broken_where_there_is_no_value():
    (path,) = polyline([(1, 2, None, 4, None)], ["s1"]).paths
    assert path.d.count("M") == 2


def test_nothing_is_drawn_of_no_values():
    assert bars([()], ["s1"]).paths[0].d == ""
    assert polyline([(None, None)], ["s1"]).paths[0].d == ""
