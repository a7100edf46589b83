"""A session with a server: shared by all calls, opened again when it has ended, and never in the way of another."""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import mcp.types as types
import pytest
from asgiref.sync import async_to_sync

from gateway.connectors.mcp_servers import connections, network, processes
from gateway.connectors.mcp_servers.configuration import HttpServer, Server, StdioServer
from gateway.connectors.mcp_servers.connections import MAX_ROUNDS
from gateway.connectors.mcp_servers.reachability import try_server
from gateway.connectors.mcp_servers.sessions import ServerSession, ServerSessions, _pause
from gateway.dispatch.asker import Asker
from gateway.upstreams.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamTooLarge,
    UpstreamUnavailable,
)
from tests.gateway.connectors.mcp_servers.conftest import CHILD
from tests.patience import PATIENCE
from tests.simulators.mcp_server import Simulator, mcp_server

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def sessions() -> Iterator[ServerSessions]:
    opened = ServerSessions()
    yield opened
    async_to_sync(opened.close)()


def child(**environment: str) -> StdioServer:
    return StdioServer("sim", CHILD["command"], tuple(CHILD["args"]), tuple(sorted(environment.items())), CHILD["cwd"])


@pytest.fixture(scope="module", params=["stdio", "stdio of 2025", "http", "http of 2025"])
def server(request: pytest.FixtureRequest, sessions: ServerSessions) -> Iterator[Server]:
    era = "2025" if "2025" in request.param else ""
    if "stdio" in request.param:
        yield child(ERA=era) if era else child()
        return
    with mcp_server(era=era) as url:
        yield HttpServer("sim", url, trusted=True)
        async_to_sync(sessions.close)()


def said(result: Any) -> Any:
    return json.loads(result.content[0].text)


async def until(condition: Callable[[], Any]) -> None:
    """Waits for what happens elsewhere."""
    deadline = time.monotonic() + PATIENCE
    while not await condition():
        assert time.monotonic() < deadline, "it has not happened in time"
        await asyncio.sleep(0.01)


async def test_all_pages_of_a_tool_list_are_read(sessions: ServerSessions, server: Server):
    names = [tool.name for tool in await sessions.tools(server)]
    assert len(names) > 30
    assert len(set(names)) == len(names)


async def test_fifty_calls_at_once_get_each_their_own_answer(sessions: ServerSessions, server: Server):
    calls = (sessions.call(server, "echo", {"marker": f"m{number}"}) for number in range(50))
    answers = await asyncio.gather(*calls)
    assert [said(answer)["marker"] for answer in answers] == [f"m{number}" for number in range(50)]


async def test_a_call_that_nobody_waits_for_is_stopped_upstream(sessions: ServerSessions, server: Server):
    async def begun() -> bool:
        return said(await sessions.call(server, "calls", {})).get("slow", 0) > before

    async def stopped() -> bool:
        return said(await sessions.call(server, "stopped", {}))["stopped"] > 0

    before = said(await sessions.call(server, "calls", {})).get("slow", 0)
    waiting = asyncio.create_task(sessions.call(server, "slow", {}))
    await until(begun)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await until(stopped)


async def test_what_the_server_refuses_says_why(sessions: ServerSessions, server: Server):
    with pytest.raises(UpstreamRefused) as refused:
        await sessions.call(server, "refuse", {})
    error = refused.value.document()["error"]
    assert error["code"] == -32602
    assert error["data"]["upstream"] == {"message": "city must be a town"}
    with pytest.raises(UpstreamRefused) as unknown:
        await sessions.call(server, "no_such_tool", {})
    assert unknown.value.reason == "upstream_unknown_tool"


async def test_what_is_longer_than_is_read_is_refused_and_the_next_call_works(sessions: ServerSessions, server: Server):
    with pytest.raises(UpstreamTooLarge):
        await sessions.call(server, "too_large", {})
    assert said(await sessions.call(server, "small", {})) == {"id": 7, "name": "Seven"}


def test_calls_from_loops_that_end_share_one_session(sessions: ServerSessions):
    """As REST's threads make them: each has a loop for the one call."""
    server = child(SHARED="1")
    pids: list[int] = []

    def call() -> None:
        pids.append(said(asyncio.run(sessions.call(server, "pid", {})))["pid"])

    threads = [threading.Thread(target=call) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pids) == 5
    assert len(set(pids)) == 1


