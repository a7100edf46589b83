"""Result handles: what an answer left out can be read by path, searched, and asked with SQL, by its owner alone."""

import json
import re
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from context_protection.core.policy import Kind
from context_protection.core.results import search
from context_protection.core.rows import Loaded, MemoryRows
from gateway.access.models import ApiKey
from gateway.catalog.operation import Operation
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.models import Booking
from gateway.connectors.results import results
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests import crawler
from tests.doors import Doors
from tests.losing import lose
from tests.offers import in_place

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


def test_a_page_of_a_query_has_as_many_rows_as_fit(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {"limit": 1}))
    short = doors.mcp("result_query", {"handle": handle, "sql": "SELECT id FROM rows LIMIT 120"})
    assert len(short["items"]) == 120
    assert "nextCursor" not in short
    sql = "SELECT id, guestName, checkInDate, checkOutDate, propertyName, channel, totalPrice FROM rows"
    long = doors.mcp("result_query", {"handle": handle, "sql": sql})
    assert 50 < len(long["items"]) < 200
    assert long["meta"]["estimatedTokens"] <= 4000


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


def test_what_is_picked_out_of_rows_is_not_condensed_as_if_it_were_rows(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {}))
    answer = doors.mcp("result_get", {"handle": handle, "path": "*.guestNote", "limit": 200})
    assert answer["meta"]["kind"] == "preview"
    assert all(set(row) <= {"value"} for row in crawler.rows(answer))


def test_what_lists_withhold_no_handle_shows(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {}))
    row = crawler.record(doors.mcp, "result_get", {"handle": handle, "rows": "0"})
    assert not any(BOOKINGS.shape.as_row(row)[1])
    for secret in ("doorCode", "guestEmail"):
        shown = doors.mcp("result_query", {"handle": handle, "sql": f"FROM rows SELECT count({secret}) AS shown"})
        assert shown.get("items") == [{"shown": 0}] or shown["error"]["reason"] == "unknown_column"
    assert doors.mcp("result_search", {"handle": handle, "text": withheld_value("guestEmail")})["items"] == []


def withheld_value(name: str) -> str:
    return next(
        str(row[name]) for row in map(orjson.loads, Booking.objects.values_list("data", flat=True)) if row.get(name)
    )


@pytest.mark.parametrize("asked", [{"rows": "0"}, {"rows": "0-1"}, {"limit": 1}])
def test_what_a_result_withholds_is_named(doors: Doors, asked: dict[str, Any]):
    answer = doors.mcp("result_get", {"handle": handle_of(doors.mcp("list_bookings", {})), **asked})
    assert {"doorCode", "guestEmail"} <= set(answer["meta"]["withheld"])
    preview = doors.mcp("get_booking", {"id": 43000003})
    again = doors.mcp("result_get", {"handle": handle_of(preview)})
    assert again["meta"]["withheld"] == preview["meta"]["withheld"]


DOOR_CODE = "Late arrival. The door code is 4026#."
NOTES = Operation(
    name="list_notes",
    title="Notes",
    description="Notes of guests.",
    kind=Kind.LIST,
    parameters={},
    fetch=lambda arguments, caller: MemoryRows(
        lambda: Loaded([{"id": 0, "note": "Early."}, {"id": 1, "note": DOOR_CODE}])
    ),
    endpoint="/api/v1/tools/list_notes",
)


def test_what_is_masked_inside_a_value_is_named_when_the_list_is_opened_again(doors: Doors):
    with in_place([NOTES]):
        handle = handle_of(doors.mcp("list_notes", {"format": "handle"}))
        first = doors.mcp("result_get", {"handle": handle, "rows": "0-1", "limit": 1})
        rest = doors.mcp("result_get", {"cursor": first["nextCursor"]})
    assert first["items"] == [{"id": 0, "note": "Early."}]
    assert "[withheld" in rest["items"][0]["note"]
    assert first["meta"]["withheld"] == ["note"], "of all rows that were asked for"


