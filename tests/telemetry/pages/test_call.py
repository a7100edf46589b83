"""The page of one call."""

import html
import json
import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from telemetry import facts
from telemetry.models import CallArguments, Event
from telemetry.pages import replays
from tests.telemetry.examples import stored
from tests.telemetry.pages.seeds import a_failure, an_answer
from tests.telemetry.pages.test_pages_about_one import page, words


@pytest.fixture
def failure(db: None) -> None:
    """A failed call with three arguments, one of them masked."""
    now = timezone.now()
    stored(
        a_failure(now, request_id="bad", argument_names="orderNumber,phone,fields", latency_ms=15.0, upstream_ms=9.0)
    )
    CallArguments.objects.create(
        request_id="bad",
        at=now,
        expires_at=now + timedelta(days=7),
        operation="acme_get_order",
        caller="ci-bot",
        names=["orderNumber", "phone", "fields"],
        values={"orderNumber": "A-1009", "phone": "[redacted: phone]", "fields": ["id"]},
        hidden=[{"name": "phone", "characters": 11, "rule": "phone"}],
        answer=json.dumps({"error": {"reason": "upstream_unavailable", "suggestion": "Try again in 8 s."}}),
    )


@pytest.fixture
def engineer(staff):
    allow(staff, "view_callarguments", "replay_call")
    return staff


def allow(client, *permissions: str) -> None:
    client.user.user_permissions.add(*Permission.objects.filter(codename__in=permissions))


def copied(text: str, label: str) -> str:
    return html.unescape(re.search(rf'data-copy="([^"]*)" hidden>{label}<', text)[1])


def raw(client, path: str) -> str:
    response = client.get(f"/telemetry/{path}")
    assert response.status_code == 200
    return response.content.decode()


def test_the_title_says_what_failed_and_why(staff, failure):
    text = page(staff, "calls/bad/")
    assert "<h1>acme_get_order failed: acme does not accept connections.</h1>" in text
    assert "upstream · upstream_unavailable" in words(text)


def test_the_title_of_an_answer_says_what_was_done_to_it(staff):
    now = timezone.now()
    stored(
        an_answer(now, request_id="paged", outcome="paginated", item_count=50, total_rows=500),
        an_answer(now, request_id="cached", is_cached=True),
    )
    assert "acme_get_order was answered with a page: 50 of 500 rows." in page(staff, "calls/paged/")
    assert "acme_get_order was answered from the cache." in page(staff, "calls/cached/")


def test_the_phases_add_up_to_the_total(staff, failure):
    text = words(page(staff, "calls/bad/"))
    assert "Timeline, 15 ms" in text
    assert "acme, 3 requests 9.0 ms 60.0% Sluice 6.0 ms 40.0%" in text.replace("\xa0", " ")


def test_an_unknown_call_is_not_found(staff):
    assert staff.get("/telemetry/calls/nothing/").status_code == 404


def test_names_of_arguments_are_shown_to_all_and_values_are_not(staff, failure):
    text = raw(staff, "calls/bad/")
    assert "orderNumber" in text
    assert "You see the names only, not the values. People with the role engineer can" in text
    assert "A-1009" not in text
    assert "Try again in 8 s." not in text


def test_an_engineer_sees_masked_values_and_the_answer_that_the_client_got(engineer, failure):
    text = page(engineer, "calls/bad/")
    assert '"A-1009"' in text
    assert "•••• hidden (11 characters, rule: phone)" in text
    assert '"suggestion": "Try again in 8 s."' in text
    assert "[redacted" not in text


def test_values_of_a_successful_call_are_said_to_be_not_kept(engineer):
    stored(an_answer(timezone.now(), request_id="ok", argument_names="limit"))
    text = page(engineer, "calls/ok/")
    assert "Values of successful calls are not kept." in text
    assert "limit" in text


def test_values_that_were_deleted_are_said_to_have_been_kept_for_some_days(engineer):
    stored(a_failure(timezone.now() - timedelta(days=8), request_id="bad", argument_names="limit"))
    assert "The names of the arguments remain." in page(engineer, "calls/bad/")


