"""What the admin hides from a key does not exist for it: at any door, in any words, from the very next call on."""

import json
from typing import Any

import mcp.types as types
import pytest
from asgiref.sync import async_to_sync
from mcp import Client, MCPError

from context_protection.configuration.revisions import revisions
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.access.promises import broken_by_hiding
from gateway.catalog.caller import ToolChoice
from gateway.catalog.catalog import catalogue
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.threads.bridge import run_sync
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db


@pytest.fixture
def hiding(doors: Doors) -> Doors:
    doors.choose(hidden_tools=["get_booking", "gone_long_ago"], pinned_tools=["list_documents"])
    return doors


def as_if_unknown(answer: dict[str, Any], name: str) -> bool:
    """Whether the answer is that for a name which nothing has."""
    assert answer["error"]["reason"] == "unknown_operation"
    assert answer["error"]["data"]["value"] == name
    assert answer["error"]["message"] == f"There is no operation {name!r}."
    return name not in json.dumps(answer).replace(repr(name), "").replace(f'"value": "{name}"', "")


def test_a_key_carries_its_choice(doors: Doors):
    assert caller_of_key(doors.key).tools == ToolChoice()
    doors.choose(tool_listing="search", pinned_tools=["a", "b"], hidden_tools=["c"])
    assert caller_of_key(doors.key).tools == ToolChoice("search", frozenset("ab"), frozenset("c"))


def test_a_hidden_tool_is_unknown_at_every_door(hiding: Doors):
    arguments = {"id": 43000003}
    answers = [
        hiding.rest("get_booking", arguments),
        hiding.get("/api/reservations/43000003"),
        hiding.get("/api/v1/tools/get_booking", arguments),
        hiding.post("get_booking", arguments),
        hiding.post("get_booking", {"nonsense": 1}),
        hiding.mcp("get_booking", arguments),
        hiding.mcp("call_tool", {"name": "get_booking", "arguments": arguments}),
        hiding.mcp("describe_tool", {"name": "get_booking"}),
        hiding.rest("describe_tool", {"name": "get_booking"}),
    ]
    assert all(as_if_unknown(answer, "get_booking") for answer in answers)
    assert hiding.response("/api/v1/bookings/43000003").status_code == 404


def test_a_hidden_action_does_not_betray_itself_by_its_method(doors: Doors, large_api: list[str]):
    doors.choose(hidden_tools=["cancel_booking"])
    hidden, unknown = (doors.get(f"/api/v1/tools/{name}") for name in ("cancel_booking", "cancel_nothing"))
    assert hidden["error"]["reason"] == unknown["error"]["reason"] == "unknown_operation"


def test_no_error_suggests_a_hidden_tool(hiding: Doors):
    for ask in (hiding.post, hiding.mcp):
        error = ask("get_bookin", {})["error"]
        assert "get_booking" not in json.dumps(error["data"]).replace('"get_bookin"', "")
        assert "list_bookings" in error["data"]["expected"]


def test_it_is_neither_listed_nor_found(hiding: Doors):
    assert "get_booking" not in async_to_sync(listed)(hiding)
    assert "list_bookings" in async_to_sync(listed)(hiding)
    for arguments in ({"limit": 100}, {"query": "get_booking", "limit": 100}, {"query": "one reservation"}):
        found = [row["name"] for row in hiding.mcp("search_tools", arguments)["items"]]
        assert "get_booking" not in found
        assert "list_bookings" in found
    assert "get_booking" not in json.dumps(hiding.mcp("search_tools", {"query": "xyzzy get_bookingg"}))


async def listed(doors: Doors) -> list[str]:
    caller = await run_sync(caller_of_key, doors.key)
    async with Client(build_server(Peer(caller, "stdio"))) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


def test_an_open_connection_obeys_the_very_next_call(doors: Doors):
    async def talk() -> tuple[bool | None, bool | None, list[str]]:
        caller = await run_sync(caller_of_key, doors.key)
        async with Client(build_server(Peer(caller, "stdio"))) as client:
            before = await client.call_tool("get_booking", {"id": 43000003})
            await run_sync(lambda: doors.choose(hidden_tools=["get_booking"]))
            after = await client.call_tool("get_booking", {"id": 43000003})
            tools = await client.list_tools()
            return before.is_error, after.is_error, [tool.name for tool in tools.tools]

    before, after, tools = async_to_sync(talk)()
    assert (bool(before), bool(after)) == (False, True)
    assert "get_booking" not in tools