@pytest.mark.parametrize("ask", ["rest", "mcp"])
def test_a_computed_row_that_alone_is_over_the_cap_says_how_to_get_all_of_it(doors: Doors, ask: str):
    call = getattr(doors, ask)
    handle = handle_of(call("list_bookings", {}))
    sql = "SELECT n AS id, CASE n WHEN 1 THEN repeat('All of it. ', 20000) END AS text, [n] AS list FROM range(3) t(n)"
    pages = list(crawler.pages(call, "result_query", {"handle": handle, "sql": sql}))
    rows = [row for page in pages for row in crawler.rows(page)]
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert [page["meta"]["kind"] for page in pages] == ["full", "preview", "full"]
    operation, arguments = crawler.details(rows[1]["detailsAvailable"])
    whole = crawler.from_parts(call, operation, arguments)
    assert whole == {"id": 1, "text": "All of it. " * 20000, "list": [1]}


def test_a_result_that_is_too_long_is_refused_before_a_row_is_read(
    doors: Doors, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
):
    handle = handle_of(doors.mcp("list_bookings", {}))
    monkeypatch.setattr(results, "MAX_ROWS", 499)
    with django_assert_max_num_queries(1):  # the walk
        error = doors.mcp("result_search", {"handle": handle, "text": "a"})["error"]
    assert error["reason"] == "result_too_large"
    assert "where" in error["data"]["suggestion"]


def test_a_row_of_a_result_that_is_too_long_can_be_read(doors: Doors, monkeypatch: pytest.MonkeyPatch):
    """A row above the hard cap names this call, and upstream may say that millions follow."""
    handle = handle_of(doors.mcp("list_bookings", {}))
    expected = doors.mcp("result_get", {"handle": handle, "rows": "41", "path": "id"})
    monkeypatch.setattr(results, "MAX_ROWS", 499)
    assert doors.mcp("result_get", {"handle": handle, "rows": "41", "path": "id"}) == expected
    assert doors.mcp("result_get", {"handle": handle, "rows": "499"})["error"]["reason"] == "result_too_large"


def test_a_result_whose_rows_are_too_large_together_is_refused(doors: Doors, monkeypatch: pytest.MonkeyPatch):
    handle = handle_of(doors.mcp("list_bookings", {}))
    monkeypatch.setattr(results, "MAX_BYTES", 100_000)
    assert doors.mcp("result_get", {"handle": handle})["error"]["reason"] == "result_too_large"


def test_a_handle_to_rows_that_the_store_has_lost_has_expired(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {"aggregate": {"groupBy": ["id"]}}))
    lose(f"{handle}.1")
    assert doors.mcp("result_get", {"handle": handle})["error"]["reason"] == "handle_expired"


def test_a_text_behind_a_handle_stays_as_it_was_until_it_is_gone(doors: Doors):
    first = "\n".join(f"first {line}" for line in range(3000))
    store.save_document("changing.log", "Changing", "text/plain", first)
    handle = handle_of(doors.mcp("read_document", {"id": "changing.log"}))
    store.save_document("changing.log", "Changing", "text/plain", "second\n" * 10)
    assert crawler.text(doors.mcp, "result_get", {"handle": handle}) == first
    assert doors.mcp("result_search", {"handle": handle, "text": "first"})["meta"]["totalCount"] == 3000
    store.purge_unused_contents(timezone.now() + timedelta(seconds=1))
    for operation, more in (("result_get", {}), ("result_search", {"text": "first"})):
        error = doors.mcp(operation, {"handle": handle, **more})["error"]
        assert error["reason"] == "handle_expired", "and it is not said that nothing was found"


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


def test_a_search_goes_on_from_where_the_one_before_says(doors: Doors):
    handle = handle_of(doors.mcp("read_document", {"id": "sync-2026-11.log"}))
    asked = {"handle": handle, "regex": "."}
    first = doors.mcp("result_search", asked)
    second = doors.mcp("result_search", {**asked, "from": first["meta"]["nextFrom"]})
    assert (first["items"][0]["line"], second["items"][0]["line"]) == (1, search.MAX_HITS + 1)


