"""A server that means harm costs itself: its lists, calls and floods end in designed errors, and others answer."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from mcp import MCPError

from context_protection.core.budget import dumps, length
from context_protection.core.payloads import AnswerRequest, Envelope
from context_protection.core.policy import DEFAULTS, Kind
from gateway.catalog.operation import Operation
from gateway.connectors.mcp_servers import errors, operations, registry
from gateway.connectors.mcp_servers.answers import read
from gateway.connectors.mcp_servers.configuration import HttpServer, Server, StdioServer
from gateway.connectors.mcp_servers.refresh import LOOK_SECONDS, Refreshing
from gateway.connectors.mcp_servers.results import ToolResult
from gateway.connectors.mcp_servers.sanitizer import hides
from gateway.connectors.mcp_servers.schemas import LONGEST
from gateway.connectors.mcp_servers.sessions import ServerSessions
from gateway.connectors.mcp_servers.wire import DEEPEST
from gateway.threads.bridge import run_sync
from gateway.upstreams.errors import (
    UpstreamError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTooLarge,
    UpstreamUnavailable,
)
from tests.gateway.connectors.mcp_servers.conftest import CHILD, ROOT
from tests.patience import PATIENCE
from tests.simulators.hostile_mcp import FLOODS, INVISIBLE, LEVELS

GOOD = StdioServer("good", CHILD["command"], tuple(CHILD["args"]), (), CHILD["cwd"])
Hostile = Callable[[str], Server]


@pytest.fixture(scope="module")
def sessions() -> Iterator[ServerSessions]:
    opened = ServerSessions()
    yield opened
    async_to_sync(opened.close)()


@pytest.fixture(params=["stdio", "http"])
def hostile(request: pytest.FixtureRequest, sessions: ServerSessions) -> Iterator[Hostile]:
    """Starts one in a mode. Its connection ends with the test, that of the good server stays."""
    program = [sys.executable, "-m", "tests.simulators.hostile_mcp"]
    with ExitStack() as running:

        def start(mode: str) -> Server:
            if request.param == "stdio":
                return StdioServer("hostile", program[0], (*program[1:], mode), (), str(ROOT))
            process = subprocess.Popen([*program, mode, "http"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
            running.callback(process.wait)
            running.callback(process.kill)
            assert process.stdout is not None
            with process.stdout as stdout:
                return HttpServer("hostile", f"http://127.0.0.1:{stdout.readline().strip()}/mcp", trusted=True)

        yield start
        async_to_sync(sessions.retain)([GOOD])


async def the_others_answer(sessions: ServerSessions) -> None:
    for _ in range(20):
        async with asyncio.timeout(PATIENCE):
            assert not (await sessions.call(GOOD, "small", {})).is_error


async def offered(sessions: ServerSessions, server: Server) -> list[Operation]:
    """The operations that its list makes."""
    async with asyncio.timeout(PATIENCE):
        tools = await sessions.tools(server)
    return list(operations.operations(server, operations.documents(tools)))


# -- Lists ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["endless_list", "many_tools", "large_description", "large_schema"])
async def test_a_list_without_measure_is_refused(sessions: ServerSessions, hostile: Hostile, mode: str):
    with pytest.raises(
        UpstreamTooLarge, match="tool list of MCP server hostile is endless, or has more than 2,000 tools"
    ):
        await offered(sessions, hostile(mode))
    await the_others_answer(sessions)


async def test_a_list_that_leads_in_a_circle_is_read_once(sessions: ServerSessions, hostile: Hostile):
    names = {operation.name for operation in await offered(sessions, hostile("cyclic_list"))}
    assert names == {"hostile_act", "hostile_at_a", "hostile_at_b"}


async def test_a_list_that_cannot_be_parsed_is_refused(sessions: ServerSessions, hostile: Hostile):
    with pytest.raises(UpstreamGarbled):
        await offered(sessions, hostile("deep_list"))
    await the_others_answer(sessions)


async def test_an_invalid_tool_in_a_list_costs_no_other(sessions: ServerSessions, hostile: Hostile):
    found = {each.name: each for each in await offered(sessions, hostile("odd_tools"))}
    assert found.keys() == {"hostile_act", "hostile_odd", "hostile_untyped"}
    assert found["hostile_odd"].description == "Acts."
    assert found["hostile_odd"].kind is Kind.ACTION, "it does not say that it only reads"
    assert found["hostile_untyped"].parameters["a"] == {"type": "string"}


async def test_schemas_that_explode_are_offered_as_small_ones(sessions: ServerSessions, hostile: Hostile):
    found = {operation.name: operation for operation in await offered(sessions, hostile("bombs"))}
    assert len(found) == 8
    for operation in found.values():
        schema = dumps(dict(operation.parameters))
        assert length(schema) <= LONGEST
        assert not hides(schema.decode())
    assert b"(a+)+" not in dumps(dict(found["hostile_slow"].parameters))


async def test_words_of_megabytes_cost_no_time(sessions: ServerSessions, hostile: Hostile):
    await offered(sessions, hostile("cyclic_list"))
    began = time.process_time()
    (_, wordy) = await offered(sessions, hostile("long_words"))
    assert time.process_time() - began < 2
    assert len(wordy.description) <= operations.DESCRIPTION


async def test_no_name_is_taken_from_others_and_no_word_is_hidden(sessions: ServerSessions, hostile: Hostile):
    found = await offered(sessions, hostile("bad_names"))
    names = [operation.name for operation in found]
    assert len(set(names)) == len(names) == 9
    assert all(re.fullmatch(r"hostile_[A-Za-z0-9_-]{1,56}", name) for name in names)
    shown = "".join(f"{each.title}{each.description}{''.join(each.tags)}" for each in found)
    assert not hides(shown)
    assert not set(INVISIBLE.replace("[31m", "")) & set(shown)


# -- Floods -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", FLOODS)
async def test_while_one_floods_the_others_answer(sessions: ServerSessions, hostile: Hostile, mode: str):
    server = hostile(mode)
    assert [operation.name for operation in await offered(sessions, server)] == ["hostile_act"]
    resident = memory()
    await the_others_answer(sessions)
    assert memory() - resident < 100 * 2**20


def memory() -> int:
    """Bytes of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


