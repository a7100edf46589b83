from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from telemetry import wording


def plain(words: str) -> str:
    return words.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (999, "999"),
        (9_999, "9,999"),
        (12_345, "12.3k"),
        (99_960, "100k"),
        (123_456, "123k"),
        (999_700, "1M"),
        (4_560_000, "4.56M"),
        (152_000_000, "152M"),
        (-12_345, "−12.3k"),
    ],
)
def test_large_numbers_are_short(number, words):
    assert wording.short(number) == words


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.058, "5.8%"),
        (0.0, "0.0%"),
        (0.0001, "<0.1%"),
        (0.99996, ">99.9%"),
        (1.0, "100.0%"),
        (-0.031, "−3.1%"),
        (-0.0001, "0.0%"),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(share, words):
    assert wording.share(share) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.0, "0.0 ms"),
        (0.84, "0.8 ms"),
        (9.96, "10 ms"),
        (41.3, "41 ms"),
        (999.7, "1 s"),
        (1240.0, "1.24 s"),
        (30_000, "30.0 s"),
        (125_000, "2 min 5 s"),
        (11_520_000, "3 h 12 min"),
    ],
)
def test_durations_have_the_unit_that_is_read_fastest(value, words):
    assert plain(wording.milliseconds(value)) == words


@pytest.mark.parametrize(
    ("value", "words"), [(812, "812 B"), (1023.97, "1.0 KB"), (4710, "4.6 KB"), (1_900_000, "1.8 MB")]
)
def test_sizes_count_1024_bytes_as_a_kilobyte(value, words):
    assert plain(wording.size(value)) == words


def test_no_data_is_not_zero():
    nothing = {wording.share(None), wording.milliseconds(None), wording.size(None), wording.short(None)}
    assert nothing == {"–"}
    assert wording.share(0.0) == "0.0%"
    assert wording.milliseconds(0.0) == "0.0\u00a0ms"


def test_a_change_has_a_sign_and_nothing_is_compared_with_nothing():
    assert wording.change(112, 100) == "+12%"
    assert wording.change(88, 100) == "−12%"
    assert wording.change(100, 100) == "0%"
    assert wording.change(5, 0) == wording.change(None, 5) == "–"
    assert plain(wording.change(5000, 10)) == "× 500"
    assert plain(wording.points(0.942, 0.911)) == "+3.1 points"


def test_ages_are_in_one_unit():
    spans = [timedelta(seconds=12), timedelta(minutes=11, seconds=50), timedelta(hours=30), timedelta(days=3)]
    assert [plain(wording.age(span)) for span in spans] == ["12 s", "11 min", "30 h", "3 days"]


def test_times_are_in_the_zone_of_the_page():
    at = datetime(2026, 11, 22, 14, 2, 37, 191_000, tzinfo=UTC)
    with timezone.override("Europe/Berlin"):
        assert wording.moment(at) == "2026-11-22 15:02:37"
        assert wording.exact_moment(at) == "2026-11-22 15:02:37.191"
        assert wording.tick(at, timedelta(minutes=5)) == "15:02"
        assert wording.tick(at, timedelta(days=1)) == "22 Nov"
        assert wording.clock(at, at + timedelta(hours=2)) == "15:02"
        assert wording.clock(at, at + timedelta(days=2)) == "2026-11-22 15:02"