def test_sql_adds_up_over_all_rows_exactly(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {"limit": 1}))
    sql = "SELECT propertyId, sum(totalPrice) AS revenue FROM rows WHERE status = 'confirmed' GROUP BY ALL ORDER BY 1"
    aggregate = {"groupBy": ["propertyId"], "metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}]}
    groups = doors.mcp("list_bookings", {"where": {"status": "confirmed"}, "aggregate": aggregate})["groups"]
    by_sql = doors.rest("result_query", {"handle": handle, "sql": sql})["items"]
    assert by_sql == [{name: each[name] for name in ("propertyId", "revenue")} for each in groups]


def test_a_query_with_more_rows_than_are_given_says_so(doors: Doors):
    handle = handle_of(doors.mcp("list_bookings", {}))
    sql = "SELECT n FROM range(10001) AS t(n)"
    answer = doors.mcp("result_query", {"handle": handle, "sql": sql})
    assert answer["meta"]["totalCount"] == 10_000
    assert "LIMIT" in answer["meta"]["notes"][0]
    assert "notes" not in doors.mcp("result_query", {"handle": handle, "sql": f"{sql} LIMIT 9"})["meta"]


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


@pytest.mark.parametrize(
    "arguments", [{"where": {"currency": "EUR"}}, {"where": {"id": {"lt": 43000004}}, "format": "handle"}]
)
def test_an_expired_handle_answers_with_the_call_that_makes_it_again(doors: Doors, arguments: dict[str, Any]):
    handle = handle_of(doors.mcp("list_bookings", arguments))
    query = {"handle": handle, "sql": "SELECT count(*) FROM rows"}
    answer = doors.mcp("result_query", query)
    assert answer["items"]
    lose(handle)
    assert doors.mcp("result_query", query)["error"]["reason"] == "handle_expired", "also where its table is at hand"
    error = doors.mcp("result_get", {"handle": handle})["error"]
    assert error["reason"] == "handle_expired"
    call = re.fullmatch(r"Call (\w+) with ({.*}) again; .*", error["data"]["suggestion"])
    assert call
    again = handle_of(doors.mcp(call[1], json.loads(call[2])))
    assert doors.mcp("result_query", {**query, "handle": again})["items"] == answer["items"]


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
    doors.mcp("result_get", {"handle": handle_of(preview), "path": "financeField"})
    doors.mcp("result_search", {"handle": handle_of(preview), "text": "e"})
    recorder.flush()
    first, *following = TelemetryRecord.objects.order_by("pk")
    assert first.baseline_tokens == first.original_tokens > 2000
    assert [each.baseline_tokens for each in following] == [0, 0, 0, 0]


def test_some_lines_of_a_text_carry_the_handle_to_all_of_it(doors: Doors):
    lines = [
        doors.mcp("read_document", {"id": "sync-2026-11.log", "startLine": line, "endLine": line}) for line in (1, 7)
    ]
    first, second = (handle_of(answer) for answer in lines)
    assert first == second
    answer = doors.mcp("result_search", {"handle": first, "regex": "."})
    assert (answer["meta"]["complete"], answer["meta"]["totalCount"]) == (True, 10_000)


@pytest.mark.parametrize(
    ("made_by", "more", "suggestion"),
    [
        (("read_document", {"id": "sync-2026-11.log"}), {"rows": "5"}, "Leave rows out; use startLine and endLine."),
        (("list_bookings", {}), {"startLine": 5}, "Leave startLine out; use path and rows."),
        (("get_booking", {"id": 43000003}), {"endLine": 5}, "Leave endLine out; use path."),
    ],
)
def test_a_question_of_the_wrong_kind_repeats_what_was_asked(doors: Doors, made_by: Any, more: Any, suggestion: str):
    error = doors.mcp("result_get", {"handle": handle_of(doors.mcp(*made_by)), **more})["error"]
    assert {error["data"]["parameter"]: error["data"]["value"]} == more
    assert error["data"]["suggestion"] == suggestion


def test_a_search_has_one_total_however_many_hits_it_sends(doors: Doors):
    handle = handle_of(doors.mcp("read_document", {"id": "sync-2026-11.log"}))
    pages = list(crawler.pages(doors.mcp, "result_search", {"handle": handle, "text": "warn "}))
    hits = [hit for page in pages for hit in crawler.rows(page)]
    assert {page["meta"]["totalCount"] for page in pages} == {len(hits)} == {840}
    assert "totalHits" not in pages[0]["meta"]
    more = doors.mcp("result_search", {"handle": handle, "regex": "."})["meta"]
    assert (more["totalCount"], more["complete"]) == (10_000, True)
    assert more["nextFrom"]
    nothing = doors.mcp("result_search", {"handle": handle, "text": "no such word"})
    assert (nothing["items"], nothing["meta"]["totalCount"]) == ([], 0)
