"""Another MCP server behind Sluice, while a call runs: its progress arrives, and cancelling reaches it."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import mcp.types as types
import pytest
from mcp import Client

from tests.e2e.serving import Serving, serving
from tests.e2e.test_clients import TRANSPORTS
from tests.gateway.connectors.mcp_servers.conftest import CHILD
from tests.patience import PATIENCE
from tests.simulators.mcp_server import mcp_server

ALL = {"allow": ["*"]}


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """With the same server twice, as a child and at an address."""
    directory = tmp_path_factory.mktemp("sluice")
    with mcp_server() as url:
        file = directory / "servers.json"
        file.write_text(json.dumps({"mcpServers": {"child": {**CHILD, **ALL}, "web": {"url": url, **ALL}}}))
        with serving(directory, MCP_SERVERS_FILE=str(file)) as running:
            yield running


async def said(client: Client, tool: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((await client.call_tool(tool, {})).content[0].text)
    return document


async def until_offered(client: Client, tool: str) -> None:
    """Sluice asks the servers for their tools once it runs."""
    with anyio.fail_after(PATIENCE):
        while "unknown_operation" in (await client.call_tool(tool, {})).content[0].text:
            pass


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("transport", ["websocket", "http"])
@pytest.mark.parametrize("server", ["child", "web"])
def test_who_asked_hears_how_far_another_server_is(sluice: Serving, server: str, transport: str, era: str):
    heard: list[Any] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def talk() -> tuple[Any, Any]:
        async with Client(TRANSPORTS[transport](sluice), mode=era) as client:
            await until_offered(client, f"{server}_steps")
            asked = await client.call_tool(f"{server}_steps", {}, progress_callback=hear)
            return json.loads(asked.content[0].text), await said(client, f"{server}_steps")

    asked, silent = anyio.run(talk)
    assert heard == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
    assert (asked["asked"], silent["asked"]) == (True, False)


@pytest.mark.parametrize(
    ("transport", "era", "is_answered"),
    [("websocket", "legacy", True), ("http", "legacy", False), ("http", "2026-07-28", True)],
)
def test_a_question_of_another_server_is_answered_where_there_is_a_way_back(
    sluice: Serving, transport: str, era: str, is_answered: bool
):
    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def talk() -> Any:
        async with Client(TRANSPORTS[transport](sluice), mode=era, elicitation_callback=elicit) as client:
            await until_offered(client, "child_pid")
            return await said(client, "child_ask_name")

    answer = anyio.run(talk)
    if is_answered:
        assert answer["content"] == {"name": "Ada"}
    else:
        assert answer["error"]["reason"] == "client_capability_missing"


@pytest.mark.parametrize("transport", ["websocket", "http"])
@pytest.mark.parametrize("server", ["child", "web"])
def test_a_call_that_is_cancelled_is_cancelled_at_the_other_server(sluice: Serving, server: str, transport: str):
    async def talk() -> int:
        async with Client(TRANSPORTS[transport](sluice)) as client:
            await until_offered(client, f"{server}_stopped")
            before = (await said(client, f"{server}_stopped"))["stopped"]
            with anyio.fail_after(PATIENCE):
                async with anyio.create_task_group() as tasks:

                    async def hear(progress: float, total: float | None, message: str | None) -> None:
                        tasks.cancel_scope.cancel()

                    tasks.start_soon(lambda: client.call_tool(f"{server}_slow", {}, progress_callback=hear))
                stopped = before
                while stopped == before:
                    stopped = (await said(client, f"{server}_stopped"))["stopped"]
            return int(stopped - before)

    assert anyio.run(talk) == 1