async def test_a_server_that_always_changes_is_asked_once_a_second_at_most(
    db: None, settings: Any, tmp_path: Path, hostile: Hostile
):
    server = hostile("restless")
    settings.MCP_SERVERS_FILE = str(tmp_path / "servers.json")
    configured = json.dumps({"mcpServers": {"hostile": as_configured(server)}})
    await run_sync((tmp_path / "servers.json").write_text, configured)
    (server,) = await run_sync(registry.servers)
    sessions = ServerSessions()
    refreshing = Refreshing(sessions, every=3600)
    began = time.monotonic()
    await refreshing.start()
    asked = 0
    while asked < 4:
        assert time.monotonic() - began < PATIENCE
        asked = int((await sessions.call(server, "act", {})).content[0].text)
    await refreshing.stop()
    assert asked <= 1 + (time.monotonic() - began) / LOOK_SECONDS


def as_configured(server: Server) -> dict[str, Any]:
    if isinstance(server, HttpServer):
        return {"url": server.url}
    return {"command": server.command, "args": list(server.arguments), "cwd": str(ROOT)}


# -- Calls ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["progress", "strange_ids"])
async def test_what_is_said_beside_an_answer_does_not_harm_it(sessions: ServerSessions, hostile: Hostile, mode: str):
    heard: list[float] = []
    server = hostile(mode)
    async with asyncio.timeout(PATIENCE):
        answer = await sessions.call(server, "act", {}, lambda progress, *_: heard.append(progress))
    if mode == "progress" or isinstance(server, StdioServer):  # over HTTP, its own stream answers it
        assert answer.content[0].text == "done"
    await the_others_answer(sessions)


@pytest.mark.parametrize(
    ("mode", "error"),
    [("huge", UpstreamTooLarge), ("deep", UpstreamGarbled), ("dies", UpstreamUnavailable)],
)
async def test_an_answer_that_is_none_is_an_error(
    sessions: ServerSessions, hostile: Hostile, mode: str, error: type[UpstreamError]
):
    with pytest.raises(error):
        async with asyncio.timeout(PATIENCE):
            await sessions.call(hostile(mode), "act", {})
    await the_others_answer(sessions)


@pytest.mark.parametrize("mode", ["future_revision", "odd_capabilities"])
async def test_a_server_that_answers_with_no_mcp_of_ours_is_not_said_to_be_away(
    sessions: ServerSessions, hostile: Hostile, mode: str
):
    server = hostile(mode)
    for _ in range(3):  # the third time, it is not asked again
        with pytest.raises(UpstreamGarbled) as refused:
            async with asyncio.timeout(PATIENCE):
                await sessions.call(server, "act", {})
        assert "revision" in refused.value.message


