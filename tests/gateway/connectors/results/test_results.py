"""Result handles: what an answer left out can be read by path, searched, and asked with SQL, by its owner alone."""

import json
import re
import time
from dataclasses import replace
from typing import Any

import orjson
import pytest

from context_protection.revisions import revisions
from context_protection.stores import walks
from gateway.access.models import ApiKey
from gateway.connectors.hostaway.models import Booking
from gateway.connectors.hostaway.shapes import BOOKING
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db


def handle_of(answer: dict[str, Any]) -> str:
    handle: str = crawler.ours(answer)["resultHandle"]
    return handle


def upstream(number: int) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(Booking.objects.get(id=number).data)
    return document


def test_every_answer_that_leaves_something_out_has_a_handle_and_no_other(doors: Doors):
    for operation, arguments in (
        ("list_bookings", {}),
        ("list_bookings", {"limit": 200}),
        ("list_bookings", {"pages": "1-3"}),
        ("list_bookings", {"aggregate": {"groupBy": ["guestName"]}}),
        ("get_booking", {"id": 43000003}),
        ("get_listing", {"id": 200100, "fields": "all"}),
        ("read_document", {"id": "sync-2026-11.log"}),
    ):
        assert handle_of(doors.mcp(operation, arguments))
    for operation, arguments in (
        ("list_documents", {}),
        ("get_booking", {"id": 43000013}),
        ("list_bookings", {"aggregate": {"metrics": [{"op": "count"}]}}),
        ("read_document", {"id": "check-in-guide.md"}),
    ):
        assert "resultHandle" not in crawler.ours(doors.mcp(operation, arguments))


def test_the_rows_of_a_list_are_all_behind_its_handle_at_every_door(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {"status": "cancelled", "limit": 1}))
    expected = list(
        Booking.objects.filter(status="cancelled").order_by("-inserted_on", "-id").values_list("id", flat=True)
    )
    for ask in (doors.rest, doors.mcp, doors.post):
        assert [row["id"] for row in crawler.walk(ask, "result_get", {"handle": handle})] == expected


def test_a_row_is_picked_by_number_and_path(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {}))
    first = doors.rest("list_bookings", {"limit": 1})["items"][0]["id"]
    picked = doors.mcp("result_get", {"handle": handle, "rows": "0", "path": "financeField"})
    assert picked["items"] == upstream(first)["financeField"]
    assert doors.mcp("result_get", {"handle": handle, "rows": "0", "path": "id"})["value"] == first


def test_what_lists_withhold_no_handle_shows(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {}))
    row = crawler.record(doors.mcp, "result_get", {"handle": handle, "rows": "0"})
    assert not any(BOOKING.without_withheld(row, in_list=True)[1])
    for secret in ("doorCode", "guestEmail"):
        shown = doors.mcp("result_query", {"handle": handle, "sql": f"FROM rows SELECT count({secret}) AS shown"})
        assert shown.get("items") == [{"shown": 0}] or shown["error"]["reason"] == "unknown_column"
    assert doors.mcp("result_search", {"handle": handle, "text": withheld_value("guestEmail")})["items"] == []


def withheld_value(name: str) -> str:
    return next(
        str(row[name]) for row in map(orjson.loads, Booking.objects.values_list("data", flat=True)) if row.get(name)
    )


def test_a_record_is_read_and_searched_behind_its_preview(doors: Doors):
    handle = handle_of(doors.mcp("get_booking", {"id": 43000003}))
    fees = doors.mcp("result_get", {"handle": handle, "path": "financeField"})["items"]
    assert fees == upstream(43000003)["financeField"]
    (hit,) = doors.mcp("result_search", {"handle": handle, "regex": "^cleaningFee$"})["items"]
    found = doors.mcp("result_get", {"handle": handle, "path": hit["path"]})
    assert found["value"] == "cleaningFee"


def test_a_search_through_a_log_gives_lines_that_the_document_has(doors: Doors):
    handle = handle_of(doors.mcp("read_document", {"id": "sync-2026-11.log"}))
    answer = doors.mcp("result_search", {"handle": handle, "regex": r"\bERROR\b"})
    for hit in answer["items"][:3]:
        line = doors.mcp("read_document", {"id": "sync-2026-11.log", "startLine": hit["line"], "endLine": hit["line"]})
        assert "ERROR" in line["content"]