def test_values_of_a_call_of_this_minute_are_said_to_be_not_stored_yet(engineer):
    stored(a_failure(timezone.now(), request_id="bad", argument_names="limit"))
    assert "The values are not stored yet. Reload the page in a few seconds." in page(engineer, "calls/bad/")


def test_a_copied_call_has_placeholders_for_the_key_and_for_hidden_values(engineer, failure):
    text = raw(engineer, "calls/bad/")
    curl, mcp = copied(text, "Copy as curl"), json.loads(copied(text, "Copy as MCP call"))
    assert "http://testserver/api/v1/tools/acme_get_order" in curl
    assert "Bearer $SLUICE_API_KEY" in curl
    assert '"phone": "<phone>"' in curl
    assert mcp["params"] == {
        "name": "acme_get_order",
        "arguments": {"orderNumber": "A-1009", "phone": "<phone>", "fields": ["id"]},
    }


def test_a_copied_call_of_who_may_see_no_values_has_names_only(staff, failure):
    mcp = json.loads(copied(raw(staff, "calls/bad/"), "Copy as MCP call"))
    assert mcp["params"]["arguments"] == {
        "orderNumber": "<orderNumber>",
        "phone": "<phone>",
        "fields": "<fields>",
    }


def test_a_quote_in_a_value_cannot_end_the_shell_text(engineer, failure):
    CallArguments.objects.update(values={"orderNumber": "'; rm -rf ~; '", "phone": "x", "fields": []})
    assert "'\"'\"'; rm -rf ~; '\"'\"'" in copied(raw(engineer, "calls/bad/"), "Copy as curl")


def test_what_was_cut_is_shown_in_claudes_tokens_and_by_the_formula(staff):
    stored(
        an_answer(
            timezone.now(),
            request_id="cut",
            original_tokens=9000,
            estimated_tokens=900,
            claude_tokens=1000,
            item_count=50,
            total_rows=500,
        )
    )
    text = words(page(staff, "calls/cut/"))
    assert "10,000 → 1,000 tokens, −90%" in text
    assert "By the formula: 9,000 → 900 tokens, −90%." in text
    assert "Rows 50 of 500" in text


def test_the_other_pages_of_its_chain_and_its_neighbours_are_one_click_away(staff):
    now = timezone.now()
    stored(
        *(
            an_answer(now + timedelta(seconds=n), request_id=f"p{n}", chain="c1", page=n, operation=f"tool_{n}")
            for n in (1, 2, 3)
        ),
        an_answer(now + timedelta(seconds=2), request_id="someone-else", caller="desk"),
    )
    text = page(staff, "calls/p2/")
    assert "page 1 → OK page 2, this call → OK page 3" in words(text)
    assert re.search(r'href="/telemetry/calls/p1/[^"]*">‹', text)
    assert re.search(r'href="/telemetry/calls/p3/[^"]*">\d', text)
    assert "someone-else" not in text


def test_a_page_of_its_chain_that_was_asked_for_again_is_named_once(staff):
    now = timezone.now()
    pages = [1, 1, 1, 2, 1]
    stored(
        *(
            an_answer(now + timedelta(seconds=n), request_id=f"p{n}", chain="c1", page=number, is_cached=n > 0)
            for n, number in enumerate(pages)
        )
    )
    assert "Chain: OK page 1, 4 times → OK page 2, this call Same key" in words(page(staff, "calls/p3/"))
    assert "OK page 1, 4 times, this call → OK page 2 Same key" in words(page(staff, "calls/p4/"))


def test_replays_are_no_neighbours(staff):
    now = timezone.now()
    stored(
        an_answer(now, request_id="first"),
        an_answer(now + timedelta(seconds=1), request_id="again", transport="replay"),
        an_answer(now + timedelta(seconds=2), request_id="last"),
    )
    assert "/telemetry/calls/again/" not in page(staff, "calls/first/")
    assert "/telemetry/calls/last/" in page(staff, "calls/first/")


