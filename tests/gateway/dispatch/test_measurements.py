"""The record of a call has what an engineer on call needs: who called with what, whose fault it was, what it cost."""

import json
from operator import attrgetter

import pytest
from django.test import Client as HttpClient

from context_protection.core import tokens
from context_protection.core.payloads import Envelope
from context_protection.core.tokens import claude
from context_protection.models import TokenBudget
from gateway.catalog.catalog import catalogue
from gateway.dispatch.measurements import CALL, ENVELOPE, AnsweredCall
from telemetry import attempts, recorder
from telemetry.models import TelemetryRecord
from tests.caches import keep_responses
from tests.doors import Doors
from tests.gateway.test_failing_upstreams import Bad
from tests.gateway.test_failing_upstreams import bad as bad  # a fixture
from tests.gateway.test_records_and_texts import LOG

AGENT = {"User-Agent": "reporting/2.4 (linux; cron)"}


def last_record() -> TelemetryRecord:
    assert recorder.flush()
    return TelemetryRecord.objects.latest("pk")


def get(doors: Doors, address: str, **headers: str):
    return HttpClient().get(address, headers={"Authorization": f"Bearer {doors.key}", **AGENT, **headers})


def test_every_figure_of_an_answered_call_is_measured():
    """The writer drops a call with a figure that nothing measures, and its log does not name the figure."""
    envelope = Envelope(body=b"{}", outcome="plain", estimated_tokens=2, claude_tokens=1, original_tokens=3)
    figures = attrgetter(*ENVELOPE.values())(envelope)
    facts = tuple("known" for _ in CALL)
    operation = catalogue.get("list_bookings")
    call = AnsweredCall(0.0, 5.0, facts, ("limit",), operation, figures, 2, None, 4000, 1, "", False, None)
    measured = call.measured()
    assert (measured.operation, measured.caller, measured.original_tokens) == ("list_bookings", "known", 3)


@pytest.mark.django_db
def test_an_answered_list_says_who_asked_with_what_and_where_it_stands_in_its_chain(doors: Doors):
    first = get(doors, "/api/v1/bookings?limit=5&status=confirmed").json()
    record = last_record()
    assert (record.caller, record.client, record.client_version) == ("tests", "reporting", "2.4")
    assert (record.transport, record.protocol, record.connector) == ("rest", "", "hostaway")
    assert record.argument_names == "limit, status"
    assert (record.origin, record.error_reason, record.error_message) == ("", "", "")
    assert record.revision not in ("", "0")
    assert (record.upstream, record.attempts, record.upstream_ms) == ("", 0, 0)
    assert record.total_rows == first["meta"]["totalCount"] > record.item_count == 5
    assert 0 < record.largest_row_tokens <= record.original_tokens
    assert record.page == 1
    assert record.chain

    get(doors, "/api/v1/bookings", **{}) and get(
        doors, f"/api/v1/bookings?status=confirmed&cursor={first['nextCursor']}"
    )
    following = last_record()
    assert (following.chain, following.page) == (record.chain, 2)


@pytest.mark.django_db
def test_an_answer_from_the_response_cache_is_told_apart(doors: Doors, monkeypatch):
    keep_responses(monkeypatch)
    for _ in range(2):
        get(doors, "/api/v1/bookings?limit=3")
    assert recorder.flush()
    assert list(TelemetryRecord.objects.order_by("pk").values_list("is_cached", flat=True))[-2:] == [False, True]


@pytest.mark.django_db
def test_the_parts_of_a_text_are_pages_of_one_chain(doors: Doors):
    first = doors.rest("read_document", {"id": LOG})
    before = last_record()
    doors.rest("read_document", {"id": LOG, "cursor": first["nextCursor"]})
    after = last_record()
    assert (before.page, after.page) == (1, 2)
    assert before.chain == after.chain != ""


@pytest.mark.django_db
def test_an_mcp_client_is_named_by_its_own_word_with_its_protocol(doors: Doors):
    doors.mcp("list_bookings", {"limit": 2})
    record = last_record()
    assert (record.transport, record.client) == ("stdio", "mcp")
    assert record.client_version
    assert record.protocol >= "2025"


@pytest.mark.django_db
def test_a_failed_call_has_its_origin_its_words_and_the_size_of_its_own_text(doors: Doors):
    body = get(doors, "/api/v1/bookings/99999999").content
    record = last_record()
    assert (record.outcome, record.origin, record.error_reason) == ("error", "caller", "not_found")
    assert record.error_message == json.loads(body)["error"]["message"]
    assert record.response_bytes == len(body)
    assert record.estimated_tokens == tokens.formula(body.decode())
    assert record.claude_tokens == claude.count(body.decode())
    assert record.saved_tokens == 0


@pytest.mark.django_db
def test_an_error_message_is_stored_without_the_secret_that_a_caller_typed(doors: Doors):
    secret = "sk-ant-api03-Zx7q4711canarycanary"
    get(doors, f"/api/v1/bookings?orderBy={secret}", **{"User-Agent": f"{secret}/1"})
    record = last_record()
    assert record.outcome == "error"
    assert secret not in f"{record.error_message} {record.client} {record.argument_names}"


@pytest.mark.django_db
def test_a_call_says_how_often_its_upstream_was_asked_and_what_came(doors: Doors, bad: Bad):
    bad.imported(attempts=2)
    bad.upstream.mode, bad.upstream.status = "given", 503
    doors.post("bad_list_rows", {})
    record = last_record()
    assert (record.upstream, record.upstream_status, record.attempts) == ("bad", 503, 2)
    assert (record.origin, record.error_reason, record.connector) == ("upstream", "upstream_failed", "openapi")
    assert 0 < record.upstream_ms <= record.latency_ms
    first, pause, second = attempts.read(record.waits)
    assert (first.status, pause.status, second.status) == (503, None, 503)
    assert first.ms + pause.ms + second.ms <= record.upstream_ms + 0.3


@pytest.mark.django_db
def test_an_upstream_that_is_left_alone_was_not_asked(doors: Doors, bad: Bad):
    bad.imported()
    bad.upstream.mode, bad.upstream.status = "given", 503
    for number in range(6):
        doors.post("bad_list_rows", {"search": f"word{number}"})
    record = last_record()
    assert (record.upstream, record.error_reason) == ("bad", "upstream_unavailable")
    assert (record.attempts, record.upstream_status) == (0, 0)


@pytest.mark.django_db
def test_a_policys_time_that_went_into_an_upstream_is_the_upstreams_fault(doors: Doors, bad: Bad):
    TokenBudget.objects.create(operation="bad_list_rows", timeout_seconds=1)
    bad.imported(total_seconds=10, read_seconds=10)
    bad.upstream.mode = "hang"
    doors.mcp("bad_list_rows", {})
    record = last_record()
    assert record.error_reason in ("timeout", "upstream_timeout")
    assert (record.origin, record.upstream) == ("upstream", "bad")