async def test_a_tool_that_is_no_longer_there_is_not_called_with_other_arguments(
    sessions: ServerSessions, hostile: Hostile
):
    with pytest.raises(UpstreamRefused) as refused:
        async with asyncio.timeout(PATIENCE):
            await sessions.call(hostile("forgets"), "act", {})
    assert refused.value.reason == "upstream_unknown_tool"
    assert "List the tools again" in str(refused.value.suggestion)
    assert refused.value.upstream == {"message": "Unknown tool: act"}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("MCP error -32602: Tool act not found", "upstream_unknown_tool"),
        ("tool not found: act", "upstream_unknown_tool"),
        ("the tool hammer was not found in stock", "upstream_invalid_arguments"),
        ("unknown city", "upstream_invalid_arguments"),
    ],
)
def test_a_missing_tool_is_told_from_wrong_arguments(words: str, reason: str):
    assert errors.refused(GOOD, MCPError(code=-32602, message=words)).reason == reason


@pytest.mark.parametrize(
    ("mode", "answer"),
    [
        (
            "odd_blocks",
            [{"type": "text", "text": "read"}, {"type": "text", "text": '{"type": "video", "data": "b64"}'}],
        ),
        ("no_content", {"n": 1}),
        ("list_as_structure", [1, 2]),
    ],
)
async def test_an_answer_that_breaks_the_schema_in_one_place_is_given_nevertheless(
    sessions: ServerSessions, hostile: Hostile, mode: str, answer: Any
):
    async with asyncio.timeout(PATIENCE):
        result = await sessions.call(hostile(mode), "act", {})
    assert not result.is_error
    assert read(result) == answer


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("kind", ["lists", "objects"])
async def test_a_content_of_more_levels_than_are_read_is_refused_as_too_deep(
    sessions: ServerSessions, hostile: Hostile, kind: str, levels: int
):
    server = hostile(f"{kind}_{levels}")
    for _ in range(2):  # the connection stays
        async with asyncio.timeout(PATIENCE):
            if levels > DEEPEST:
                with pytest.raises(UpstreamGarbled) as caught:
                    await sessions.call(server, "act", {})
                assert (caught.value.reason, caught.value.status) == ("too_deep", 502)
                assert "at most 198 levels" in str(caught.value.expected)
            else:
                answer = await sessions.call(server, "act", {})
                told = str(await run_sync(read, answer))
                assert told.count("[" if kind == "lists" else "b") == levels - 1
    await the_others_answer(sessions)


@pytest.mark.parametrize("levels", LEVELS)
async def test_a_text_of_any_depth_is_answered(sessions: ServerSessions, hostile: Hostile, levels: int):
    server = hostile(f"text_{levels}")
    text = await sessions.call(server, "act", {})
    told = await run_sync(read, text)
    assert isinstance(told, str) == (levels > 100)
    assert str(told).count("b") == levels - 1


async def test_an_error_of_megabytes_is_a_text_like_others(sessions: ServerSessions, hostile: Hostile):
    server = hostile("wordy_error")
    answer = await sessions.call(server, "act", {})
    texts: list[Any] = []

    def protected(payload: Any) -> Envelope:
        texts.append(payload)
        return Envelope(b"{}", "plain", 1, 1, 1)

    request = AnswerRequest(operation="act", caller="k", hints=lambda name, arguments: {})
    envelope = ToolResult(server, answer, over_mcp=True).answer(request, DEFAULTS, protected)
    assert texts[0].content == answer.content[0].text
    assert envelope.failure is not None


async def test_an_answer_without_end_is_given_up(sessions: ServerSessions, hostile: Hostile):
    resident = memory()
    with pytest.raises(UpstreamError):
        async with asyncio.timeout(PATIENCE):
            await sessions.call(hostile("never_ends"), "act", {})
    await the_others_answer(sessions)
    assert memory() - resident < 512 * 2**20


async def test_who_waits_no_longer_for_an_answer_by_the_drop_waits_for_nothing_else(
    sessions: ServerSessions, hostile: Hostile
):
    server = hostile("drips")
    await sessions.tools(server)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await sessions.call(server, "act", {})
    await the_others_answer(sessions)
