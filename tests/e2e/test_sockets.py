"""How a socket behaves when something is wrong, or ends: bytes on the wire, without an SDK that would smooth them."""

import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import websockets
from websockets.asyncio.client import ClientConnection

from tests.e2e.serving import Serving, serving, websocket_to
from tests.patience import PATIENCE
from tests.simulators.nsip import NsipSimulator, nsip_simulator

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sluice")) as running:
        yield running


@asynccontextmanager
async def connected(url: str, key: str) -> AsyncIterator[ClientConnection]:
    """A socket whose session has been initialized."""
    headers = {"Authorization": f"Bearer {key}"}
    async with websocket_to(url, subprotocols=["mcp"], additional_headers=headers, max_size=None, proxy=None) as socket:
        await ask(socket, "initialize", INITIALIZE)
        await socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        yield socket


def request(method: str, params: dict[str, Any], number: int = 1) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


async def ask(socket: ClientConnection, method: str, params: dict[str, Any], number: int = 1) -> dict[str, Any]:
    await socket.send(request(method, params, number))
    return await heard(socket)


async def heard(socket: ClientConnection) -> dict[str, Any]:
    with anyio.fail_after(PATIENCE):
        message: dict[str, Any] = json.loads(await socket.recv())
    return message


async def closed(socket: ClientConnection) -> tuple[int, str]:
    """The code and reason with which the server closes; what it says before is passed over."""
    with anyio.fail_after(PATIENCE), contextlib.suppress(websockets.ConnectionClosed):
        while True:
            await socket.recv()
    assert socket.close_code is not None
    return socket.close_code, socket.close_reason or ""


@pytest.mark.parametrize(
    ("frame", "code"),
    [("{nope", -32700), ("", -32700), ("[]", -32600), ("7", -32600), ('{"jsonrpc":"2.0"}', -32600)],
)
def test_what_is_not_a_message_is_answered_and_the_session_goes_on(sluice: Serving, frame: str, code: int):
    async def talk() -> tuple[dict[str, Any], dict[str, Any]]:
        async with connected(sluice.websocket, sluice.key) as socket:
            await socket.send(frame)
            return await heard(socket), await ask(socket, "ping", {}, 7)

    answer, pong = anyio.run(talk)
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    assert pong == {"jsonrpc": "2.0", "id": 7, "result": {}}


def test_a_request_that_is_none_otherwise_is_answered_by_its_id(sluice: Serving):
    async def talk() -> dict[str, Any]:
        async with connected(sluice.websocket, sluice.key) as socket:
            await socket.send('{"jsonrpc":"2.0","id":9,"method":"ping","params":[]}')
            return await heard(socket)

    answer = anyio.run(talk)
    assert (answer["id"], answer["error"]["code"]) == (9, -32600)


def test_a_cancellation_of_nonsense_is_passed_over(sluice: Serving):
    async def talk() -> dict[str, Any]:
        async with connected(sluice.websocket, sluice.key) as socket:
            for nonsense in ([], {}, None, "never", 99):
                params = {"requestId": nonsense}
                await socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
            return await ask(socket, "ping", {})

    assert anyio.run(talk)["result"] == {}


def test_binary_frames_are_refused(sluice: Serving):
    async def talk() -> tuple[int, str]:
        async with connected(sluice.websocket, sluice.key) as socket:
            await socket.send(b"{}")
            return await closed(socket)

    assert anyio.run(talk) == (1003, "MCP messages are text frames.")


def test_a_message_that_is_too_big_is_refused_with_the_limit(sluice: Serving):
    async def talk() -> tuple[int, str]:
        async with connected(sluice.websocket, sluice.key) as socket, anyio.create_task_group() as tasks:
            tasks.start_soon(send_in_vain, socket, "x" * (5 << 20))
            return await closed(socket)

    code, reason = anyio.run(talk)
    assert code == 1009
    assert "5242880 bytes exceeds limit of 4194304 bytes" in reason


async def send_in_vain(socket: ClientConnection, frame: str) -> None:
    """The server may close before it has taken all."""
    try:
        await socket.send(frame)
    except websockets.ConnectionClosed:
        return


def test_the_era_of_the_first_request_is_that_of_the_connection(sluice: Serving):
    async def talk() -> dict[str, Any]:
        async with connected(sluice.websocket, sluice.key) as socket:
            meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
            return await ask(socket, "tools/list", {"_meta": meta})

    assert anyio.run(talk)["error"]["code"] == -32600


def test_too_many_requests_at_once_are_refused_one_by_one(sluice: Serving):
    """400 at once: each is answered once, most of them with a result, and afterwards all is well again."""

    async def talk() -> tuple[list[dict[str, Any]], dict[str, Any]]:
        async with connected(sluice.websocket, sluice.key) as socket:
            for number in range(400):
                arguments = {"limit": 1 + number % 200}
                await socket.send(request("tools/call", {"name": "list_bookings", "arguments": arguments}, number))
            answers = [await heard(socket) for _ in range(400)]
            return answers, await ask(socket, "ping", {}, 1000)

    answers, pong = anyio.run(talk)
    assert sorted(answer["id"] for answer in answers) == list(range(400))
    refused = [answer["error"] for answer in answers if "error" in answer]
    assert len(refused) <= 144
    assert all(error["code"] == -32004 and "256 requests" in error["message"] for error in refused)
    assert pong["result"] == {}