def test_each_of_two_calls_with_one_id_has_its_page(staff):
    now = timezone.now()
    stored(
        an_answer(now - timedelta(minutes=2), request_id="1", operation="older_tool"),
        an_answer(now, request_id="1", operation="newer_tool"),
    )
    newest = page(staff, "calls/1/")
    assert "<h1>newer_tool was answered whole.</h1>" in newest
    assert "Other calls with this request id" in newest
    other = html.unescape(re.search(r'href="/telemetry/(calls/1/\?[^"]*at=[^"]*)"', newest)[1])
    older = staff.get(f"/telemetry/{other}").content.decode()
    assert "<h1>older_tool was answered whole.</h1>" in older
    assert "newer_tool, whole, ci-bot" in words(older)


def test_the_changes_that_made_its_revision_are_shown(staff):
    now = timezone.now()
    stored(an_answer(now, request_id="r", revision="213"))
    Event.objects.create(at=now, kind="C", summary="acme base address", actor="ops-2", revision="213")
    Event.objects.create(at=now, kind="C", summary="something else", actor="ops-2", revision="212")
    text = page(staff, "calls/r/")
    assert "acme base address, by ops-2" in text
    assert "something else" not in text


# -- Replay -------------------------------------------------------------------------------------------


@pytest.fixture
def runs():
    """A gateway that can replay: it notes what it is asked for."""
    asked: list[tuple[str, dict[str, object], str]] = []

    def run(operation, arguments, caller):
        asked.append((operation, dict(arguments), caller))
        return replays.Replayed("plain", '{"status": "shipped"}', 42, 12.0)

    replays.provide(run)
    known = {"acme_get_order": a_tool("acme_get_order", is_reading=True)}
    before = facts.tools.all()
    facts.tools.provide(lambda: known)
    yield asked
    replays.provide(None)
    facts.tools.provide(lambda: before)


def a_tool(name: str, *, is_reading: bool) -> facts.ToolFacts:
    return facts.ToolFacts(name, is_reading=is_reading, is_listed=True, tokens=100, budget=4000, hard_cap=12000)


def test_where_nothing_can_replay_no_button_offers_it(engineer, failure):
    assert "Replay…" not in page(engineer, "calls/bad/")


def test_who_may_not_replay_is_not_offered_it_and_cannot_post_it(staff, failure, runs):
    allow(staff, "view_callarguments")
    assert "Replay…" not in page(staff, "calls/bad/")
    response = staff.post("/telemetry/calls/bad/replay/", {"argument-phone": "1"})
    assert response.status_code == 403
    assert "cannot replay a recorded call" in response.content.decode()
    assert runs == []


def test_a_replay_asks_for_masked_values_and_shows_the_new_answer(engineer, failure, runs):
    text = page(engineer, "calls/bad/")
    assert "Run acme_get_order again? It reads from acme and counts against its rate limit." in text
    assert re.findall(r'name="(argument-[^"]*)"', text) == ["argument-phone"]
    response = engineer.post("/telemetry/calls/bad/replay/", {"argument-phone": "0170 1234567"})
    given = {"orderNumber": "A-1009", "phone": "0170 1234567", "fields": ["id"]}
    assert runs == [("acme_get_order", given, "ci-bot")]
    text = html.unescape(response.content.decode())
    assert '{"status": "shipped"}' in text
    assert "Now it answered: 42 tokens in 12 ms." in text.replace("\xa0", " ")


def test_a_replay_without_a_hidden_value_does_not_run(engineer, failure, runs):
    response = engineer.post("/telemetry/calls/bad/replay/", {})
    assert "phone: hidden in the record." in response.content.decode()
    assert runs == []


def test_a_tool_that_changes_data_is_never_replayed(engineer, failure, runs):
    facts.tools.provide(lambda: {"acme_get_order": a_tool("acme_get_order", is_reading=False)})
    assert "acme_get_order changes data in acme, so it is never replayed." in page(engineer, "calls/bad/")
    engineer.post("/telemetry/calls/bad/replay/", {"argument-phone": "1"})
    assert runs == []
