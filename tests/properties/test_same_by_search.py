"""Whoever has only search_tools, describe_tool and call_tool, and follows what answers say, has what others have."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_protection.configuration.revisions import revisions
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.mcp.tools import tool_list_of
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db

PINNED = "get_listing"


@pytest.fixture
def searching(db: None) -> Doors:
    _, key = ApiKey.objects.issue("searching", tool_listing="search", pinned_tools=[PINNED])
    revisions.bump()
    return Doors(key)


def by_its_list(doors: Doors) -> crawler.Call:
    """Calls tools of its list, and others by call_tool; whatever an answer says is to be called, is in the list."""
    listed = tool_list_of(caller_of_key(doors.key)).names

    def call(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        asked = {"name": operation, "arguments": dict(arguments)}
        answer = doors.mcp(operation, arguments) if operation in listed else doors.mcp("call_tool", asked)
        for hint in hints(answer):
            assert hint["tool"] in listed, hint
            assert hint["tool"] == "call_tool" or hint["tool"] == PINNED
        return answer

    return call


def hints(value: Any) -> list[dict[str, Any]]:
    """Every tool call that an answer spells out, wherever it stands."""
    if isinstance(value, list):
        return [hint for each in value for hint in hints(each)]
    if not isinstance(value, dict):
        return []
    here = [value] if set(value) >= {"tool", "arguments"} else []
    return here + [hint for each in value.values() for hint in hints(each)]


def test_every_tool_is_found_described_and_called(searching: Doors, doors: Doors):
    call = by_its_list(searching)
    found = [row["name"] for row in crawler.walk(call, "search_tools", {})]
    assert set(found) == tool_list_of(caller_of_key(doors.key)).names
    for name in found:
        described = call("describe_tool", {"name": name})
        answer = searching.mcp("call_tool", described["example"])
        # The ids and handles of examples are invented; result_search wants one of two arguments.
        assert answer.get("error", {}).get("reason", "") in {
            "",
            "not_found",
            "handle_invalid",
            "invalid_handles",
            "invalid_text",
            "invalid_search_string",
            "invalid_lpn_id",
        }


LISTS: list[tuple[str, dict[str, Any]]] = [
    ("list_listings", {"limit": 200, "fields": "id,name"}),
    ("list_bookings", {"status": "cancelled"}),
    ("list_transactions", {"where": {"amount": {"gte": 500}}}),
    ("list_documents", {}),
]


@pytest.mark.parametrize(("operation", "arguments"), LISTS)
def test_lists_are_walked_to_the_same_rows(searching: Doors, doors: Doors, operation: str, arguments: dict[str, Any]):
    rows = crawler.walk(by_its_list(searching), operation, arguments)
    assert rows == crawler.walk(doors.mcp, operation, arguments)


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(booking=st.integers(43000000, 43000059), listing=st.sampled_from(range(200100, 200600, 37)))
def test_records_are_put_together_to_the_same_whole(searching: Doors, doors: Doors, booking: int, listing: int):
    for operation, identifier in (("get_booking", booking), ("get_listing", listing)):
        arguments = {"id": identifier}
        direct = doors.mcp(operation, arguments)
        if "error" in direct:
            assert by_its_list(searching)(operation, arguments) == direct
            continue
        whole = crawler.record(doors.mcp, operation, arguments)
        assert crawler.record(by_its_list(searching), operation, arguments) == whole
        if crawler.is_preview(direct):
            assert crawler.by_sections(by_its_list(searching), operation, arguments) == whole


@pytest.mark.parametrize("document", ["sync-2026-11.log", "house-manual.md"])
def test_texts_are_read_to_the_same_end(searching: Doors, doors: Doors, document: str):
    arguments = {"id": document}
    text = crawler.text(by_its_list(searching), "read_document", arguments)
    assert text == crawler.text(doors.mcp, "read_document", arguments)


def test_the_rows_behind_a_handle_are_the_same(searching: Doors, doors: Doors):
    rows = []
    for call in (by_its_list(searching), doors.mcp):
        handle = call("list_bookings", {"status": "cancelled"})["meta"]["resultHandle"]
        rows.append(crawler.walk(call, "result_get", {"handle": handle}))
    assert rows[0] == rows[1]


def test_a_hint_is_called_just_as_it_stands(searching: Doors):
    details = searching.mcp("get_booking", {"id": 43000003})["meta"]["detailsAvailable"]
    assert details["tool"] == "call_tool"
    answer = searching.mcp(details["tool"], details["arguments"])
    assert crawler.own(answer)["id"] == 43000003
    each = searching.mcp("list_bookings", {})["meta"]["detailsAvailable"]["each"]
    inner = {**each["arguments"]["arguments"], "id": 43000003}
    assert searching.mcp(each["tool"], {**each["arguments"], "arguments": inner}) == answer
