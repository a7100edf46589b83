"""`manage.py mcp` on a port of its own, and the transport of 2024-11-05, with the official client."""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.sse import sse_client

from tests.e2e import forks
from tests.e2e.serving import Serving, serving, until_it_stops_listening
from tests.e2e.test_clients import over_http, over_websocket
from tests.e2e.test_sockets import INITIALIZE
from tests.patience import PATIENCE
from tests.simulators.nsip import NsipSimulator, nsip_simulator


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sluice")) as running:
        yield running


@contextmanager
def mcp_alone(sluice: Serving, transport: str) -> Iterator[str]:
    """The address that it says it listens on. The port is one that was free a moment ago."""
    port = httpx2.URL(sluice.base).port
    assert port is not None
    environment = {**sluice.environment, "MCP_TRANSPORT": transport, "MCP_PORT": str(1024 + (port + 4321) % 60000)}
    reading, writing = os.pipe()
    process = forks.start(["mcp"], environment, -1, writing)
    os.close(writing)
    with os.fdopen(reading) as printed:
        try:
            said = re.search(r"MCP listens on (\S+)", printed.readline())
            assert said is not None
            yield said[1]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("transport", "address", "connect"),
    [
        ("websocket", r"ws://127\.0\.0\.1:\d+/mcp/ws", over_websocket),
        ("http-sse", r"http://127\.0\.0\.1:\d+/mcp", over_http),
    ],
)
def test_a_transport_of_the_environment_is_served_on_its_port(
    sluice: Serving, transport: str, address: str, connect: object
):
    async def total() -> int:
        there = replace(sluice, base=re.sub(r"^ws|/mcp.*", lambda part: "http" if part[0] == "ws" else "", said))
        async with Client(connect(there)) as client:  # type: ignore[operator]
            result = await client.call_tool("list_bookings", {})
        count: int = json.loads(result.content[0].text)["meta"]["totalCount"]
        return count

    with mcp_alone(sluice, transport) as said:
        assert re.fullmatch(address, said)
        assert anyio.run(total) == 500


