"""The list of all calls: what it shows, how it is searched, paged through and exported."""

import asyncio
import csv
import html
import io
import json
import re
from datetime import timedelta
from importlib import import_module

import pytest
from django.test import AsyncClient
from django.utils import timezone

from telemetry.measurement import FIGURES
from telemetry.models import TelemetryRecord
from telemetry.rollups.builder import build_stale
from tests.telemetry.examples import stored
from tests.telemetry.pages.seeds import a_failure, an_answer, the_story
from tests.telemetry.pages.test_pages_about_one import page, section, words

ROW = re.compile(r'<th scope="row"><a href="/telemetry/calls/([^/]+)/')


def rows(text: str) -> list[str]:
    return ROW.findall(section(text, "table-calls"))


def link(text: str, label: str) -> str:
    return html.unescape(re.search(rf'href="([^"]*)"[^>]*>{label}<', text)[1])


def test_the_first_sentence_says_how_many_failed_of_how_many(staff):
    count = the_story()
    assert f"22 failed of {count} calls in 1 hour (23.9%)." in page(staff, "calls/")


def test_a_failed_call_shows_its_reason_its_origin_and_its_message(staff):
    stored(a_failure(timezone.now(), request_id="bad"))
    shown = words(section(page(staff, "calls/"), "table-calls"))
    assert "Down upstream_unavailable upstream" in shown
    assert "acme does not accept connections." in shown


def test_an_answer_from_the_cache_says_so_and_a_reduced_one_says_what_it_was(staff):
    now = timezone.now()
    stored(
        an_answer(now, is_cached=True),
        an_answer(now, original_tokens=9000, estimated_tokens=900, claude_tokens=1000, outcome="paginated"),
        an_answer(now, estimated_tokens=900, claude_tokens=0),
    )
    shown = words(section(page(staff, "calls/"), "table-calls"))
    assert "OK from cache" in shown
    assert "OK paged 12 ms 10,000 → 1,000" in shown
    assert "900 (formula)" in shown


def test_the_chart_counts_failed_calls_by_origin_and_the_answered_ones(staff):
    count = the_story()
    shown = words(section(page(staff, "calls/"), "chart-calls"))
    assert f"upstream 22 answered {count - 22}" in shown
    stored(a_failure(timezone.now(), origin=""))
    shown = words(section(page(staff, "calls/"), "chart-calls"))
    assert f"upstream 22 origin not known 1 answered {count - 22}" in shown


