"""The pages of tools, callers and upstreams, and of one of them."""

import html
import re
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.utils import timezone

from gateway.access.models import ApiKey
from telemetry.models import CallArguments, Event, ProcessReport
from tests.telemetry.examples import stored
from tests.telemetry.pages.seeds import an_answer, the_story


def page(client, path, query="range=1h"):
    response = client.get(f"/telemetry/{path}?{query}")
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def section(text: str, key: str) -> str:
    return re.search(rf'<section[^>]* id="{key}".*?</section>', text, re.S)[0]


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


# -- Tools ------------------------------------------------------------------------------------------


def test_a_tool_says_that_it_fails_since_when_and_whose_fault_it_is(staff):
    now = timezone.now()
    the_story(now)
    text = page(staff, "tools/acme_get_order/", "range=1h&tz=UTC")
    # The first failed call is 614 s before now; what is said is its minute.
    first = (now - timedelta(seconds=614)).strftime("%H:%M")
    assert f"Failing since {first} (1" in text
    assert "22 of 62 calls failed (35.5%), 22 because of upstreams." in text
    assert "<title>■ acme_get_order – Sluice</title>" in text


def test_a_tool_lists_its_errors_by_reason_with_an_example(staff):
    the_story()
    text = words(section(page(staff, "tools/acme_get_order/"), "table-reasons"))
    assert "upstream_unavailable upstream 22 100.0%" in text
    assert "acme does not accept connections." in text


def test_a_tool_shows_who_calls_it_and_with_which_arguments_but_no_values(staff):
    the_story()
    now = timezone.now()
    for n, names in enumerate((["id"], ["id", "fields"])):
        CallArguments.objects.create(
            request_id=f"r{n}",
            at=now,
            expires_at=now,
            operation="acme_get_order",
            names=names,
            values={"id": "canary-77"},
        )
    text = page(staff, "tools/acme_get_order/")
    assert "ci-bot claude-code 62" in words(section(text, "table-groups"))
    usage = words(section(text, "table-usage"))
    assert "id 100.0%" in usage
    assert "fields 50.0%" in usage
    assert "canary-77" not in text


def test_a_tool_lists_its_latest_calls(staff):
    the_story()
    latest = section(page(staff, "tools/acme_get_order/"), "table-latest")
    assert latest.count("</tr>") == 21
    assert 'href="/telemetry/calls/bad-0/?range=1h"' in latest
    assert "acme does not accept connections." in latest
    assert "other-0" not in latest


def test_a_tool_shows_the_changes_of_its_upstream(staff):
    the_story()
    at = timezone.now() - timedelta(minutes=13)
    Event.objects.create(at=at, kind="C", subject="acme", summary="acme base address")
    Event.objects.create(at=at, kind="C", subject="hostaway", summary="hostaway rate")
    text = page(staff, "tools/acme_get_order/")
    assert "acme base address" in section(text, "changes")
    assert "hostaway rate" not in text


def test_a_tool_that_was_never_called_has_a_page_with_its_cost(staff):
    text = page(staff, "tools/list_bookings/", "")
    assert re.search(r"In the tool list \d\d+ tokens", words(text))
    assert "No calls yet." in text


def test_a_filter_for_another_tool_does_not_add_its_calls(staff):
    the_story()
    assert "62 calls" in page(staff, "tools/acme_get_order/", "range=1h&tool=hostaway_list_bookings")


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("tools/acme_get_order/", ("tool", "acme_get_order")),
        ("callers/ci-bot/", ("key", "ci-bot")),
        ("upstreams/acme/", ("upstream", "acme")),
    ],
)
def test_every_link_to_calls_selects_the_calls_of_the_page(staff, path, own):
    the_story()
    text = page(staff, path).replace(r"\u0026", "&")  # the data of charts escapes it
    main = re.search(r"<main.*?</main>", text, re.S)[0]
    links = re.findall(r'"(/telemetry/calls/\?[^"#]*)', main)
    assert len(set(links)) > 10
    assert [link for link in links if own not in parse_qsl(urlsplit(link).query)] == []


@pytest.mark.parametrize("path", ["tools/nosuch/", "callers/nosuch/", "upstreams/nosuch/", "tools/%00/"])
def test_what_never_existed_is_not_found(staff, path):
    assert staff.get(f"/telemetry/{path}").status_code == 404


def test_tools_that_nobody_calls_are_listed_with_what_they_cost(staff):
    stored(an_answer(timezone.now(), operation="list_bookings"))
    text = page(staff, "tools/")
    unused = section(text, "table-unused")
    assert "get_booking" in unused
    assert ">list_bookings<" not in unused
    assert re.search(r"\d+ tools, [\d,]+ tokens in every conversation.", unused)


def test_tools_whose_lists_are_read_page_by_page_are_listed(staff):
    the_story()
    paging = words(section(page(staff, "tools/"), "table-paging"))
    assert "hostaway_list_bookings 6 5.0 24" in paging
    assert "acme" not in paging


# -- Callers ----------------------------------------------------------------------------------------


def test_a_caller_has_its_clients_its_sequences_and_its_tools(staff):
    ApiKey.objects.issue("desk")
    the_story()
    text = page(staff, "callers/desk/")
    assert "cursor 2.1.330 2025-11-25 websocket 30 0.0%" in words(section(text, "table-clients"))
    assert "30 calls, 1 tool, 30,000 tokens, none failed" in words(section(text, "sequences"))
    assert "hostaway_list_bookings" in section(text, "table-groups")
    assert "Active, expires" in text
    assert "get_booking" in section(text, "table-unused")