def test_a_client_of_2024_is_served_over_server_sent_events(sluice: Serving):
    async def talk() -> tuple[str, int]:
        headers = {"Authorization": f"Bearer {sluice.key}"}
        async with Client(sse_client(f"{sluice.base}/mcp/sse", headers=headers), mode="legacy") as client:
            result = await client.call_tool("list_bookings", {"limit": 3})
            return client.session.protocol_version or "", len(json.loads(result.content[0].text)["items"])

    version, rows = anyio.run(talk)
    assert version in {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
    assert rows == 3


def test_a_session_of_events_belongs_to_its_caller(sluice: Serving):
    """With another key, the session does not exist; without one, nothing does."""
    other = sluice.manage("apikey", "create", "another").stdout.strip()

    with httpx2.stream(
        "GET", f"{sluice.base}/mcp/sse", headers={"Authorization": f"Bearer {sluice.key}"}, timeout=PATIENCE
    ) as stream:
        lines = stream.iter_lines()  # kept: when it goes, so does the stream
        endpoint = next(line for line in lines if line.startswith("data:")).removeprefix("data:").strip()
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        statuses = [
            httpx2.post(sluice.base + endpoint, json=ping, headers=headers, timeout=PATIENCE).status_code
            for headers in (
                {"Authorization": f"Bearer {other}"},
                {},
                {"Authorization": f"Bearer {sluice.key}", "Origin": "https://evil.example"},
                {"Authorization": f"Bearer {sluice.key}"},
            )
        ]
    assert endpoint.startswith("/mcp/sse/messages?session_id=")
    assert statuses == [404, 401, 403, 202]


def test_a_restart_does_not_wait_for_streams(tmp_path: Path):
    with serving(tmp_path) as sluice:
        headers = {"Authorization": f"Bearer {sluice.key}"}
        with httpx2.stream("GET", f"{sluice.base}/mcp/sse", headers=headers, timeout=PATIENCE) as stream:
            lines = stream.iter_lines()
            assert "endpoint" in next(lines)
            os.kill(sluice.pid, signal.SIGTERM)
            rest = list(lines)  # it ends as a response does: a reset would be raised here
    assert not [line for line in rest if line.startswith("event")]


SLOW_CALL: dict[str, Any] = {"name": "nsip_get_last_update", "arguments": {}}
DATE = {"date": "09/23/2025"}


def test_a_restart_lets_a_call_over_http_finish(tmp_path: Path):
    """Also where its answer comes as a stream, which has begun by the time of the signal."""
    with nsip_simulator("slow") as nsip, serving(tmp_path, NSIP_BASE_URL=nsip.url) as sluice:
        headers = {"Authorization": f"Bearer {sluice.key}", "Accept": "application/json, text/event-stream"}
        params = {**SLOW_CALL, "_meta": {"progressToken": 1}}  # what is said of it begins the stream
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        with httpx2.stream("POST", f"{sluice.base}/mcp", headers=headers, json=call, timeout=PATIENCE) as stream:
            assert nsip.waiting.wait(PATIENCE)
            os.kill(sluice.pid, signal.SIGTERM)
            until_it_stops_listening(sluice)
            nsip.release.set()
            events = [line for line in stream.iter_lines() if line.startswith("data:")]
    *_, answer = (json.loads(event.removeprefix("data:")) for event in events)
    assert DATE.items() <= json.loads(answer["result"]["content"][0]["text"]).items()


def test_a_restart_lets_calls_of_a_session_of_events_finish(tmp_path: Path):
    async def talk(sluice: Serving, nsip: NsipSimulator) -> list[dict[str, Any]]:
        headers = {"Authorization": f"Bearer {sluice.key}"}
        answers: list[dict[str, Any]] = []
        async with Client(sse_client(f"{sluice.base}/mcp/sse", headers=headers), mode="legacy") as client:
            await client.list_tools()  # or the client would ask for them when the answer has come

            async def ask() -> None:
                result = await client.call_tool(SLOW_CALL["name"], SLOW_CALL["arguments"])
                answers.append(json.loads(result.content[0].text))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask)
                assert await anyio.to_thread.run_sync(nsip.waiting.wait, PATIENCE)
                os.kill(sluice.pid, signal.SIGTERM)
                await anyio.to_thread.run_sync(until_it_stops_listening, sluice)
                nsip.release.set()
        return answers

    with nsip_simulator("slow") as nsip, serving(tmp_path, NSIP_BASE_URL=nsip.url) as sluice:
        (answer,) = anyio.run(talk, sluice, nsip)
    assert DATE.items() <= answer.items()


def test_a_session_of_events_takes_each_id_once(tmp_path: Path):
    """As a socket does: one counts what waits to be answered on either."""
    with nsip_simulator("slow") as nsip, serving(tmp_path, NSIP_BASE_URL=nsip.url) as sluice:
        headers = {"Authorization": f"Bearer {sluice.key}"}
        with (
            httpx2.Client(base_url=sluice.base, headers=headers, timeout=60) as client,
            client.stream("GET", "/mcp/sse") as stream,
        ):
            lines = stream.iter_lines()
            endpoint = next(line for line in lines if line.startswith("data:")).removeprefix("data:").strip()
            said = (json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:"))

            def post(method: str, params: dict[str, Any], **number: int) -> None:
                message = {"jsonrpc": "2.0", "method": method, "params": params, **number}
                assert client.post(endpoint, json=message).status_code == 202

            post("initialize", INITIALIZE, id=0)
            assert next(said)["id"] == 0
            post("notifications/initialized", {})
            post("tools/call", SLOW_CALL, id=2)
            assert nsip.waiting.wait(PATIENCE)
            post("tools/call", SLOW_CALL, id=2)
            first = next(said)
            nsip.release.set()
            second = next(said)
    assert (first["id"], first["error"]["code"]) == (2, -32600)
    assert (second["id"], second["result"]["isError"]) == (2, False)


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/mcp", "POST"),
        ("DELETE", "/mcp", "POST"),
        ("OPTIONS", "/mcp", "POST"),
        ("PUT", "/mcp/sse", "GET"),
        ("GET", "/mcp/sse/messages", "POST"),
    ],
)
def test_a_method_that_means_nothing_is_not_allowed(sluice: Serving, method: str, path: str, allowed: str):
    """A stream at /mcp, too: without a session nothing could ever come on it."""
    headers = {"Authorization": f"Bearer {sluice.key}", "Accept": "text/event-stream"}
    answer = httpx2.request(method, sluice.base + path, headers=headers, timeout=PATIENCE)
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)
