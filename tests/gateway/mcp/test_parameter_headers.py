"""Arguments that a client of 2026-07-28 repeats as headers, because the tool's schema marks them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from mcp.server._otel import OpenTelemetryMiddleware

from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.mcp.discovery import slowest
from gateway.mcp.server import build_server
from gateway.threads.bridge import run_sync
from tests.doors import Doors
from tests.gateway.mcp.http_client import Client, answered

pytestmark = pytest.mark.django_db(transaction=True)

VERSION = "2026-07-28"
META = "io.modelcontextprotocol"
HEADER_MISMATCH = -32020


def _fetch(arguments: Mapping[str, Any], caller: Caller) -> Record:
    return Record({"region": arguments["region"]})


@pytest.fixture(autouse=True)
def marking() -> Iterator[None]:
    region = {"region": {"type": "string", "x-mcp-header": "Region"}}
    catalogue.offer([Operation("by_region", "By region", "Reads.", Kind.RECORD, region, _fetch, "", form=())])
    yield
    catalogue.withdraw("by_region")


async def called(key: str, tool: str, headers: Mapping[str, str], **arguments: Any) -> Any:
    """The answer to a tools/call, parsed."""
    meta = {f"{META}/protocolVersion": VERSION, f"{META}/clientCapabilities": {}}
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    all_headers = {"mcp-protocol-version": VERSION, "mcp-method": "tools/call", "mcp-name": tool, **headers}
    client = await answered(Client(key, body, **all_headers))
    return client.messages[0] if client.messages else json.loads(client.content)


async def test_an_argument_and_its_header_must_agree(api_key: str):
    agreed = await called(api_key, "by_region", {"mcp-param-region": "eu"}, region="eu")
    assert '"region":"eu"' in agreed["result"]["content"][0]["text"]
    for headers in ({}, {"mcp-param-region": "us"}):
        refused = await called(api_key, "by_region", headers, region="eu")
        assert refused["error"]["code"] == HEADER_MISMATCH, refused


async def test_a_hidden_tool_does_not_betray_itself_by_its_header(doors: Doors):
    await run_sync(doors.choose, hidden_tools=["by_region"])
    hidden = await called(doors.key, "by_region", {}, region="eu")
    unknown = await called(doors.key, "by_nothing", {}, region="eu")
    errors = [json.loads(answer["result"]["content"][0]["text"])["error"] for answer in (hidden, unknown)]
    assert [error["reason"] for error in errors] == ["unknown_operation"] * 2


async def test_a_call_does_not_run_a_whole_list(api_key: str):
    before = slowest.count
    answer = await called(api_key, "list_bookings", {}, limit=1)
    assert answer["result"]["isError"] is False
    assert slowest.count == before


def test_no_message_makes_spans_that_nobody_gets():
    assert not any(isinstance(each, OpenTelemetryMiddleware) for each in build_server().middleware)