def test_calls_with_five_minutes_between_them_are_two_sequences(staff):
    now = timezone.now()
    stored(*(an_answer(now - timedelta(minutes=m), request_id=str(m)) for m in (1, 2, 9, 10, 11)))
    runs = re.findall(r"(\d) calls, 1 tool", section(page(staff, "callers/ci-bot/"), "sequences"))
    assert runs == ["2", "3"]


def test_a_revoked_key_keeps_its_page_and_says_so(staff):
    key, _ = ApiKey.objects.issue("old-bot")
    key.revoke()
    assert "Revoked" in page(staff, "callers/old-bot/")


def test_the_list_of_callers_compares_and_links(staff):
    the_story()
    text = page(staff, "callers/", "range=1h&upstream=acme")
    assert 'href="/telemetry/callers/ci-bot/?range=1h&upstream=acme"' in text
    assert "1 key used in 1 hour." in text


# -- Upstreams --------------------------------------------------------------------------------------


def report(breaker: str, process: str, **more: object) -> None:
    acme = {"name": "acme", "connector": "openapi", "breaker": breaker, "lastFailure": "connection refused", **more}
    now = timezone.now()
    ProcessReport.objects.create(
        process=process, kind="web", host="a", pid=1, started_at=now, seen_at=now, report={"upstreams": [acme]}
    )


PROCESSES = ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002")


def test_an_upstream_is_down_while_the_breaker_of_one_process_is_open(staff):
    the_story()
    report("closed", PROCESSES[0], rateLeft=41, rateLimit=60)
    report("open", PROCESSES[1], rateLeft=55, rateLimit=60, nextTryInSeconds=8)
    text = page(staff, "upstreams/acme/")
    assert re.search(
        r"acme is down since \d\d:\d\d \(1\d.min\)\. Breaker open: connection refused\. Next try in 8 s\.", text
    )
    assert "<title>■ acme – Sluice</title>" in text
    assert re.search(r"Rate left 41 of 60", words(text))
    assert "acme is down. 1 upstream in all." in page(staff, "upstreams/")


@pytest.mark.parametrize("breaker", ["closed", "half-open", "open"])
def test_the_state_of_an_upstream_is_that_of_its_light(staff, breaker):
    the_story()
    report(breaker, PROCESSES[0])
    light = re.search(r'data-light="acme" data-state="([^"]+)"', page(staff, "", "range=15m"))[1]
    sentence = re.search(r'<p class="sentence">.*?</p>', page(staff, "upstreams/acme/"), re.S)[0]
    assert words(sentence).strip().startswith(light)
    assert f"acme {light} {light}, breaker" in words(section(page(staff, "upstreams/"), "table-groups"))


def test_an_upstream_shows_when_its_breaker_was_open(staff):
    the_story()
    assert 'id="breaker"' not in page(staff, "upstreams/acme/")
    now = timezone.now()
    for minutes, after, process in ((30, "open", "a"), (29, "open", "b"), (20, "closed", "a"), (10, "closed", "b")):
        at = now - timedelta(minutes=minutes)
        Event.objects.create(at=at, kind="B", subject="acme", summary="x", after=after, actor=f"process {process}")
    strip = section(page(staff, "upstreams/acme/"), "breaker").replace("\u00a0", " ")
    assert re.findall(r"(?:open|closed) \(\d+ min\)", re.search(r'aria-label="(.*?)"', strip)[1]) == [
        "closed (30 min)",
        "open (20 min)",
        "closed (10 min)",
    ]


def test_an_upstream_counts_requests_and_calls_apart(staff):
    the_story()
    text = words(page(staff, "upstreams/acme/"))
    assert re.search(r"Requests 106 for 62 calls", text)  # 40 answers and 22 calls that were tried three times
    assert re.search(r"Requests a call 1.7", text)


def test_an_upstream_shows_what_it_answered_by_status(staff):
    the_story()
    stored(an_answer(timezone.now(), request_id="limited", upstream_status=429))
    legend = words(section(page(staff, "upstreams/acme/"), "chart-statuses"))
    assert "2xx 40 429 1 no answer, or no request 22" in legend


def test_an_upstream_without_calls_is_in_the_list(staff):
    report("closed", PROCESSES[0])
    text = words(section(page(staff, "upstreams/"), "table-groups"))
    assert re.search(r"acme No data No data, breaker closed 0 –", text)


def test_an_upstream_is_checked_on_demand_and_its_answer_is_said(staff, monkeypatch):
    report("closed", PROCESSES[0], probe={"at": "2026-11-22T14:02:37+00:00", "ok": True, "ms": 41, "status": 200})
    monkeypatch.setattr(
        "telemetry.processes._probe",
        lambda name: {"at": "2026-11-22T14:03:00+00:00", "ok": False, "ms": 3, "status": 0, "message": "refused"},
    )
    assert "Last checked 2026-11-22 14:02:37, status 200 in 41 ms" in words(page(staff, "upstreams/acme/"))
    response = staff.post("/telemetry/upstreams/acme/check/")
    assert response["Location"] == "/telemetry/upstreams/acme/"
    shown = words(page(staff, "upstreams/acme/"))
    assert "Checked acme: 2026-11-22 14:03:00, no answer in 3.0 ms: refused" in shown.replace("\u00a0", " ")
    assert staff.get("/telemetry/upstreams/acme/check/").status_code == 405


def test_a_process_that_ended_says_nothing_of_upstreams(staff):
    report("open", PROCESSES[0])
    ProcessReport.objects.update(seen_at=timezone.now() - timedelta(minutes=2))
    assert "No process reports an upstream." in page(staff, "upstreams/")