async def test_a_child_that_crashes_fails_its_call_and_the_next_one_works(sessions: ServerSessions):
    server = child(CRASHES="1")
    waiting = asyncio.create_task(sessions.call(server, "slow", {}))
    with pytest.raises(UpstreamUnavailable) as closed:
        await sessions.call(server, "crash", {})
    assert closed.value.reason == "upstream_closed"
    with pytest.raises(UpstreamUnavailable):
        await waiting
    assert said(await sessions.call(server, "small", {}))["id"] == 7


async def test_a_child_that_keeps_dying_is_left_alone_for_a_while():
    moment = [0.0]
    server = StdioServer("gone", "/bin/false")
    session = ServerSession(server, network.transport, lambda: None, clock=lambda: moment[0])
    for _ in range(2):  # the first pause is none
        with pytest.raises(UpstreamUnavailable):
            await session.call("small", {}, Asker(None, asyncio.get_running_loop()))
    await session._connection._owner  # type: ignore[union-attr]  # it has ended at this moment
    with pytest.raises(UpstreamUnavailable) as paused:
        await session.call("small", {}, Asker(None, asyncio.get_running_loop()))
    assert paused.value.retry_after == 1
    assert session._connection is None
    moment[0] += 1.0
    with pytest.raises(UpstreamUnavailable):
        await session.call("small", {}, Asker(None, asyncio.get_running_loop()))
    assert session._connection is not None


async def test_the_pause_begins_when_the_connection_ends():
    moment = [0.0]
    server = StdioServer("gone", "/bin/false")
    session = ServerSession(server, network.transport, lambda: None, clock=lambda: moment[0])
    for _ in range(3):  # each after an idle time
        with pytest.raises(UpstreamUnavailable):
            await session.call("small", {}, Asker(None, asyncio.get_running_loop()))
        connection = session._connection
        assert connection is not None, "it was not tried"
        await connection._owner
        moment[0] += 60.0


async def test_a_tool_may_ask_as_often_as_is_allowed(sessions: ServerSessions):
    simulated, rounds = Simulator(), [0]

    async def patient(context: Any, arguments: dict[str, Any]) -> Any:
        rounds[0] += 1
        more = types.InputRequiredResult(input_requests={}, request_state=str(rounds[0]))
        return more if rounds[0] <= arguments["rounds"] else "done"

    simulated.offer("patient", patient)
    with mcp_server(simulator=simulated) as url:
        server = HttpServer("sim", url, trusted=True)
        result = await sessions.call(server, "patient", {"rounds": MAX_ROUNDS})
        assert [each.text for each in result.content] == ["done"]
        rounds[0] = 0
        with pytest.raises(UpstreamRefused) as endless:
            await sessions.call(server, "patient", {"rounds": MAX_ROUNDS + 1})
    assert endless.value.reason == "upstream_asks_back"
    assert rounds[0] == MAX_ROUNDS + 1


async def test_a_test_of_a_connection_leaves_no_thread():
    def loops() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "mcp-servers"]

    before = loops()
    with mcp_server() as url:
        found = await try_server(HttpServer("sim", url, trusted=True))
    assert found.failure == ""
    for thread in loops():
        if thread not in before:
            await asyncio.to_thread(thread.join, PATIENCE)
            assert not thread.is_alive()


def test_pauses_grow_to_a_minute():
    assert [_pause(failures) for failures in (0, 1, 2, 3, 4, 8, 9, 100)] == [0, 0, 1, 2, 4, 60, 60, 60]


async def test_a_command_that_does_not_exist_is_unavailable_and_shows_nothing(sessions: ServerSessions):
    with pytest.raises(UpstreamUnavailable) as refused:
        await sessions.call(StdioServer("none", "/no/such/program"), "small", {})
    assert "/no/such" not in json.dumps(refused.value.document())


async def test_an_address_where_nobody_listens_is_unavailable(sessions: ServerSessions):
    with pytest.raises(UpstreamUnavailable):
        await sessions.call(HttpServer("none", "http://127.0.0.1:9/mcp", trusted=True), "small", {})


async def stopped(sessions: ServerSessions) -> tuple[HttpServer, int]:
    """A server that has answered and was then stopped, and its port."""
    with mcp_server(era="2025") as url:
        server = HttpServer("restarted", url, trusted=True)
        assert said(await sessions.call(server, "small", {}))["id"] == 7
        return server, int(url.rsplit(":", 1)[1].partition("/")[0])


NO_SESSION = {"code": -32000, "message": "Bad Request: No valid session ID provided"}


