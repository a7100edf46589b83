"""format=handle gives a result without its data, and SQL joins results of any tools by their handles."""

import json
from typing import Any

import pytest

from context_protection.core import tokens
from gateway.connectors.results import tables
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db
LOG = "sync-2026-11.log"


def handle_of(doors: Doors, operation: str, **arguments: Any) -> str:
    handle: str = doors.mcp(operation, {**arguments, "format": "handle"})["meta"]["resultHandle"]
    return handle


def query(doors: Doors, sql: str, **handles: str) -> Any:
    return doors.mcp("result_query", {"handles": handles, "sql": sql})


# -- The answer -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "arguments", "total", "columns"),
    [
        ("list_bookings", {}, 500, {"status": "text confirmed", "checkInDate": "date 2027-01-26"}),
        ("list_bookings", {"status": "cancelled", "limit": 1}, 49, {"status": "text cancelled"}),
        ("list_listings", {"fields": "id"}, 12, {"id": "number 200507"}),
        ("list_documents", {}, 4, {"mediaType": "text text/markdown"}),
        ("get_booking", {"id": 43000003}, 1, {"id": "number 43000003", "checkInDate": "text 2026-12-05"}),
        ("read_document", {"id": LOG}, 10_000, {"time": "timestamp 2026-11-01 00:00", "level": "text INFO"}),
        ("read_document", {"id": "house-manual.md"}, 996, {"line": "number 1", "text": "text # House manual"}),
        ("list_bookings", {"aggregate": {"groupBy": ["channel"]}}, 5, {"count": "number 409"}),
    ],
)
def test_a_handle_comes_with_the_count_and_the_columns_and_without_rows(
    doors: Doors, operation: str, arguments: dict[str, Any], total: int, columns: dict[str, str]
):
    answer = doors.mcp(operation, {**arguments, "format": "handle"})
    assert answer["meta"]["kind"] == "handle"
    assert answer["meta"]["totalCount"] == total
    assert columns.items() <= answer["columns"].items()
    assert not {"items", "groups", "summary", "content", "table"} & answer.keys()
    assert tokens.claude.count(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= 220
    assert answer == doors.post(operation, {**arguments, "format": "handle"}), "the same at every transport"


@pytest.mark.parametrize("operation", ["list_bookings", "list_listings", "list_transactions", "list_documents"])
def test_the_columns_and_the_other_columns_are_all_that_sql_knows(doors: Doors, operation: str):
    answer = doors.mcp(operation, {"format": "handle"})
    described = query(doors, "DESCRIBE r", r=answer["meta"]["resultHandle"])
    names = [row["column_name"] for row in crawler.walk(doors.mcp, "result_query", described_by(answer))]
    assert names[: len(answer["columns"])] == list(answer["columns"])
    assert len(names) == len(answer["columns"]) + answer.get("otherColumns", 0), described


def described_by(answer: dict[str, Any]) -> dict[str, Any]:
    return {"handle": answer["meta"]["resultHandle"], "sql": "DESCRIBE rows"}


def test_a_cursor_gives_the_handle_of_its_list(doors: Doors):
    first = doors.mcp("list_bookings", {})
    again = doors.mcp("list_bookings", {"cursor": first["nextCursor"], "format": "handle"})
    assert again["meta"]["resultHandle"] == first["meta"]["resultHandle"]
    assert again["meta"]["totalCount"] == 500


def test_without_the_tools_for_results_a_handle_is_not_offered(doors: Doors):
    doors.choose(hidden_tools=["result_get"])
    error = doors.mcp("list_bookings", {"format": "handle"})["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("invalid_format", "format")


# -- Joins ------------------------------------------------------------------------------------------


def test_results_of_several_tools_are_joined_and_give_a_result_of_its_own(doors: Doors):
    handles = {"b": handle_of(doors, "list_bookings"), "l": handle_of(doors, "list_listings")}
    sql = "SELECT l.city, max(b.checkInDate) AS last, count(*) AS n FROM b JOIN l ON b.propertyId = l.id GROUP BY ALL"
    answer = query(doors, sql, **handles)
    assert sum(row["n"] for row in answer["items"]) == 500
    later = {
        "handle": answer["meta"]["resultHandle"],
        "sql": "SELECT count(*) AS n FROM rows WHERE last > '2027-01-01'",
    }
    assert doors.mcp("result_query", later)["items"][0]["n"] > 0, "a date stays a date"
    both = query(doors, "SELECT count(*) AS n FROM x JOIN l USING (city)", x=later["handle"], l=handles["l"])
    assert both["items"] == [{"n": 12}]


def test_every_row_of_a_list_is_behind_its_handle_and_every_line_of_a_text(doors: Doors):
    handles = {"b": handle_of(doors, "list_bookings", limit=2), "log": handle_of(doors, "read_document", id=LOG)}
    sql = "SELECT (SELECT count(*) FROM b) AS bookings, count(*) AS lines, max(line) AS last FROM log"
    assert query(doors, sql, **handles)["items"] == [{"bookings": 500, "lines": 10000, "last": 10000}]
    sql = "SELECT count(*) AS n FROM log WHERE (time IS NULL) <> (level IS NULL)"
    assert query(doors, sql, **handles)["items"] == [{"n": 0}], "lines that go on with an entry have neither"


def test_a_record_is_one_row(doors: Doors):
    record = handle_of(doors, "get_booking", id=43000003)
    sql = "SELECT r.guestName, l.name, len(r.financeField) AS fees FROM r JOIN l ON r.listingMapId = l.id"
    answer = query(doors, sql, r=record, l=handle_of(doors, "list_listings"))
    assert [(row["guestName"], row["fees"]) for row in answer["items"]] == [("Harriet Ashgrove", 25)]


def test_what_is_withheld_stays_withheld_across_joins(doors: Doors):
    handles = {"a": handle_of(doors, "list_bookings"), "r": handle_of(doors, "get_booking", id=43000003)}
    for name in ("a.doorCode", "r.doorCode", "a.guestEmail"):
        shown = query(doors, "SELECT count($) AS n FROM a JOIN r ON a.id = r.id".replace("$", name), **handles)
        assert shown.get("items") == [{"n": 0}] or shown["error"]["reason"] == "unknown_column"
    shown = query(doors, "SELECT * FROM a JOIN r ON a.id = r.id", **handles)
    assert "4026" not in json.dumps(shown)


def test_a_column_that_no_table_has_is_answered_with_the_nearest_and_the_others(doors: Doors):
    handles = {"b": handle_of(doors, "list_bookings"), "l": handle_of(doors, "list_listings")}
    data = query(doors, "SELECT b.totalPrise FROM b", **handles)["error"]["data"]
    assert "b.totalPrice" in data["suggestion"]
    assert {"cleaningFee", "channelId", "guestFirstName"} <= set(data["expected"].split(", "))
    data = query(doors, "SELECT b.city FROM b", **handles)["error"]["data"]
    assert "b.guestCity" in data["suggestion"]
    assert "l:" not in data["expected"], "only b was searched"


# -- Wrong arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "parameter"),
    [
        (["select"], "handles"),
        (["ROWS", "Rows"], "handles"),
        (["b; DROP TABLE b"], "handles"),
        (['b"'], "handles"),
        (["duckdb_tables"], "handles"),
        (["sqlite_master"], "handles"),
        (["ü"], "handles"),
        ([""], "handles"),
        (["x" * 31], "handles"),
        (list("abcdefghi"), "handles"),
        ([], "handles"),
    ],
)
def test_table_names_are_plain_identifiers_and_at_most_eight(doors: Doors, names: list[str], parameter: str):
    handle = handle_of(doors, "list_listings")
    error = query(doors, "SELECT 1", **dict.fromkeys(names, handle))["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("invalid_handles", parameter)
    assert error["data"]["suggestion"]


def test_eight_tables_are_joined(doors: Doors):
    handle = handle_of(doors, "list_listings")
    names = list("abcdefgh")
    assert len(names) == tables.MAX_TABLES
    joins = [f"JOIN {name} USING (id)" for name in names[1:]]
    sql = " ".join(["SELECT count(*) AS n FROM a", *joins])
    assert query(doors, sql, **dict.fromkeys(names, handle))["items"] == [{"n": 12}]


@pytest.mark.parametrize("given", [{}, {"handle": "x", "handles": {"a": "x"}}])
def test_either_one_handle_or_several(doors: Doors, given: dict[str, Any]):
    error = doors.mcp("result_query", {**given, "sql": "SELECT 1"})["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("invalid_handles", "handles")


def test_an_unknown_handle_is_named_by_its_table(doors: Doors):
    good = handle_of(doors, "list_listings")
    error = query(doors, "SELECT 1", a=good, b="nothing")["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("handle_invalid", "handles.b")
    assert "set handles.b to" in error["data"]["suggestion"]
    error = query(doors, "SELECT 1", a=good, b=7)["error"]  # type: ignore[arg-type]
    assert (error["reason"], error["data"]["parameter"]) == ("invalid_handles", "handles.b")


def test_a_table_that_was_not_given_is_named_with_those_that_were(doors: Doors):
    handle = handle_of(doors, "list_listings")
    error = query(doors, "SELECT 1 FROM rows", a=handle, b=handle)["error"]
    assert error["reason"] == "forbidden_sql"
    assert "a, b" in error["data"]["expected"]


def test_a_text_that_is_too_long_for_sql_is_refused(doors: Doors, monkeypatch: pytest.MonkeyPatch):
    handle = handle_of(doors, "read_document", id=LOG)
    monkeypatch.setattr(tables, "MAX_ROWS", 9_999)
    error = query(doors, "SELECT 1", log=handle)["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("result_too_large", "handles.log")
    assert "result_search" in error["data"]["suggestion"]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [("list_bookings", {}), ("get_booking", {"id": 43000003}), ("read_document", {"id": LOG}), ("list_documents", {})],
)
def test_a_resources_own_address_gives_the_handle_too(doors: Doors, operation: str, arguments: dict[str, Any]):
    given = {**arguments, "format": "handle"}
    assert doors.rest(operation, given) == doors.mcp(operation, given)


def test_a_query_without_a_handle_is_told_where_to_get_one(doors: Doors):
    """Once, it was told to leave out what it had not given."""
    error = doors.mcp("result_query", {"sql": "SELECT 1"})["error"]
    assert error["message"] == "Neither handle nor handles is given."
    assert error["data"]["suggestion"].endswith("set handle to its meta.resultHandle.")


def test_a_query_with_both_kinds_of_handles_works_without_the_ones_that_its_statement_does_not_name(doors: Doors):
    handle = handle_of(doors, "list_bookings")
    arguments = {"handle": handle, "sql": "SELECT count(*) AS n FROM rows"}
    for handles in ({}, {"b": handle}):
        error = doors.mcp("result_query", {**arguments, "handles": handles})["error"]
        assert error["message"] == "Both handle and handles are given."
        assert error["data"]["suggestion"] == "Leave handles out for this sql."
    assert doors.mcp("result_query", arguments)["items"] == [{"n": 500}]
    error = doors.mcp("result_query", {"handle": handle, "handles": {"b": handle}, "sql": "SELECT 1 FROM b"})["error"]
    assert error["data"]["suggestion"] == "Leave handle out for this sql."
