"""The tool list over MCP: all tools while they fit, else three that find and call them; and calls through call_tool."""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import mcp.types as types
import pytest
from asgiref.sync import async_to_sync
from mcp import Client, MCPError

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from context_protection.core.policy import DEFAULTS, Kind
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.access.programs import Program
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.mcp import tools
from gateway.mcp.clients import loads_lazily
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.threads.bridge import run_sync
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors

pytestmark = pytest.mark.django_db

FINDERS = ["search_tools", "describe_tool", "call_tool"]
ACTING = [*FINDERS, "call_action"]
ERAS = ["legacy", "2026-07-28"]


def talk(doors: Doors, what: Callable[[Client], Awaitable[Any]], mode: str = "2026-07-28") -> Any:
    """What comes of talking to the server as the key's client."""

    async def talking() -> Any:
        caller = await run_sync(caller_of_key, doors.key)
        async with Client(build_server(Peer(caller, "stdio")), mode=mode) as client:
            return await what(client)

    return async_to_sync(talking)()


def published(doors: Doors, mode: str = "2026-07-28") -> list[types.Tool]:
    async def walk(client: Client) -> list[types.Tool]:
        found, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            found += page.tools
            if (cursor := page.next_cursor) is None:
                return found

    found: list[types.Tool] = talk(doors, walk, mode)
    return found


def names(doors: Doors, mode: str = "2026-07-28") -> list[str]:
    return [tool.name for tool in published(doors, mode)]


def every_listed() -> list[str]:
    return [operation.name for operation in catalogue if operation.listed]


# -- Which list -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ERAS)
class TestWhichList:
    def test_a_small_catalogue_is_listed_whole(self, doors: Doors, mode: str):
        assert names(doors, mode) == every_listed()
        assert not set(FINDERS) & set(names(doors, mode))

    def test_a_large_one_is_searched(self, doors: Doors, large_api: list[str], mode: str):
        assert names(doors, mode) == ACTING

    def test_what_acts_can_be_called_only_where_something_acts(self, doors: Doors, large_api: list[str], mode: str):
        acting = [each.name for each in catalogue if each.kind is Kind.ACTION]
        doors.choose(tool_listing="search", hidden_tools=acting)
        assert names(doors, mode) == FINDERS

    def test_the_budget_decides(self, doors: Doors, mode: str, settings: Any):
        settings.TOOL_LIST_BUDGET = 1000
        revisions.bump()
        assert names(doors, mode) == FINDERS

    def test_a_key_can_have_either(self, doors: Doors, large_api: list[str], mode: str):
        doors.choose(tool_listing="all")
        assert names(doors, mode) == every_listed()
        doors.choose(tool_listing="search", hidden_tools=large_api)
        assert names(doors, mode) == FINDERS

    def test_what_is_hidden_does_not_count(self, doors: Doors, large_api: list[str], mode: str):
        doors.choose(hidden_tools=large_api)
        assert names(doors, mode) == [name for name in every_listed() if name not in large_api]

    def test_pinned_tools_follow_in_the_catalogues_order(self, doors: Doors, large_api: list[str], mode: str):
        doors.choose(pinned_tools=["list_invoices", "get_booking", "gone"], hidden_tools=["get_listing"])
        assert names(doors, mode) == [*ACTING, "get_booking", "list_invoices"]
        doors.choose(pinned_tools=["get_listing", "list_bookings"], hidden_tools=["get_listing"])
        assert names(doors, mode) == [*ACTING, "list_bookings"]

    def test_a_tool_that_is_not_listed_can_be_called_by_its_name(self, doors: Doors, large_api: list[str], mode: str):
        async def call(client: Client) -> types.CallToolResult:
            return await client.call_tool("get_booking", {"id": 43000003})

        assert not talk(doors, call, mode).is_error


def test_so_many_pinned_tools_still_come_in_pages_under_the_cap(doors: Doors, large_api: list[str]):
    doors.choose(tool_listing="search", pinned_tools=large_api)

    async def sizes(client: Client) -> list[int]:
        found, cursor = [], None
        while True:
            page = await client.list_tools(cursor=cursor)
            found.append(tokens.claude.count(page.model_dump_json(by_alias=True, exclude_none=True)))
            if (cursor := page.next_cursor) is None:
                return found

    pages = talk(doors, sizes)
    assert len(pages) > 3
    assert max(pages) <= DEFAULTS.hard_cap
    assert names(doors) == [*ACTING, *large_api]


