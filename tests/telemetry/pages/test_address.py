from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.test import RequestFactory

from telemetry.pages.address import Address, CallFilter

NOON = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


def address(query: str = "", **cookies: str) -> Address:
    request = RequestFactory().get(f"/telemetry/overview/?{query}")
    request.COOKIES |= cookies
    return Address.of(request)


def parameters(link: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(link).query)


def test_a_link_keeps_time_zone_and_filters():
    here = address("range=6h&tz=Asia/Tokyo&compare=week&refresh=10&tool=get_order&tool=!list_*&origin=upstream&by=tool")
    assert sorted(parameters(here.link())) == sorted(
        [
            ("range", "6h"),
            ("tz", "Asia/Tokyo"),
            ("compare", "week"),
            ("refresh", "10"),
            ("tool", "get_order"),
            ("tool", "!list_*"),
            ("origin", "upstream"),
            ("by", "tool"),
        ]
    )
    chosen = [(each.dimension, each.text, each.is_negated) for each in here.selection.conditions]
    assert chosen == [("tool", "get_order", False), ("tool", "list_*", True), ("origin", "upstream", False)]


def test_what_was_not_chosen_is_not_in_a_link():
    assert address().link() == "/telemetry/overview/"
    assert address().range == "24h"
    assert address().length == timedelta(hours=24)


def test_links_to_figures_name_the_range_because_pages_have_different_defaults():
    assert address().to("calls", tool="a") == "/telemetry/calls/?range=24h&tool=a"
    assert address().to("tool", "a") == "/telemetry/tools/a/?range=24h"
    assert address().with_chosen_range.to("tool", "a") == "/telemetry/tools/a/"
    assert address().timeless.to("calls") == "/telemetry/calls/"
    assert address("range=6h").with_chosen_range.to("tool", "a") == "/telemetry/tools/a/?range=6h"
    assert address().to("now") == "/telemetry/", "each item of the menu begins with its own range"
    span = "from=2026-11-22T12:00:00Z&to=2026-11-22T13:00:00Z"
    assert address(span).to("calls") == f"/telemetry/calls/?{span}"


def test_a_shared_link_shows_the_same_times_in_the_same_zone():
    here = address("range=1h", tz="Europe/Berlin")
    fixed = dict(parameters(here.fixed.link()))
    since, until = here.span
    assert fixed == {"from": _iso(since), "to": _iso(until), "tz": "Europe/Berlin"}
    again = address(urlsplit(here.fixed.link()).query)
    assert again.span == here.span


def test_times_without_an_offset_are_in_the_zone_of_the_page():
    here = address("from=2026-11-22T13:00&to=2026-11-22T14:30&tz=Europe/Berlin")
    assert here.span == (NOON, NOON + timedelta(minutes=90))
    assert here.range_in_words == "2026-11-22 13:00:00 to 14:30:00"


def test_the_span_before_is_as_long_or_a_week_earlier():
    span = "from=2026-11-22T12:00:00Z&to=2026-11-22T13:00:00Z"
    assert address(span).before == (NOON - timedelta(hours=1), NOON)
    assert address(f"{span}&compare=week").before == (NOON - timedelta(days=7), NOON - timedelta(days=7, hours=-1))
    assert address(f"{span}&compare=none").before is None


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("range=5m", ["range=5m", "15m, 1h"]),
        ("tz=Mars", ["tz=Mars", "Asia/Tokyo"]),
        ("refresh=1", ["refresh=1", "0, 10, 60"]),
        ("compare=later", ["compare=later", "previous"]),
        ("from=yesterday", ["from=yesterday", "2026-11-22T14:02:00Z"]),
        ("from=2026-11-22T12:00Z&to=2026-11-22T11:00Z", ["to=2026-11-22T11:00Z", "400 days"]),
        ("from=1970-01-01T00:00Z&to=9998-12-31T23:59Z", ["400 days"]),
        ("from=0001-01-01T00:00&to=0001-01-02T00:00&tz=Asia/Tokyo", ["from=0001-01-01T00:00"]),
        ("from=9999-12-30T00:00Z&to=9999-12-31T23:59Z", ["from=9999-12-30T00:00Z"]),
        ("cache=perhaps", ["perhaps", "yes or no"]),
        ("status=ok", ["ok", "503"]),
        ("status=99999999999999999999", ["99999999999999999999", "503"]),
        ("min_ms=fast", ["min_ms=fast", "a whole number"]),
        ("min_tokens=99999999999999999999", ["min_tokens=99999999999999999999", "at most 9 digits"]),
    ],
)
def test_what_is_not_understood_is_said_and_left_out(query, names):
    here = address(query)
    assert all(name in here.problems[0] for name in names), here.problems
    assert here.range == "24h"


def test_no_text_that_a_database_cannot_hold_becomes_a_filter():
    assert address("tool=%00&tool=!&tool=&q=%00").filters == ()


def test_a_zoom_replaces_the_range_and_a_range_replaces_the_zoom():
    zoomed = address("range=24h").link(**{"from": _iso(NOON), "to": _iso(NOON + timedelta(minutes=5))})
    assert [name for name, _ in parameters(zoomed)] == ["from", "to"]
    assert parameters(address(urlsplit(zoomed).query).link(range="7d")) == [("range", "7d")]


def test_another_part_of_a_list_starts_at_its_beginning():
    assert "cursor" not in address("cursor=abc").link(sort="-calls")
    assert "cursor=abc" in address("").link(cursor="abc")


def test_filters_are_added_and_removed_one_by_one():
    here = address("tool=a&tool=b&key=c")
    assert parameters(here.without(CallFilter("tool", "a"))) == [("tool", "b"), ("key", "c")]
    assert here.without() == "/telemetry/overview/"
    assert parameters(here.filtered_by(tool="x")) == [("key", "c"), ("tool", "x")]
    assert ("origin", "!caller") in parameters(here.with_filter(CallFilter("origin", "!caller")))


def test_the_zone_is_the_browsers_unless_one_is_chosen():
    assert address(tz="Asia/Kolkata").zone == "Asia/Kolkata"
    assert address("tz=UTC", tz="Asia/Kolkata").zone == "UTC"
    assert address(tz="../etc/passwd").zone == "UTC"


def _iso(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
