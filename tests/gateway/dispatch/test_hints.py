"""How a door says "call this to get more" (law 4, FR-011)."""

import json
import re
from typing import Any

import orjson
import pytest
from asgiref.sync import async_to_sync
from django.test import Client as HttpClient
from mcp import Client
from mcp.types import TextContent

from gateway.access.callers import caller_of_key
from gateway.catalog.catalog import catalogue
from gateway.dispatch import hints
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.threads.bridge import run_sync
from tests import crawler
from tests.doors import Doors


def test_rest_names_an_address_and_its_parameters():
    assert hints.rest(catalogue.get("get_booking"), {"id": 7, "fields": "all"}) == {
        "endpoint": "/api/v1/bookings/7",
        "parameters": {"fields": "all"},
    }


def test_mcp_names_a_tool_and_its_arguments():
    assert hints.mcp(catalogue.get("get_booking"), {"id": 7, "fields": "all"}) == {
        "tool": "get_booking",
        "arguments": {"id": 7, "fields": "all"},
    }


def test_an_id_is_quoted_in_an_address_and_a_placeholder_stays():
    document = catalogue.get("read_document")
    assert hints.rest(document, {"id": "a b/c?.md"})["endpoint"] == "/api/v1/documents/a%20b%2Fc%3F.md"
    assert hints.rest(document, {"id": "{id}"})["endpoint"] == "/api/v1/documents/{id}"


def test_a_resource_is_a_uri_and_what_is_none_stays_a_tool():
    booking = catalogue.get("get_booking")
    assert hints.resource(booking, {"id": 7, "fields": "all"}) == {"resource": "sluice://bookings/7?fields=all"}
    assert hints.resource(booking, {"id": 7}) == {"resource": "sluice://bookings/7"}
    listing = catalogue.get("list_bookings")
    assert hints.resource(listing, {"fields": "all"}) == hints.mcp(listing, {"fields": "all"})


def test_whatever_a_value_holds_its_uri_is_percent_encoded_and_a_placeholder_stays():
    document = catalogue.get("read_document")
    uri = hints.resource(document, {"id": "a b/ü?#{x}+.md", "startLine": 3})["resource"]
    assert uri == "sluice://documents/a%20b%2F%C3%BC%3F%23%7Bx%7D%2B.md?startLine=3"
    each = hints.resource(catalogue.get("get_booking"), {"id": "{id}", "fields": "id,a&b=c"})["resource"]
    assert each == "sluice://bookings/{id}?fields=id%2Ca%26b%3Dc"
    asked = hints.resource(document, {"id": "x", "where": {"a": [1, True, None]}})["resource"]
    assert asked == "sluice://documents/x?where=%7B%22a%22%3A%5B1%2Ctrue%2Cnull%5D%7D"


@pytest.mark.django_db
class TestAtTheirDoors:
    def test_each_door_speaks_its_own_language(self, doors: Doors):
        by_rest = doors.rest("get_booking", {"id": 43000003})["meta"]["detailsAvailable"]
        by_tool = doors.mcp("get_booking", {"id": 43000003})["meta"]["detailsAvailable"]
        assert by_rest["endpoint"] == "/api/v1/bookings/43000003"
        assert by_rest["parameters"] == {"fields": "all"}
        assert by_tool["tool"] == "get_booking"
        assert by_tool["arguments"] == {"id": 43000003, "fields": "all"}
        assert not {"tool", "arguments"} & set(by_rest)
        assert not {"endpoint", "parameters"} & set(by_tool)

    def test_a_hint_says_nothing_that_is_so_by_default_and_keeps_the_filters(self, doors: Doors):
        meta = doors.mcp("list_bookings", {"status": "confirmed", "order": "-insertedOn"})["meta"]
        assert meta["detailsAvailable"]["arguments"] == {"status": "confirmed", "fields": "all"}

    def test_the_hint_of_a_first_page_names_the_filters_and_stands_there_alone(self, doors: Doors):
        first = doors.mcp("list_bookings", {"status": "confirmed"})
        second = doors.mcp("list_bookings", {"cursor": first["nextCursor"]})
        assert first["meta"]["detailsAvailable"]["arguments"]["status"] == "confirmed"
        assert "detailsAvailable" not in second["meta"]

    @pytest.mark.parametrize("operation", ["list_bookings", "read_document", "nothing_like_it"])
    def test_an_answer_is_compact_json_at_every_door(self, doors: Doors, operation: str):
        """Written once, never indented again: that costs a third more tokens."""
        arguments = {"id": "house-manual.md"} if operation == "read_document" else {}
        posted = HttpClient().post(
            f"/api/v1/tools/{operation}",
            json.dumps(arguments),
            content_type="application/json",
            headers={"Authorization": f"Bearer {doors.key}"},
        )
        assert posted.headers["Content-Type"] == "application/json"
        for text in (posted.content.decode(), async_to_sync(spoken)(doors.key, operation, arguments)):
            assert compact(text)

    def test_a_record_is_compact_json_too(self, doors: Doors):
        content = doors.response("/api/v1/bookings/43000003").content.decode()
        assert compact(content)
        assert crawler.is_preview(orjson.loads(content))


def compact(text: str) -> bool:
    """But for the blank or two that make `estimatedTokens` true."""
    written = orjson.dumps(orjson.loads(text)).decode()
    return re.sub(r'("budgetRemaining":\d+) {0,3}}', r"\1}", text, count=1) == written


async def spoken(key: str, operation: str, arguments: dict[str, Any]) -> str:
    """The text of a tool's answer, as it came."""
    caller = await run_sync(caller_of_key, key)
    async with Client(build_server(Peer(caller, "stdio"))) as client:
        result = await client.call_tool(operation, arguments)
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text