def test_every_call_is_on_one_page_only_and_newer_leads_back(staff):
    now = timezone.now()
    stored(*(an_answer(now - timedelta(seconds=n // 3), request_id=f"r{n}") for n in range(120)))
    first = page(staff, "calls/")
    second = html.unescape(staff.get(link(first, "Older")).content.decode())
    third = html.unescape(staff.get(link(second, "Older")).content.decode())
    assert [len(rows(each)) for each in (first, second, third)] == [50, 50, 20]
    assert {*rows(first), *rows(second), *rows(third)} == {f"r{n}" for n in range(120)}
    assert ">Older<" not in third
    again = html.unescape(staff.get(link(third, "Newer")).content.decode())
    assert rows(again) == rows(second)


@pytest.mark.parametrize("cursor", ["nonsense", "before:1-x", "after:inf-1", "before:1e300-1", "sideways:1-1"])
def test_a_cursor_that_is_not_understood_is_said_and_the_newest_calls_are_shown(staff, cursor):
    stored(an_answer(timezone.now(), request_id="r1"))
    text = page(staff, "calls/", f"cursor={cursor}")
    assert f"cursor={cursor} is not a place in the list" in text
    assert rows(text) == ["r1"]


def test_calls_are_found_by_a_part_of_the_error_of_the_tool_and_of_the_request_id(staff):
    now = timezone.now()
    stored(a_failure(now, request_id="f00d1"), an_answer(now, request_id="b4d", operation="hostaway_list_bookings"))
    assert rows(page(staff, "calls/", "q=accept+connections")) == ["f00d1"]
    assert rows(page(staff, "calls/", "q=bookings")) == ["b4d"]
    assert rows(page(staff, "calls/", "q=f00")) == ["f00d1"]


def test_a_whole_request_id_is_found_beyond_the_range(staff):
    request_id = "5" * 32
    stored(an_answer(timezone.now() - timedelta(days=3), request_id=request_id))
    assert rows(page(staff, "calls/", f"range=15m&q={request_id}")) == [request_id]


def test_a_value_of_a_filtered_dimension_is_counted_without_that_filter(staff):
    the_story()
    facets = words(re.search(r'<details class="facets".*?</details>', page(staff, "calls/", "key=desk"), re.S)[0])
    assert "ci-bot 62" in facets  # the other choice keeps its count
    assert "desk , chosen; remove 30" in facets
    assert "acme_get_order" not in facets  # other dimensions obey it


def test_a_chosen_value_links_to_the_list_without_it(staff):
    the_story()
    text = page(staff, "calls/", "range=6h&key=desk&tool=hostaway_list_bookings")
    chosen = re.search(r'href="([^"]*)" class="chosen" aria-current="true"><span>desk', text)[1]
    assert html.unescape(chosen) == "/telemetry/calls/?range=6h&tool=hostaway_list_bookings"


def test_filters_that_leave_nothing_say_how_much_there_is_without_them(staff):
    count = the_story()
    text = page(staff, "calls/", "range=1h&origin=sluice&tool=acme_get_order")
    assert f"No call matches these 2 filters. Without them there are {count}." in words(text)
    assert f"{count} calls" in page(staff, "calls/", link(text, "Remove filters").split("?")[1]).replace(
        "failed of ", ""
    )


def test_before_the_first_call_the_page_says_what_to_do(staff):
    assert "No calls yet. Connect a client and make one: it appears here within 2 seconds." in page(staff, "calls/")


def test_a_range_before_the_oldest_stored_call_says_that_calls_are_deleted(staff, settings):
    settings.TELEMETRY_RETENTION_DAYS = 30
    stored(an_answer(timezone.now()))
    assert "Calls are kept for 30 days" in page(staff, "calls/", "range=90d")
    assert "Calls are kept for" not in page(staff, "calls/", "range=7d")


def test_the_note_on_deleted_calls_says_whether_the_figures_count_them(staff, settings):
    settings.TELEMETRY_RETENTION_DAYS = 90
    now = timezone.now()
    stored(an_answer(now, request_id="kept"), an_answer(now - timedelta(days=40), request_id="old"))
    build_stale()
    TelemetryRecord.objects.filter(request_id="old").delete()
    settings.TELEMETRY_RETENTION_DAYS = 30
    counted, uncounted = "the chart and the total still count them", "so nothing here counts them"
    for query, total, said, unsaid in (
        ("tool=acme_get_order", 2, counted, uncounted),
        ("min_ms=1", 1, uncounted, counted),
        ("q=kept", 1, uncounted, counted),
    ):
        text = page(staff, "calls/", f"range=90d&{query}")
        assert f"{total} call{'s' if total > 1 else ''} in 90 days" in text
        assert said in text
        assert unsaid not in text


def test_a_total_that_only_the_calls_know_is_counted_up_to_a_limit(staff, monkeypatch):
    monkeypatch.setattr(import_module("telemetry.queries.records"), "COUNTED", 20)
    the_story()
    text = page(staff, "calls/", "q=acme")
    assert "20+ calls in 1 hour." in text


# -- Exports ------------------------------------------------------------------------------------------


def exported(staff, query: str) -> str:
    response = staff.get(f"/telemetry/calls/?{query}")
    assert response["Content-Disposition"].startswith('attachment; filename="calls.')
    return b"".join(response.streaming_content).decode()


def test_an_export_has_all_calls_that_match_not_only_those_of_the_page(staff):
    now = timezone.now()
    stored(*(an_answer(now - timedelta(seconds=n), request_id=f"r{n}") for n in range(120)), a_failure(now))
    found = list(csv.DictReader(io.StringIO(exported(staff, "export=csv&outcome=!error"))))
    assert [each["request_id"] for each in found] == [f"r{n}" for n in range(120)]
    assert {*FIGURES} < {*found[0]}
    as_json = json.loads(exported(staff, "export=json&outcome=!error"))
    assert [each["request_id"] for each in as_json] == [f"r{n}" for n in range(120)]
    assert as_json[0]["latency_ms"] == 12.0


def test_no_cell_of_an_export_is_a_formula(staff):
    stored(a_failure(timezone.now(), error_message="=HYPERLINK(1)", client="+1", caller="@x", operation="-1"))
    (found,) = csv.DictReader(io.StringIO(exported(staff, "export=csv")))
    assert [found[name] for name in ("error_message", "client", "caller", "operation")] == [
        "'=HYPERLINK(1)",
        "'+1",
        "'@x",
        "'-1",
    ]


@pytest.mark.django_db(transaction=True)
def test_an_export_is_sent_in_parts_while_it_is_read(django_user_model):
    now = timezone.now()
    stored(*(an_answer(now - timedelta(seconds=n)) for n in range(1200)))
    client = AsyncClient()
    client.force_login(django_user_model.objects.create_superuser("admin-1", password="a long password"))

    async def parts() -> list[bytes]:
        response = await client.get("/telemetry/calls/?export=csv")
        return [part async for part in aiter(response)]

    found = asyncio.run(parts())
    assert [part.count(b"\r\n") for part in found] == [500, 500, 201]