def test_a_changed_tool_list_is_told_to_an_open_socket(sluice: Serving):
    async def talk() -> dict[str, Any]:
        async with connected(sluice.websocket, sluice.key) as socket:
            await ask(socket, "ping", {})
            await anyio.to_thread.run_sync(change_a_budget, sluice)
            return await heard(socket)

    assert anyio.run(talk) == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


def test_a_client_that_says_it_is_initialized_again_is_told_once(sluice: Serving):
    async def talk() -> list[dict[str, Any]]:
        async with connected(sluice.websocket, sluice.key) as socket:
            for _ in range(3):
                await socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            await ask(socket, "ping", {})
            await anyio.to_thread.run_sync(change_another_budget, sluice)
            return [await heard(socket), await ask(socket, "ping", {}, 7)]

    told, pong = anyio.run(talk)
    assert told["method"] == "notifications/tools/list_changed"
    assert pong["id"] == 7


def test_a_handshake_that_is_too_long_is_refused(sluice: Serving):
    async def talk() -> int:
        headers = {"Authorization": f"Bearer {sluice.key}", "X-Long": "x" * 60_000}
        try:
            async with websocket_to(sluice.websocket, subprotocols=["mcp"], additional_headers=headers, proxy=None):
                return 101
        except websockets.InvalidStatus as refused:
            return refused.response.status_code

    assert anyio.run(talk) == 431


def change_another_budget(sluice: Serving) -> None:
    code = (
        "from context_protection.models import TokenBudget;"
        "TokenBudget.objects.create(operation='nsip_get_lineage', token_budget_threshold=1234)"
    )
    done = sluice.manage("shell", "-c", code)
    assert done.returncode == 0, done.stderr


def change_a_budget(sluice: Serving) -> None:
    """In another process. The threshold of NSIP's summaries is part of their tools' descriptions."""
    code = (
        "from context_protection.models import TokenBudget;"
        "TokenBudget.objects.create(operation='nsip_get_animal', token_budget_threshold=1234)"
    )
    done = sluice.manage("shell", "-c", code)
    assert done.returncode == 0, done.stderr


def test_a_revoked_key_closes_its_sockets_and_no_others(sluice: Serving):
    key = sluice.manage("apikey", "create", "leaver").stdout.strip()

    async def talk() -> tuple[tuple[int, str], dict[str, Any]]:
        async with connected(sluice.websocket, key) as leaver, connected(sluice.websocket, sluice.key) as other:
            await anyio.to_thread.run_sync(lambda: sluice.manage("apikey", "revoke", "leaver"))
            return await closed(leaver), await ask(other, "ping", {})

    ending, pong = anyio.run(talk)
    assert ending == (1008, "The API key was revoked.")
    assert pong["result"] == {}


def test_a_restart_lets_calls_in_flight_finish_and_says_why_it_closes(tmp_path: Path):
    with nsip_simulator("slow") as nsip, serving(tmp_path, NSIP_BASE_URL=nsip.url) as sluice:
        answer, endings, late = anyio.run(call_into_a_restart, sluice, nsip)
    assert json.loads(answer["result"]["content"][0]["text"])["date"] == "09/23/2025"
    assert endings == [(1012, "The server restarts; connect again.")] * 2
    assert "connect again" in late["error"]["message"]


async def call_into_a_restart(
    sluice: Serving, nsip: NsipSimulator
) -> tuple[dict[str, Any], list[tuple[int, str]], dict[str, Any]]:
    async with connected(sluice.websocket, sluice.key) as busy, connected(sluice.websocket, sluice.key) as idle:
        await busy.send(request("tools/call", {"name": "nsip_get_last_update", "arguments": {}}, 2))
        assert await anyio.to_thread.run_sync(nsip.waiting.wait, PATIENCE)
        os.kill(sluice.pid, signal.SIGTERM)
        late: dict[str, Any] = {}
        number = 10
        while "error" not in late:  # the signal takes a moment to arrive
            number += 1
            late = await ask(busy, "ping", {}, number)
        nsip.release.set()
        answer = await heard(busy)
        return answer, [await closed(busy), await closed(idle)], late


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_a_restart_ends_a_subscription_with_its_result(tmp_path: Path):
    """Which tells a client of 2026 that nothing has broken."""

    async def talk(sluice: Serving) -> tuple[str, dict[str, Any], tuple[int, str]]:
        headers = {"Authorization": f"Bearer {sluice.key}"}
        async with websocket_to(sluice.websocket, subprotocols=["mcp"], additional_headers=headers) as socket:
            params = {"_meta": MODERN, "notifications": {"toolsListChanged": True}}
            acknowledged = await ask(socket, "subscriptions/listen", params, 5)
            os.kill(sluice.pid, signal.SIGTERM)
            return acknowledged["method"], await heard(socket), await closed(socket)

    with serving(tmp_path) as sluice:
        method, result, ending = anyio.run(talk, sluice)
    assert method == "notifications/subscriptions/acknowledged"
    assert (result["id"], result["result"]["resultType"]) == (5, "complete")
    assert ending == (1012, "The server restarts; connect again.")