def test_an_open_connection_reads_what_its_key_is_shown_now(doors: Doors):
    """Hidden while it was open: as if it had never been there. Shown again: there."""

    async def talk() -> list[tuple[int, int]]:
        caller = await run_sync(caller_of_key, doors.key)
        seen = []
        async with Client(build_server(Peer(caller, "stdio"))) as client:
            uri = (await client.list_resources()).resources[0].uri
            for hidden in (["read_document"], []):
                await run_sync(lambda hidden=hidden: doors.choose(hidden_tools=hidden))
                listed = len((await client.list_resources(cache_mode="refresh")).resources)
                try:
                    seen.append((listed, len((await client.read_resource(uri)).contents)))
                except MCPError as error:
                    seen.append((listed, error.error.code))
        return seen

    hidden, shown = async_to_sync(talk)()
    assert hidden in {(0, types.INVALID_PARAMS), (0, -32002)}
    assert shown[0] > 0
    assert shown[1] == 1


def test_an_open_connection_knows_what_was_hidden_when_it_began(doors: Doors):
    doors.choose(hidden_tools=["read_document"])

    async def talk() -> int:
        caller = await run_sync(caller_of_key, doors.key)
        async with Client(build_server(Peer(caller, "stdio"))) as client:
            await run_sync(lambda: doors.choose(hidden_tools=[]))
            return len((await client.list_resources()).resources)

    assert async_to_sync(talk)() > 0


def test_a_handle_from_before_opens_no_more(doors: Doors):
    handle = doors.mcp("list_bookings", {})["meta"]["resultHandle"]
    assert "items" in doors.mcp("result_query", {"handle": handle, "sql": "SELECT id FROM rows LIMIT 1"})
    doors.choose(hidden_tools=["list_bookings"])
    for name, more in (("result_get", {}), ("result_search", {"text": "a"}), ("result_query", {"sql": "SELECT 1"})):
        error = doors.mcp(name, {"handle": handle, **more})["error"]
        assert error["reason"] == "handle_invalid"
        assert "list_bookings" not in json.dumps(error)


def test_answers_promise_nothing_that_is_hidden(hiding: Doors):
    meta = hiding.mcp("list_bookings", {})["meta"]
    assert "each" not in meta["detailsAvailable"]
    assert "each" in hiding.mcp("list_listings", {})["meta"]["detailsAvailable"]
    hiding.choose(hidden_tools=["result_get"])
    assert "resultHandle" not in hiding.mcp("list_bookings", {})["meta"]
    assert "resultHandle" not in crawler.ours(hiding.mcp("get_booking", {"id": 43000003}))


def test_prompts_name_nothing_that_is_hidden_and_complete_nothing_of_it(hiding: Doors):
    """A completion would tell what is in the account."""
    listed = [prompt.name for prompt in hiding.ask(lambda client: client.list_prompts()).prompts]
    assert "arrivals" in listed
    assert "audit_booking" not in listed
    ref = types.PromptReference(type="ref/prompt", name="audit_booking")
    for ask in (
        lambda client: client.get_prompt("audit_booking", {"booking": "43000003"}),
        lambda client: client.complete(ref, {"name": "booking", "value": "4300"}),
    ):
        with pytest.raises(MCPError) as refused:
            hiding.ask(ask)
        assert refused.value.error.data["value"] == "audit_booking"
        assert "audit_booking" not in refused.value.error.data["expected"]


def test_it_is_recorded_as_a_call_that_was_refused(hiding: Doors):
    hiding.mcp("get_booking", {"id": 43000003})
    recorder.flush()
    record = TelemetryRecord.objects.get()
    assert (record.outcome, record.error_reason) == ("error", "unknown_operation")


def test_one_keys_choice_is_no_others(hiding: Doors):
    _, other = ApiKey.objects.issue("other")
    revisions.bump()
    assert "error" not in Doors(other).mcp("get_booking", {"id": 43000003})


# -- What hiding breaks -----------------------------------------------------------------------------


def test_hiding_what_opens_the_rows_of_a_visible_list_breaks_a_promise():
    (sentence,) = broken_by_hiding(["get_booking"])
    assert "get_booking" in sentence
    assert "list_bookings" in sentence


@pytest.mark.parametrize("hidden", [[], ["list_bookings"], ["list_bookings", "get_booking"], ["gone_long_ago"]])
def test_hiding_a_list_or_both_breaks_none(hidden: list[str]):
    assert broken_by_hiding(hidden) == []


def test_hiding_what_opens_stored_results_breaks_a_promise_while_anything_is_visible():
    (sentence,) = broken_by_hiding(["result_get"])
    assert "result_get" in sentence
    assert broken_by_hiding([operation.name for operation in catalogue]) == []