def test_the_four_take_few_tokens_and_say_whether_they_only_read(doors: Doors, large_api: list[str]):
    found = published(doors)
    documents = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found]
    assert tokens.claude.count(json.dumps({"tools": documents}, separators=(",", ":"))) <= 800
    assert [tool.annotations and tool.annotations.read_only_hint for tool in found] == [True, True, True, None]
    for tool in found:
        schema = tool.input_schema
        assert any("examples" in each for each in schema["properties"].values())
        assert len(tool.description or "") < 2048


def told(doors: Doors, mode: str, client: str = "mcp") -> str:
    """The server's instructions."""

    async def asking() -> str:
        caller = await run_sync(caller_of_key, doors.key)
        info = types.Implementation(name=client, version="1")
        async with Client(build_server(Peer(caller, "stdio")), mode=mode, client_info=info) as connected:
            return connected.instructions or ""

    return async_to_sync(asking)()


NAMED = re.compile(r"\b(?:result_\w+|\w+_tools?|call_\w+)\b")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
class TestInstructions:
    def test_they_name_tools_of_the_list(self, doors: Doors, mode: str):
        text = told(doors, mode)
        assert set(NAMED.findall(text)) == {"result_query", "result_search", "result_get"}
        assert len(text.encode()) < 2048

    def test_where_tools_are_searched_they_say_how_and_how_to_call_them(
        self, doors: Doors, large_api: list[str], mode: str
    ):
        text = told(doors, mode)
        assert {*ACTING, "result_query"} <= set(NAMED.findall(text))
        assert "call_tool calls them" in text
        assert len(text.encode()) < 2048

    def test_they_do_not_tell_of_what_is_hidden_or_of_acting_where_nothing_acts(self, doors: Doors, mode: str):
        doors.choose(tool_listing="search", hidden_tools=["result_query"])
        assert "call_action" not in told(doors, mode)
        assert "result_query" not in told(doors, mode)


# -- Clients that load definitions when they need them ----------------------------------------------


def names_for(doors: Doors, client: str, mode: str) -> list[str]:
    async def listing() -> list[str]:
        caller = await run_sync(caller_of_key, doors.key)
        info = types.Implementation(name=client, version="1")
        async with Client(build_server(Peer(caller, "stdio")), mode=mode, client_info=info) as connected:
            return [tool.name for tool in (await connected.list_tools()).tools]

    return async_to_sync(listing)()


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_loads_lazily_gets_all_tools(doors: Doors, large_api: list[str], mode: str, settings: Any):
    settings.LAZY_CLIENTS = ["Lazy-Code"]
    assert names_for(doors, "eager", mode) == ACTING
    assert names_for(doors, "lazy-code", mode)[:3] == every_listed()[:3]
    assert "search_tools" not in told(doors, "auto", "lazy-code")
    doors.choose(tool_listing="search")
    assert names_for(doors, "lazy-code", mode) == ACTING, "the admin's choice for a key goes before"


def test_over_stateless_http_a_lazy_client_is_known_by_its_user_agent(
    doors: Doors, large_api: list[str], settings: Any
):
    settings.LAZY_CLIENTS = ["lazy-code"]
    peer = Peer(caller_of_key(doors.key), "http", program=Program("lazy-code"))

    class Session:
        client_params = None

    class Context:
        session = Session()
        protocol_version = "2025-11-25"

    assert loads_lazily(Context(), peer)  # type: ignore[arg-type]


def test_a_change_of_what_a_lazy_client_sees_is_told(doors: Doors, large_api: list[str], settings: Any):
    settings.LAZY_CLIENTS = ["lazy-code"]
    before = tools.fingerprint(caller(doors))
    catalogue.offer([replace(catalogue.get("list_invoices"), name="list_yachts")])
    try:
        assert tools.fingerprint(caller(doors)) != before
    finally:
        catalogue.withdraw("list_yachts")


# -- What is kept -----------------------------------------------------------------------------------


def caller(doors: Doors) -> Caller:
    return caller_of_key(doors.key)


def same_twice(one: Callable[[], Any], other: Callable[[], Any]) -> bool:
    """Whether both give the very same thing. Tests beside this one may move the revision in between, but not always."""
    return any(one() is other() for _ in range(20))


