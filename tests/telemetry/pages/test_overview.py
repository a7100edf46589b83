"""Overview: all calls, against the span before."""

import csv
import html
import io
import json
import re
from datetime import timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from telemetry.models import Event
from telemetry.pages.address import DIMENSIONS, written
from tests.telemetry.examples import a_call, stored
from tests.telemetry.pages.seeds import a_failure, an_answer, the_story

OVERVIEW = "/telemetry/overview/"


def page(client, query="range=1h"):
    response = client.get(f"{OVERVIEW}?{query}")
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def tiles(text: str) -> dict[str, str]:
    """The words of each tile by its label."""
    found = re.findall(r'<div class="tile">(.*?)</div>', text, re.S)
    words = [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", each)).strip() for each in found]
    labels = ("Calls", "Answered", "Time, p95", "Tokens sent", "Saved, net", "Oversized")
    return {label: each.removeprefix(label).strip() for label, each in zip(labels, words, strict=True)}


def chart(text: str, key: str) -> dict:
    return json.loads(re.search(rf'<script id="chart-data-{key}" type="application/json">(.*?)</script>', text)[1])


def test_it_opens_with_a_sentence_that_says_how_much_and_whose(staff):
    the_story()
    stored(a_failure(timezone.now() - timedelta(minutes=2), request_id="mine", origin="caller", error_reason="bad"))
    assert "93 calls, 75.3% answered. 23 failed, 22 because of upstreams." in page(staff)


def test_a_failure_whose_origin_was_not_recorded_is_called_unknown(staff):
    stored(a_failure(timezone.now(), origin=""))
    text = page(staff)
    assert "1 failed, of unknown origin." in text
    assert "unknown 100.0%" in tiles(text)["Answered"]


def test_its_tiles_are_compared_with_the_span_before(staff):
    now = timezone.now()
    stored(*(an_answer(now - timedelta(minutes=1 + n), request_id=f"a{n}") for n in range(30)))
    stored(*(an_answer(now - timedelta(minutes=61 + n), request_id=f"b{n}") for n in range(20)))
    shown = tiles(page(staff))
    assert shown["Calls"].startswith("30")
    assert "+50% vs previous 1 h" in shown["Calls"]
    assert "previous" not in tiles(page(staff, "range=1h&compare=none"))["Calls"]


def test_the_parts_of_the_charts_add_up_to_the_calls(staff):
    count = the_story()
    text = page(staff)
    outcomes = chart(text, "outcomes")
    assert sum(value for line in outcomes["lines"] for value in line["values"]) == count
    origins = chart(text, "origins")
    assert [line["label"] for line in origins["lines"]] == ["upstream"]
    assert sum(origins["lines"][0]["values"]) == 22
    means = chart(text, "means")
    assert [line["label"] for line in means["lines"]] == ["upstream", "Sluice"]
    assert {value for value in means["lines"][1]["values"] if value is not None} == {2.0}


@pytest.mark.parametrize("by", DIMENSIONS)
def test_calls_are_grouped_by_every_dimension_that_the_page_offers(staff, by):
    the_story()
    assert "No calls" not in page(staff, f"range=1h&by={by}&by=outcome")
    grouped = b"".join(staff.get(f"{OVERVIEW}?range=1h&by={by}&export=json").streaming_content)
    assert sum(row["calls"] for row in json.loads(grouped)) == 92


def test_the_calls_behind_a_figure_are_as_many_as_it_says(staff):
    """The list of calls alone opens with one hour, the overview with a day."""
    now = timezone.now()
    stored(*(an_answer(now - timedelta(hours=hours), request_id=f"a{hours}") for hours in (0, 2, 4, 20)))
    stored(an_answer(now - timedelta(days=3), request_id="old"))
    text = page(staff, "")
    assert tiles(text)["Calls"].startswith("4")
    link = re.search(r'<div class="tile">.*?href="([^"]*)"', text, re.S)[1]
    assert "4 calls in 24 hours" in staff.get(link).content.decode()
    tool = re.search(r'href="(/telemetry/tools/acme_get_order/[^"]*)"', text)[1]
    assert "4 calls" in staff.get(tool).content.decode()


def test_the_calls_behind_the_first_and_last_interval_are_those_of_the_range(staff):
    """A range can begin and end inside an interval, here one of five minutes."""
    minutes = {2: "before", 4: "first", 6: "second", 121: "last", 123: "after"}
    noon = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=6)
    stored(*(an_answer(noon + timedelta(minutes=at), request_id=name) for at, name in minutes.items()))
    since, until = (written(noon + timedelta(minutes=at)) for at in (3, 122))
    text = page(staff, f"from={since}&to={until}")
    table = re.search(r'id="chart-outcomes-table">.*?</details>', text, re.S)[0]
    links = re.findall(r'<th scope="row"><a href="([^"]*)"', table)
    assert chart(text, "outcomes")["lines"][0]["values"] == [1, 1, *[0] * 22, 1]
    for link, name in ((links[0], "first"), (links[1], "second"), (links[-1], "last")):
        listed = staff.get(link).content.decode()
        assert "1 call from" in listed
        assert f"/telemetry/calls/{name}/" in listed