@pytest.mark.parametrize("unknown_session", [None, {"jsonrpc": "2.0", "error": NO_SESSION, "id": None}])
async def test_a_server_that_was_started_again_is_asked_once_more(sessions: ServerSessions, unknown_session: Any):
    """It has forgotten the session, and so has not done what was asked. Many servers say so with 400 instead of 404."""
    server, port = await stopped(sessions)
    with mcp_server(era="2025", port=port, unknown_session=unknown_session):
        assert said(await sessions.call(server, "small", {}))["id"] == 7
        await sessions.retain(())


@pytest.mark.parametrize(
    "unknown_session", [{"id": 1, "error": NO_SESSION}, {"error": {"code": -32600, "message": "Bad"}}, [1]]
)
async def test_any_other_bad_request_is_not_made_again(sessions: ServerSessions, unknown_session: Any):
    server, port = await stopped(sessions)
    with mcp_server(era="2025", port=port, unknown_session=unknown_session):
        with pytest.raises(UpstreamError):
            await sessions.call(server, "small", {})
        await sessions.retain(())


async def test_the_environment_of_a_child_holds_none_of_our_secrets(
    sessions: ServerSessions, monkeypatch: pytest.MonkeyPatch
):
    for name in ("SECRET_KEY", "DATABASE_URL", "SLUICE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "canary-7f3a")
    seen = said(await sessions.call(child(TOKEN="its-own-token"), "environment", {}))
    assert seen["TOKEN"] == "its-own-token"
    assert "canary-7f3a" not in json.dumps(seen)
    assert set(seen) <= {"PATH", "HOME", "LANG", "TOKEN", "PWD", "LC_CTYPE"}


async def test_headers_are_sent_to_an_address():
    with mcp_server(admits=lambda headers: headers.get("authorization") == "Bearer let-me-in") as url:
        sessions = ServerSessions()
        with pytest.raises(UpstreamError):
            await sessions.call(HttpServer("closed", url, trusted=True), "small", {})
        server = HttpServer("open", url, (("Authorization", "Bearer let-me-in"),), trusted=True)
        assert said(await sessions.call(server, "small", {}))["id"] == 7
        await sessions.close()


async def test_closing_ends_the_child_and_what_it_has_started(caplog: pytest.LogCaptureFixture):
    sessions = ServerSessions()
    pids = said(await sessions.call(child(), "stubborn", {}))
    await sessions.close()
    for pid in (pids["pid"], pids["below"]):
        assert not is_alive(pid)
    assert said(await sessions.call(child(), "small", {}))["id"] == 7  # and begins anew
    await sessions.close()


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_what_a_child_says_is_logged_in_lines_without_its_secrets(
    sessions: ServerSessions, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("INFO")
    server = child(TOKEN="its-own-token")
    await sessions.call(server, "say", {"words": "one\x1b[31m its-own-token\n" + "long " * 5000})

    async def logged() -> bool:
        return len(lines()) >= 2

    def lines() -> list[str]:
        return [record.line for record in caplog.records if hasattr(record, "line")]

    await until(logged)
    assert lines()[0] == "one •••"
    assert processes.LOGGED - 10 < len(lines()[1]) <= processes.LOGGED


async def test_prints_on_stdout_do_no_harm(sessions: ServerSessions):
    assert said(await sessions.call(child(), "prints", {})) == {"fine": True}


def test_a_connection_is_over_when_its_child_is(sessions: ServerSessions):
    async def gone() -> None:
        connection = connections.McpConnection(child(), network.transport, lambda: None)
        pid = said(await connection.call("pid", {}, Asker(None, asyncio.get_running_loop())))["pid"]
        os.kill(pid, signal.SIGKILL)

        async def over() -> bool:
            return connection.is_over

        await until(over)
        await connection.close()

    asyncio.run(gone())


class Breaking(httpx2.AsyncHTTPTransport):
    """Loses the connection of a call that says so."""

    async def handle_async_request(self, request: Any) -> Any:
        if b'"break"' in await request.aread():
            raise httpx2.ConnectError("lost")
        return await super().handle_async_request(request)


async def test_an_exchange_that_fails_leaves_the_others_alone():
    with mcp_server() as url:
        sessions, server = ServerSessions(lambda server: Breaking()), HttpServer("sim", url, trusted=True)
        waiting = asyncio.create_task(sessions.call(server, "slow", {}))

        async def begun() -> bool:
            return "slow" in said(await sessions.call(server, "calls", {}))

        await until(begun)
        with pytest.raises(UpstreamUnavailable):
            await sessions.call(server, "echo", {"marker": "break"})
        assert said(await sessions.call(server, "small", {}))["id"] == 7
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await sessions.close()