def test_definitions_are_counted_once_for_a_configuration_and_a_choice(doors: Doors, large_api: list[str]):
    _, other = ApiKey.objects.issue("other")
    revisions.bump()
    mine, others = caller(doors), caller_of_key(other)
    assert same_twice(lambda: tools.tool_list_of(mine), lambda: tools.tool_list_of(mine))
    assert same_twice(lambda: tools.tool_list_of(mine), lambda: tools.tool_list_of(others)), "they have chosen alike"
    before = tools.tool_list_of(mine)
    revisions.bump()
    assert tools.tool_list_of(mine) is not before


def test_the_fingerprint_changes_with_the_list_and_with_nothing_else(doors: Doors, large_api: list[str]):
    searched = tools.fingerprint(caller(doors))
    revisions.bump()
    assert tools.fingerprint(caller(doors)) == searched
    catalogue.offer([replace(catalogue.get("list_invoices"), name="list_yachts")])
    try:
        assert tools.fingerprint(caller(doors)) == searched, "one more to be found is not one more in the list"
        doors.choose(tool_listing="all")
        whole = tools.fingerprint(caller(doors))
        assert whole != searched
    finally:
        catalogue.withdraw("list_yachts")
    assert tools.fingerprint(caller(doors)) != whole
    doors.choose(tool_listing="search", pinned_tools=["list_bookings"])
    pinned = tools.fingerprint(caller(doors))
    assert pinned not in {searched, whole}
    TokenBudget.objects.create(operation="list_bookings", max_page_size=60)
    revisions.bump()
    assert tools.fingerprint(caller(doors)) != pinned, "the range of limit is published"


def test_a_key_that_was_revoked_has_no_fingerprint_and_no_list(doors: Doors):
    before = caller(doors)
    assert tools.fingerprint(before)

    async def revoked(client: Client) -> str:
        def revoke() -> None:
            ApiKey.objects.get().revoke()
            revisions.bump()

        await run_sync(revoke)
        with pytest.raises(MCPError) as error_response:
            await client.list_tools()
        return error_response.value.error.message

    assert talk(doors, revoked) == "The API key was revoked."
    assert tools.fingerprint(before) == ""


# -- call_tool --------------------------------------------------------------------------------------


def through(doors: Doors, name: str, arguments: Any) -> dict[str, Any]:
    return doors.mcp("call_tool", {"name": name, "arguments": arguments})


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_documents", {}),
        ("get_booking", {"id": 43000003}),
        ("get_booking", {"id": "x"}),
        ("get_booking", {"idd": 1}),
        ("get_booking", {"id": 43000003, "fields": "\0"}),
        ("list_bookings", {"where": {"status": "confirmed"}, "limit": 2}),
        ("read_document", {"id": "house-manual.md"}),
        ("nothing_like_it", {}),
        ("search_tools", {"query": "reservations"}),
        ("describe_tool", {"name": "get_booking"}),
    ],
)
@pytest.mark.parametrize("listing", ["all", "search"])
def test_a_tool_answers_alike_called_directly_and_through_call_tool(
    doors: Doors, listing: str, name: str, arguments: dict[str, Any]
):
    doors.choose(tool_listing=listing)
    assert through(doors, name, arguments) == doors.mcp(name, arguments)


def test_a_call_through_call_tool_is_recorded_as_the_tools_own(doors: Doors):
    through(doors, "get_booking", {"id": 43000003})
    through(doors, "get_booking", {"id": "x"})
    doors.mcp("call_tool", {"arguments": {}})
    recorder.flush()
    records = TelemetryRecord.objects.order_by("pk").values_list(
        "operation", "kind", "outcome", "error_reason", "transport"
    )
    assert list(records) == [
        ("get_booking", "record", "summarized", "", "stdio"),
        ("get_booking", "record", "error", "invalid_id", "stdio"),
        ("(unknown)", "", "error", "missing_argument", "stdio"),
    ]


@pytest.mark.parametrize("arguments", ['{"id":43000003}', None, ""])
def test_arguments_may_be_left_out_or_be_a_text_of_json(doors: Doors, arguments: Any):
    answer = through(doors, "get_booking", arguments)
    if arguments:
        assert answer["summary"]["id"] == 43000003
    else:
        assert answer["error"]["data"]["parameter"] in {"id", "arguments"}


