"""Law 4: the same operation and arguments give the same envelope at every door; only the form of "how to get more"
differs."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from context_protection.core.policy import DEFAULTS
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from tests import crawler
from tests.doors import TEMPLATES, Doors

pytestmark = pytest.mark.django_db

IDS = {
    "get_listing": range(200100, 200600, 37),
    "get_booking": range(43000000, 43000060),
    "get_transaction": range(700000, 700040),
}
QUESTIONS: dict[str, list[Any]] = {
    "where": [
        {"currency": "EUR"},
        {"id": {"gte": 43000100, "lt": 43000140}},
        {"guestName": {"contains": "日"}},
        {"nope": 1},
        {"insertedOn": {"lt": "2026-10-01"}, "or": [{"status": "cancelled"}, {"status": None}]},
    ],
    "aggregate": [
        {"groupBy": ["currency"], "metrics": [{"op": "count"}]},
        {"groupBy": ["id"]},
        {"groupBy": [{"field": "insertedOn", "bucket": "month"}], "orderBy": "-count"},
        {"metrics": [{"op": "sum", "field": "id"}]},
        {"groupBy": "currency"},
    ],
    "pages": ["1-3", "2", "9-10", "x"],
}
DOCUMENTS = ["sync-2026-11.log", "house-manual.md", "check-in-guide.md", "no-such.txt"]
# The answer is near its limit, and has a hint whose form differs.
SEARCHED = ("read_document", {"id": "sync-2026-11.log", "search": "e", "format": "handle"})


def any_operation(operation: Operation) -> bool:
    return True


def one_at_a_time(operation: Operation) -> bool:
    """What resources are."""
    return operation.name in TEMPLATES


@st.composite
def calls(draw: st.DrawFn, which: Callable[[Operation], bool] = any_operation) -> tuple[str, dict[str, Any]]:
    """An operation with arguments that may be right or wrong."""
    operation = draw(st.sampled_from([each for each in catalogue if which(each)]))
    schema = operation.schema(DEFAULTS)["properties"]
    arguments: dict[str, Any] = {}
    if "id" in schema:
        ids = IDS.get(operation.name)
        arguments["id"] = draw(st.sampled_from(list(ids) if ids else DOCUMENTS))
    for name in draw(st.lists(st.sampled_from([name for name in schema if name not in {"id", "cursor"}]), max_size=3)):
        arguments[name] = draw(values(name, schema[name]))
    return operation.name, arguments


def values(name: str, schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    if name in QUESTIONS:
        return st.sampled_from(QUESTIONS[name])
    if name == "fields":
        return st.sampled_from(["all", "id,name", "id,status", "financial", "nonsense", "listingImages.*.url", "id"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("format") == "date":
        return st.sampled_from(["2026-11-01", "2027-01-15", "2026-13-40"])
    if schema["type"] == "integer":
        return st.sampled_from([-1, 0, 1, 2, 7, 60, 200, 201, 200285])
    if schema["type"] == "number":
        return st.sampled_from([0, 100, 2500.5])
    return st.sampled_from(["e", "Kyoto", "EUR", "日"])


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=calls())
@example(SEARCHED)
def test_rest_and_mcp_give_the_same_envelope(doors: Doors, call: tuple[str, dict[str, Any]]):
    operation, arguments = call
    by_address = doors.rest(operation, arguments)
    by_tool = doors.mcp(operation, arguments)
    by_post = doors.post(operation, arguments)
    assume_in_time(by_address, by_tool, by_post)
    assert comparable(by_address) == comparable(by_tool) == comparable(by_post)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=calls(one_at_a_time))
@example(SEARCHED)
def test_a_resource_is_the_same_envelope_as_its_tools_answer(doors: Doors, call: tuple[str, dict[str, Any]]):
    operation, arguments = call
    by_tool = doors.mcp(operation, arguments)
    by_uri = doors.resource(operation, arguments)
    if "error" in by_tool:
        by_tool["error"].pop("reason")  # a protocol error has no place for it
        by_uri["error"]["data"].pop("uri", None)  # said of what is missing
    assume_in_time(by_tool, by_uri)
    assert comparable(by_uri) == comparable(by_tool)


def test_a_text_that_began_as_a_tools_answer_goes_on_as_a_resource(doors: Doors):
    document = {"id": "house-manual.md"}
    first = doors.mcp("read_document", document)
    second = doors.resource("read_document", {**document, "cursor": first["nextCursor"]})
    third = doors.mcp("read_document", {**document, "cursor": second["nextCursor"]})
    texts = list(crawler.pages(doors.rest, "read_document", document))
    assert [each["content"] for each in (first, second, third)] == [each["content"] for each in texts[:3]]


def test_a_walk_that_began_at_one_door_goes_on_at_another(doors: Doors):
    first = doors.mcp("list_bookings", {"status": "confirmed"})
    second = doors.rest("list_bookings", {"cursor": first["nextCursor"]})
    third = doors.mcp("list_bookings", {"cursor": second["nextCursor"]})
    ids = [row["id"] for answer in (first, second, third) for row in answer["items"]]
    assert ids == [row["id"] for row in crawler.walk(doors.rest, "list_bookings", {"status": "confirmed"})][: len(ids)]


def test_the_preview_of_either_door_leads_to_the_same_record(doors: Doors):
    by_rest = crawler.record(doors.rest, "get_booking", {"id": 43000003})
    by_tool = crawler.record(doors.mcp, "get_booking", {"id": 43000003})
    by_uri = crawler.record(doors.resource, "get_booking", {"id": 43000003})
    assert by_rest == by_tool == by_uri == crawler.by_sections(doors.mcp, "get_booking", {"id": 43000003})
    assert by_uri == crawler.by_sections(doors.resource, "get_booking", {"id": 43000003})


def assume_in_time(*answers: dict[str, Any]) -> None:
    """A search that took too long, as on a machine that stalls, ends early, so that its answer depends on the time."""
    assume(all("error" in answer or crawler.ours(answer).get("complete", True) for answer in answers))


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Without what is new in every walk (cursor, time), and without the form of the hint and the size it adds."""
    if "error" in answer:
        return answer
    meta = dict(crawler.ours(answer))
    for name in ("snapshotAt", "estimatedTokens", "budgetUsed", "budgetRemaining"):
        meta.pop(name, None)
    if "detailsAvailable" in meta:
        meta["detailsAvailable"] = same_hint(meta["detailsAvailable"])
    rest = {**crawler.own(answer), "meta": meta}
    if "items" in rest:
        rest["items"] = [
            {**row, "detailsAvailable": same_hint(row["detailsAvailable"])} if "detailsAvailable" in row else row
            for row in rest["items"]
        ]
    if "nextCursor" in answer:
        rest["nextCursor"] = "…"
    return rest


def same_hint(hint: dict[str, Any]) -> dict[str, Any]:
    each = {"each": same_hint(hint["each"])} if "each" in hint else {}
    operation, arguments = crawler.details(hint)
    where = arguments.get("where")
    if isinstance(where, str):  # as a query has it
        arguments["where"] = json.loads(where)
    texts = {name: str(arguments.get(name)) for name in ("id", "startLine", "endLine")}  # as an address has them
    return {"operation": operation, "arguments": {**arguments, **texts}, **each} | {"sections": hint.get("sections")}
