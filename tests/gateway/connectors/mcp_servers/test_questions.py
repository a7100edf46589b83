"""What a server asks while it runs a tool arrives at the client of the call, and the answer at the server."""

import asyncio
import contextvars
import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import anyio
import mcp.types as types
import pytest
from asgiref.sync import async_to_sync
from mcp import Client

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.connectors.mcp_servers.questions import RunningCalls, asker_of_the_call
from gateway.dispatch.asker import Asker
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.threads.bridge import run_sync
from tests.doors import Doors
from tests.gateway.connectors.mcp_servers.conftest import CHILD, Configure
from tests.simulators import mcp_server as simulator

pytestmark = pytest.mark.django_db
SERVERS = ["sim", "aged", "new", "old"]
ERAS = ["legacy", "2026-07-28"]
ANSWERS = {
    "ask_name": {"action": "accept", "content": {"name": "Ada"}},
    "ask_model": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hello."}},
    "ask_roots": {"roots": [{"uri": "file:///srv"}]},
}


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    assert params.message == "Your name?"
    return types.ElicitResult.model_validate(ANSWERS["ask_name"])


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    return types.CreateMessageResult.model_validate(ANSWERS["ask_model"])


async def list_roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate(ANSWERS["ask_roots"])


CALLBACKS: dict[str, Any] = {
    "elicitation_callback": elicit,
    "sampling_callback": sample,
    "list_roots_callback": list_roots,
}


def call(doors: Doors, tool: str, mode: str, **callbacks: Any) -> types.CallToolResult:
    """By the SDK's own client, which answers what it is asked."""

    async def called() -> types.CallToolResult:
        caller = await run_sync(caller_of_key, doors.key)
        async with Client(build_server(Peer(caller, "stdio")), mode=mode, **callbacks) as client:
            return await client.call_tool(tool, {})

    return async_to_sync(called)()


@pytest.fixture(scope="module")
def addresses() -> Iterator[dict[str, dict[str, Any]]]:
    with simulator.mcp_server() as new, simulator.mcp_server(era="2025") as old:
        yield {"new": {"url": new}, "old": {"url": old}}


@pytest.fixture
def servers(addresses: dict[str, dict[str, Any]], configure: Configure) -> None:
    """Both eras, as a child and at an address."""
    configure(sim=CHILD, aged={**CHILD, "env": {"ERA": "2025"}}, **addresses)


@pytest.mark.parametrize("mode", ERAS)
def test_a_question_is_answered_by_the_client(servers: None, doors: Doors, mode: str):
    for server, (tool, expected) in product(SERVERS, ANSWERS.items()):
        result = call(doors, f"{server}_{tool}", mode, **CALLBACKS)
        assert not result.is_error
        answer = json.loads(result.content[0].text)
        assert {name: answer[name] for name in expected} == expected


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_that_cannot_be_asked_hears_which_capability_it_lacks(servers: None, doors: Doors, mode: str):
    lacking = {"ask_name": "elicitation", "ask_model": "sampling", "ask_roots": "roots"}
    for server, (tool, capability) in product(SERVERS, lacking.items()):
        error = json.loads(call(doors, f"{server}_{tool}", mode).content[0].text)["error"]
        assert (error["code"], error["reason"]) == (-32004, "client_capability_missing")
        assert f"asks for {capability}" in error["message"]


def test_rest_cannot_be_asked_and_the_tool_is_listed(servers: None, doors: Doors):
    error = doors.post("aged_ask_name", {})["error"]
    assert (error["code"], error["reason"]) == (-32004, "client_capability_missing")


@pytest.mark.parametrize("mode", ERAS)
def test_a_client_may_decline(servers: None, doors: Doors, mode: str):
    async def decline(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="decline")

    result = call(doors, "aged_ask_name", mode, elicitation_callback=decline)
    assert json.loads(result.content[0].text)["action"] == "decline"


@pytest.mark.parametrize("mode", ERAS)
def test_time_to_think_does_not_count(servers: None, doors: Doors, mode: str):
    TokenBudget.objects.create(operation="aged_ask_name", timeout_seconds=1)
    revisions.bump()

    async def think(context: Any, params: Any) -> types.ElicitResult:
        await anyio.sleep(1.2)
        return await elicit(context, params)

    result = call(doors, "aged_ask_name", mode, elicitation_callback=think)
    assert not result.is_error


def test_a_question_is_answered_once(servers: None, doors: Doors):
    """By hand, as a client that keeps requestState could."""

    async def twice() -> list[Any]:
        caller = await run_sync(caller_of_key, doors.key)
        async with Client(build_server(Peer(caller, "stdio")), mode="2026-07-28", **CALLBACKS) as client:
            asked = await client.session.call_tool("aged_ask_name", {}, allow_input_required=True)
            answer = {"question": types.ElicitResult.model_validate(ANSWERS["ask_name"])}
            more = {"input_responses": answer, "request_state": asked.request_state, "allow_input_required": True}
            return [await client.session.call_tool("aged_ask_name", {}, **more) for _ in range(2)]

    first, second = async_to_sync(twice)()
    assert json.loads(first.content[0].text)["content"] == {"name": "Ada"}
    assert json.loads(second.content[0].text)["error"]["reason"] == "question_closed"


def test_a_refusal_of_the_client_reaches_the_tool(servers: None, doors: Doors):
    async def refuse(context: Any, params: Any) -> types.ErrorData:
        return types.ErrorData(code=-1, message="User rejected sampling request")

    result = call(doors, "aged_ask_model", "legacy", sampling_callback=refuse)
    assert result.is_error
    assert result.content[0].text == "not answered: User rejected sampling request"


class Somebody:
    """A client of a connection of its own."""

    def __init__(self) -> None:
        self.session = object()

    def lacks(self, method: str, params: Any) -> bool:
        return False

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        return ANSWERS["ask_roots"]


async def test_what_could_belong_to_two_clients_is_asked_of_neither():
    calls, loop = RunningCalls(), asyncio.get_running_loop()
    first, second = Asker(Somebody(), loop), Asker(Somebody(), loop)
    question = simulator.QUESTIONS["ask_roots"]
    with calls.running(first):
        on_a_pipe = contextvars.copy_context()  # a pipe's reader was started with the connection, before any call
        on_a_pipe.run(asker_of_the_call.set, None)
        with calls.running(second):
            assert isinstance(await asked_in(on_a_pipe, calls, question), types.ErrorData)
            assert first.unclear
            assert second.unclear
        assert isinstance(await asked_in(on_a_pipe, calls, question), types.ListRootsResult)


def asked_in(context: contextvars.Context, calls: RunningCalls, question: Any) -> "asyncio.Task[Any]":
    return asyncio.get_running_loop().create_task(calls.answer(question), context=context)


def test_a_question_while_no_call_runs_is_refused_with_that_reason():
    """Some servers ask for roots as they start."""
    answer = async_to_sync(RunningCalls().answer)(types.ListRootsRequest())
    assert isinstance(answer, types.ErrorData)
    assert answer.message == "No call is running, so no client can be asked."