def test_sql_adds_up_over_all_rows_exactly(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {"limit": 1}))
    sql = "SELECT propertyId, sum(totalPrice) AS revenue FROM rows WHERE status = 'confirmed' GROUP BY ALL ORDER BY 1"
    aggregate = {"groupBy": ["propertyId"], "metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}]}
    groups = doors.mcp("list_bookings", {"where": {"status": "confirmed"}, "aggregate": aggregate})["groups"]
    by_sql = doors.rest("result_query", {"handle": handle, "sql": sql})["items"]
    assert by_sql == [{name: each[name] for name in ("propertyId", "revenue")} for each in groups]


def test_a_query_with_many_rows_comes_in_pages(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {}))
    rows = crawler.walk(doors.mcp, "result_query", {"handle": handle, "sql": "SELECT id, guestName FROM rows"})
    assert len(rows) == 500


def test_another_keys_handle_does_not_exist(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {}))
    assert "items" in doors.mcp("result_query", {"handle": handle, "sql": "SELECT 1 AS one"})
    _, secret = ApiKey.objects.issue("another")
    revisions.bump()
    other = Doors(secret)
    asked = {"result_get": {}, "result_search": {"text": "a"}, "result_query": {"sql": "SELECT 1"}}
    for operation, more in asked.items():
        error = other.mcp(operation, {"handle": handle, **more})["error"]
        assert (error["reason"], error["data"]["parameter"]) == ("handle_invalid", "handle")


def test_an_expired_handle_answers_with_the_call_that_makes_it_again(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {"where": {"currency": "EUR"}}))
    walk = walks.store.get(handle)
    assert walk is not None
    walks.store.put(replace(walk, expires_at=time.time() - 1))
    error = doors.mcp("result_get", {"handle": handle})["error"]
    assert error["reason"] == "handle_expired"
    call = re.fullmatch(r"Call (\w+) with ({.*}) again; .*", error["data"]["suggestion"])
    assert call
    assert handle_of(doors.mcp(call[1], json.loads(call[2]))) == handle, "and it is the same again"


@pytest.mark.parametrize(
    ("operation", "more", "reason"),
    [
        ("result_query", {"sql": "DELETE FROM rows"}, "forbidden_sql"),
        ("result_query", {"sql": "SELECT nope FROM rows"}, "unknown_column"),
        ("result_search", {}, "invalid_text"),
        ("result_search", {"text": "a", "regex": "a"}, "invalid_text"),
        ("result_search", {"regex": "("}, "invalid_regex"),
        ("result_get", {"path": "nope"}, None),
        ("result_get", {"rows": "9-1"}, "invalid_rows"),
        ("result_get", {"rows": "99999"}, "invalid_rows"),
    ],
)
def test_a_question_that_makes_no_sense_is_told_why(doors: Doors, operation: str, more: Any, reason: str | None):
    handle = handle_of(doors.mcp("list_bookings", {}))
    error = doors.mcp(operation, {"handle": handle, **more})["error"]
    assert reason is None or error["reason"] == reason
    assert error["data"]["parameter"] in {*more, "text"}
    assert error["data"]["suggestion"]


def test_savings_count_an_answer_once_and_its_follow_ups_as_costs(doors: Doors):
    preview = doors.mcp("get_booking", {"id": 43000003})
    doors.mcp("get_booking", {"id": 43000003, "fields": "financial"})
    doors.mcp("result_get", {"handle": handle_of(preview), "path": "guestNote"})
    recorder.flush()
    first, second, third = TelemetryRecord.objects.order_by("pk")
    assert first.baseline_tokens == first.original_tokens > 2000
    assert (second.baseline_tokens, third.baseline_tokens) == (0, 0)


def test_some_lines_of_a_text_carry_the_handle_to_all_of_it(doors: Doors):
    lines = [
        doors.mcp("read_document", {"id": "sync-2026-11.log", "startLine": line, "endLine": line}) for line in (1, 7)
    ]
    first, second = (handle_of(answer) for answer in lines)
    assert first == second
    answer = doors.mcp("result_search", {"handle": first, "regex": "."})
    assert (answer["meta"]["complete"], answer["meta"]["totalHits"]) == (True, 10_000)