@pytest.mark.parametrize(
    ("sort", "names"), [("-change", ["fresh", "acme_get_order"]), ("change", ["acme_get_order", "fresh"])]
)
def test_tools_are_sorted_by_change_even_if_one_of_them_is_new(staff, sort, names):
    now = timezone.now()
    stored(*(an_answer(now - timedelta(minutes=minutes), request_id=f"a{minutes}") for minutes in (2, 62)))
    stored(an_answer(now - timedelta(minutes=3), request_id="b", operation="fresh"))
    assert "new" in page(staff, f"range=1h&sort={sort}")
    exported = b"".join(staff.get(f"{OVERVIEW}?range=1h&sort={sort}&export=json").streaming_content)
    assert [row["tool"] for row in json.loads(exported)] == names


def test_changes_are_marks_on_the_charts_and_a_list_below(staff):
    the_story()
    at = timezone.now() - timedelta(minutes=13)
    Event.objects.create(at=at, kind="C", subject="acme", summary="acme base address", actor="ops-2", link="/admin/")
    Event.objects.create(at=at - timedelta(days=2), kind="D", summary="Version 0.1.9")
    text = page(staff)
    (mark,) = chart(text, "outcomes")["marks"]
    assert (mark["kind"], mark["text"]) == ("C", "acme base address, by ops-2")
    assert '<a href="/admin/">acme base address, by ops-2</a>' in text
    assert "Version 0.1.9" not in text


def test_it_groups_by_two_dimensions(staff):
    the_story()
    text = page(staff, "range=1h&by=key&by=tool")
    table = re.search(r'id="table-groups".*?</table>', text, re.S)[0]
    rows = [re.findall(r"<(?:a|span)[^>]*>([^<]+)</", row) for row in re.findall(r"<tr>(.*?)</tr>", table, re.S)[1:]]
    assert [row[:3] for row in rows] == [["ci-bot", "acme_get_order", "62"], ["desk", "hostaway_list_bookings", "30"]]


def test_its_table_sorts_by_a_link(staff):
    the_story()
    text = page(staff, "range=1h&by=key&sort=key")
    assert text.index(">ci-bot<") < text.index(">desk<")
    assert 'aria-sort="ascending"' in text
    turned = page(staff, "range=1h&by=key&sort=-key")
    assert turned.index(">desk<") < turned.index(">ci-bot<")


def test_filters_hold_for_every_figure(staff):
    the_story()
    text = page(staff, "range=1h&upstream=hostaway")
    assert "30 calls, 100.0% answered. None failed." in text
    assert "No call failed in this range." in text
    assert "acme_get_order" not in text


def test_an_export_has_all_rows_and_the_values_behind_the_words(staff):
    the_story()
    response = staff.get(f"{OVERVIEW}?range=1h&by=tool&export=csv")
    assert response["Content-Disposition"] == 'attachment; filename="overview.csv"'
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert [(row["tool"], row["calls"]) for row in rows] == [("acme_get_order", "62"), ("hostaway_list_bookings", "30")]
    assert float(rows[0]["failed"]) == pytest.approx(22 / 62)
    as_json = json.loads(b"".join(staff.get(f"{OVERVIEW}?range=1h&export=json").streaming_content))
    assert as_json[1]["calls"] == 30


def test_a_long_table_links_to_the_export_that_has_its_other_rows(staff):
    stored(*(a_call(at=timezone.now(), caller=f"bot-{n:02}") for n in range(60)))
    text = page(staff, "range=1h&by=key")
    link = re.search(r'The first 50 of 60 rows\. <a href="([^"]+)"', text)[1]
    exported = b"".join(staff.get(link).streaming_content).decode()
    assert {row["key"] for row in csv.DictReader(io.StringIO(exported))} == {f"bot-{n:02}" for n in range(60)}


def test_a_spreadsheet_does_not_compute_what_a_client_sent(staff):
    stored(a_call(at=timezone.now(), caller="=HYPERLINK(1)"), a_call(at=timezone.now(), caller="-1+2"))
    exported = b"".join(staff.get(f"{OVERVIEW}?range=1h&by=key&export=csv").streaming_content).decode()
    assert "'=HYPERLINK(1)" in exported
    assert "'-1+2" in exported