@pytest.mark.parametrize(
    ("given", "parameter", "words"),
    [
        ({}, "name", "search_tools"),
        ({"name": None}, "name", "search_tools"),
        ({"name": 7}, "name", "search_tools"),
        ({"name": "get_booking", "id": 43000003}, "id", "itself into arguments"),
        ({"name": "get_booking", "arguments": [1]}, "arguments", "describe_tool"),
        ({"name": "get_booking", "arguments": "id=7"}, "arguments", "describe_tool"),
        ({"name": "get_booking", "arguments": {"id": "x"}}, "id", "Find the id with list_bookings"),
        ({"name": "get_booking", "arguments": {}}, "id", "Find the id with list_bookings"),
        ({"name": "call_tool", "arguments": {"name": "get_booking"}}, "name", ""),
    ],
)
def test_what_is_wrong_is_named_by_the_parameter_that_it_is_in(
    doors: Doors, given: dict[str, Any], parameter: str, words: str
):
    error = doors.mcp("call_tool", given)["error"]
    assert error["data"]["parameter"] == parameter
    assert words in error["data"]["suggestion"]


def test_an_action_is_called_through_call_action_alone(doors: Doors, large_api: list[str]):
    asked = {"name": "cancel_booking", "arguments": {"id": 7}}
    error = doors.mcp("call_tool", asked)["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("tool_acts", "name")
    assert error["data"]["suggestion"] == "Call call_action with the same name and arguments."
    assert doors.mcp("call_action", asked)["id"] == 7
    assert doors.mcp("call_action", {"name": "get_booking", "arguments": {"id": 43000003}})["summary"]["id"] == 43000003


def test_call_tool_does_not_tell_of_an_action_that_is_hidden(doors: Doors, large_api: list[str]):
    doors.choose(tool_listing="search", hidden_tools=["cancel_booking"])
    assert through(doors, "cancel_booking", {"id": 7})["error"]["reason"] == "unknown_operation"


def test_a_found_tool_that_acts_says_what_calls_it(doors: Doors, large_api: list[str]):
    found = [doors.mcp("search_tools", {"query": wish})["items"] for wish in ("cancel a booking", "list bookings")]
    rows = {row["name"]: row for items in found for row in items}
    assert rows["cancel_booking"]["acts"] is True
    assert "acts" not in rows["list_bookings"]


# -- Hints ------------------------------------------------------------------------------------------


def test_hints_name_tools_of_the_callers_list(doors: Doors):
    def hints() -> tuple[dict[str, Any], dict[str, Any]]:
        details = doors.mcp("list_bookings", {})["meta"]["detailsAvailable"]
        return details.pop("each"), details

    direct = {"tool": "get_booking", "arguments": {"id": "{id}", "fields": "all"}}
    assert hints() == (direct, {"tool": "list_bookings", "arguments": {"fields": "all"}})
    doors.choose(tool_listing="search", pinned_tools=["list_bookings"])
    each, details = hints()
    assert each == {
        "tool": "call_tool",
        "arguments": {"name": "get_booking", "arguments": {"id": "{id}", "fields": "all"}},
    }
    assert details == {"tool": "list_bookings", "arguments": {"fields": "all"}}
    assert doors.rest("list_bookings", {})["meta"]["detailsAvailable"]["endpoint"] == "/api/v1/bookings"


# -- Sizes ------------------------------------------------------------------------------------------


def test_only_a_tool_whose_answers_may_be_longer_than_clients_take_says_so(doors: Doors):
    assert not any(tool.meta for tool in published(doors))
    TokenBudget.objects.create(
        operation="read_document", hard_cap=25_000, chunk_tokens=20_000, token_budget_threshold=20_000
    )
    revisions.bump()
    declared = {tool.name: tool.meta for tool in published(doors) if tool.meta}
    assert declared == {"read_document": {"anthropic/maxResultSizeChars": 101_000}}


def test_answers_are_as_long_as_their_tool_declares_and_no_longer(doors: Doors):
    """Of a text with few tokens for its characters."""
    from gateway.connectors.hostaway import store

    store.save_document("wide.txt", "Wide", "text/plain", "word " * 40_000)
    default = doors.mcp("read_document", {"id": "wide.txt"})
    TokenBudget.objects.create(
        operation="read_document", hard_cap=25_000, chunk_tokens=20_000, token_budget_threshold=20_000
    )
    revisions.bump()
    raised = doors.mcp("read_document", {"id": "wide.txt"})
    assert len(json.dumps(default)) < 50_000 < len(json.dumps(raised)) <= 101_000
