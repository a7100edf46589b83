"""A request over stateless HTTP: one response, JSON or a stream of events, and nothing for a client who has gone."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.mcp import exchange, plain_calls, progress
from tests.gateway.mcp.http_client import Client, answered, asking
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


class Held:
    """An operation that answers when it is let go."""

    def __init__(self) -> None:
        self.asked, self.let_go, self.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def fetch(self, arguments: Mapping[str, Any], caller: Caller) -> Record:
        self.asked.set()
        try:
            await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return Record({"said": "at last"})


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    catalogue.offer([Operation("held", "Held", "Waits.", Kind.RECORD, {}, held.fetch, "", form=())])
    yield held
    catalogue.withdraw("held")


def call(tool: str, token: str | None = None, **arguments: Any) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return {
        "jsonrpc": "2.0",
        "id": "seven",
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, **meta},
    }


async def test_an_answer_that_comes_soon_is_json(api_key: str):
    client = await answered(Client(api_key, call("list_bookings", limit=1)))
    assert (client.status, client.kind) == (200, "application/json")
    assert dict(client.sent[0]["headers"])[b"content-length"] == str(len(client.content)).encode()
    message = json.loads(client.content)
    assert (message["jsonrpc"], message["id"], message["result"]["isError"]) == ("2.0", "seven", False)
    assert "meta" in json.loads(message["result"]["content"][0]["text"])


async def test_what_is_said_before_the_answer_makes_it_a_stream(
    api_key: str, held: Held, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    client = Client(api_key, call("held", token="t"))
    async with asking(client):
        await asyncio.wait_for(client.something.wait(), PATIENCE)
        held.let_go.set()
    first, *_, last = client.messages
    assert client.kind == "text/event-stream"
    assert (first["method"], first["params"]["progressToken"]) == ("notifications/progress", "t")
    assert json.loads(last["result"]["content"][0]["text"])["said"] == "at last"


async def test_who_did_not_ask_for_progress_gets_json_however_long_it_takes(
    api_key: str, held: Held, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    monkeypatch.setattr(exchange, "WATCH_SECONDS", 0)
    client = Client(api_key, call("held"))
    async with asking(client):
        await held.asked.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        held.let_go.set()
    assert client.kind == "application/json"


async def test_a_long_silence_is_broken_by_pings(api_key: str, held: Held, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exchange, "WATCH_SECONDS", 0)
    monkeypatch.setattr(exchange, "PING_SECONDS", 0.01)
    client = Client(api_key, call("held"))
    async with asking(client):
        await asyncio.wait_for(client.something.wait(), PATIENCE)
        held.let_go.set()
    assert client.content.startswith(b": ping\r\n\r\n")
    assert client.messages[-1]["id"] == "seven"


async def test_when_the_client_goes_its_call_is_cancelled(api_key: str, held: Held, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exchange, "WATCH_SECONDS", 0)
    client = Client(api_key, call("held"))
    async with asking(client):
        await held.asked.wait()
        client.leaves()
        await asyncio.wait_for(held.cancelled.wait(), PATIENCE)
    assert client.sent == []


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [("tools/none", {}, -32601), ("tools/call", {"name": 7}, -32602), ("prompts/get", {"name": "none"}, -32602)],
)
async def test_a_request_that_cannot_be_served_is_answered_by_its_id(
    api_key: str, method: str, params: dict[str, Any], code: int
):
    client = await answered(Client(api_key, {"jsonrpc": "2.0", "id": 5, "method": method, "params": params}))
    message = json.loads(client.content)
    assert (client.status, message["id"], message["error"]["code"]) == (200, 5, code)


async def test_an_unknown_revision_gets_the_known_ones(api_key: str):
    """The SDK complains of a missing envelope, which only the newest revision has."""
    body = {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}
    client = await answered(Client(api_key, body, **{"mcp-protocol-version": "2025-06-17"}))
    message = json.loads(client.content)
    assert (client.status, message["id"], message["error"]["code"]) == (400, 5, -32022)
    assert message["error"]["data"]["requested"] == "2025-06-17"
    assert "2025-06-18" in message["error"]["data"]["supported"]


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "application/json-patch+json", ""])
async def test_another_content_type_is_told_the_right_one(api_key: str, version: str, content_type: str):
    """As curl sends it by default."""
    headers = {"content-type": content_type, "mcp-protocol-version": version}
    client = await answered(Client(api_key, call("list_bookings"), **headers))
    assert client.status == 400
    assert "application/json" in json.loads(client.content)["error"]["data"]["suggestion"]


@pytest.mark.parametrize("content_type", ["application/json;charset=utf-8", "Application/JSON"])
@pytest.mark.parametrize("method", ["tools/call", "ping"])
async def test_the_content_type_of_json_may_be_written_in_every_way(api_key: str, content_type: str, method: str):
    asked = call("list_bookings") if method == "tools/call" else {"jsonrpc": "2.0", "id": 1, "method": method}
    client = await answered(Client(api_key, asked, **{"content-type": content_type}))
    assert client.status == 200
    assert "result" in json.loads(client.content)


async def test_an_id_of_many_digits_is_answered_by_its_id(api_key: str):
    number = 10**30
    client = await answered(Client(api_key, {"jsonrpc": "2.0", "id": number, "method": "ping"}))
    assert str(number).encode() in client.content


async def test_a_progress_token_of_many_digits_costs_no_answer(
    api_key: str, held: Held, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    asked = call("held")
    asked["params"]["_meta"] = {"progressToken": 10**30}
    client = Client(api_key, asked)
    async with asking(client):
        await held.asked.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        held.let_go.set()
    assert json.loads(client.content)["id"] == "seven"


@pytest.mark.parametrize("token", [None, "t"], ids=["plain", "with progress"])
async def test_what_fails_inside_says_nothing_of_itself(
    api_key: str, monkeypatch: pytest.MonkeyPatch, token: str | None
):
    async def failing(*_: Any, **__: Any) -> dict[str, Any]:
        raise RuntimeError("the password is hunter2")

    for module, name in ((exchange, "serve_one"), (plain_calls, "serve")):
        monkeypatch.setattr(module, name, failing)
    client = await answered(Client(api_key, call("list_bookings", token=token)))
    assert json.loads(client.content)["error"]["code"] == -32603
    assert b"hunter2" not in client.content


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, {}, 202),
        ([call("list_bookings")], {}, 400),
        (b"{", {}, 400),
        (b"x" * (5 << 20), {}, 413),
        (call("list_bookings"), {"accept": "application/json"}, 406),
        (call("list_bookings"), {"content-type": "text/plain"}, 400),
        (call("list_bookings"), {"mcp-protocol-version": "1999-01-01"}, 400),
    ],
    ids=["notification", "batch", "no JSON", "too long", "not accepted", "another type", "another revision"],
)
async def test_what_is_no_request_goes_the_sdks_way(api_key: str, body: Any, headers: dict[str, str], status: int):
    client = await answered(Client(api_key, body, **headers))
    assert client.status == status