@pytest.mark.parametrize(
    ("key", "file"),
    [
        ("desk", 'filename="caller-desk.csv"'),
        ("отчёты", "filename*=utf-8''caller-%D0%BE%D1%82%D1%87%D1%91%D1%82%D1%8B.csv"),
        ('a "b"/c', 'filename="caller-a \\"b\\"-c.csv"'),
    ],
)
def test_an_export_is_a_file_whatever_the_name_of_the_key(staff, key, file):
    stored(a_call(at=timezone.now(), caller=key))
    response = staff.get(f"/telemetry/callers/{quote(key)}/?range=1h&export=csv")
    assert response["Content-Disposition"] == f"attachment; {file}"


def test_exports_are_those_of_the_exact_times_of_the_page(staff):
    the_story()
    link = re.search(r'href="([^"]+export=csv)"', page(staff))[1]
    assert re.search(r"from=20\d\d-\S+Z&to=20\d\d-\S+Z", link)


def test_no_call_ever_leads_to_connecting_a_client(staff):
    text = page(staff, "")
    assert "No calls yet. Connect a client and make one: it appears here within 2 seconds." in text
    assert 'href="/#connect"' in text
    assert "<canvas" not in text


def test_filtered_to_nothing_says_how_many_calls_there_are_without(staff):
    count = the_story()
    text = page(staff, "range=1h&tool=nosuch&key=none")
    assert f"No call matches these 2 filters in 1 hour. Without them there are {count}." in text
    assert 'href="/telemetry/overview/?range=1h">Remove filters</a>' in text


def test_a_threshold_is_a_filter_that_every_page_shows_and_removes(staff):
    at = timezone.now()
    stored(*(a_call(at=at, latency_ms=9000 if n == 0 else 10) for n in range(10)))
    text = html.unescape(staff.get("/telemetry/calls/?range=1h&min_ms=5000&q=order").content.decode())
    assert 'aria-label="Remove the filter 5 s or longer"' in text.replace("\u00a0", " ")
    overview = re.search(r'href="(/telemetry/overview/[^"]+)"', text)[1]
    assert overview == f"{OVERVIEW}?range=1h&min_ms=5000"
    text = html.unescape(staff.get(overview).content.decode()).replace("\u00a0", " ")
    assert "1 call, 100.0% answered" in text
    chip = re.search(r'<a class="chip" href="([^"]+)" aria-label="Remove the filter 5 s or longer"', text)
    assert chip[1] == f"{OVERVIEW}?range=1h"


def test_thresholds_that_no_call_reaches_are_said_and_can_be_removed(staff):
    stored(a_call(at=timezone.now()))
    text = page(staff, "range=1h&min_ms=50000&min_tokens=100000")
    assert "No call matches these 2 filters in 1 hour. Without them there are 1." in text
    assert re.search(r'href="([^"]+)"[^>]*>Remove filters', text)[1] == f"{OVERVIEW}?range=1h"


def test_a_quiet_range_says_when_the_last_call_was(staff):
    at = timezone.now() - timedelta(hours=3)
    stored(an_answer(at))
    assert f"The last one was at {at:%Y-%m-%d %H:%M:%S}." in page(staff, "range=15m&tz=UTC")


def test_too_few_calls_have_no_percentile(staff):
    stored(*(an_answer(timezone.now(), request_id=str(n)) for n in range(12)))
    shown = tiles(page(staff))
    assert shown["Time, p95"].startswith("– 12 calls, too few (20 needed)")


def test_little_data_begins_with_a_shorter_range_and_says_so(staff):
    stored(an_answer(timezone.now() - timedelta(minutes=10)))
    text = page(staff, "")
    assert '<option value="15m" selected>' in text
    assert "so this shows the last 15 minutes." in text
    assert '<option value="24h" selected>' in page(staff, "range=24h")


def test_times_are_in_the_zone_that_the_address_names(staff):
    now = timezone.now().replace(microsecond=0)
    stored(an_answer(now))
    span = f"from={written(now - timedelta(minutes=10))}&to={written(now + timedelta(minutes=1))}"
    utc, tokyo = (chart(page(staff, f"{span}&tz={zone}"), "outcomes") for zone in ("UTC", "Asia/Tokyo"))
    assert utc["starts"] == tokyo["starts"]
    assert utc["times"] != tokyo["times"]


def test_names_from_outside_are_escaped_everywhere(staff):
    stored(a_call(at=timezone.now(), operation="<img src=x>", caller='"><script>'))
    raw = staff.get(f"{OVERVIEW}?range=1h&by=tool&by=key").content.decode()
    assert "<img src=x>" not in raw
    assert '"><script>' not in raw
