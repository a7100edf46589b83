"""Protocol errors for requests that the SDK rejects: they say what is wrong."""

import json
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from gateway.asgi import application
from tests.gateway.mcp.http_client import Client, answered
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
REF = {"type": "ref/prompt", "name": "arrivals"}
CLIENT = {"name": "x", "version": "1"}
DATE = {"name": "date", "value": ""}
WRONG: list[tuple[str, Any, str, str]] = [
    ("tools/call", {"arguments": {}}, "params.name", "missing"),
    ("tools/call", {"name": "list_bookings", "arguments": "{}"}, "params.arguments", "invalid"),
    ("prompts/get", {"name": "unpaid_arrivals", "arguments": {"days": 14}}, "params.arguments.days", "invalid"),
    ("completion/complete", {"ref": {"type": "ref/none"}, "argument": DATE}, "params.ref", "invalid"),
    ("completion/complete", {"ref": REF, "argument": {"name": "date"}}, "params.argument.value", "missing"),
]
# The newest revision has no handshake, and checks the envelope and the name before.
WRONG_WITH_HANDSHAKE: list[tuple[str, Any, str, str]] = [
    *WRONG,
    ("tools/call", None, "params", "missing"),
    ("tools/call", {"name": "list_bookings", "_meta": {"progressToken": 1.5}}, "params._meta.progressToken", "invalid"),
    ("resources/read", {"uri": 5}, "params.uri", "invalid"),
    (
        "initialize",
        {"protocolVersion": 5, "capabilities": {}, "clientInfo": CLIENT},
        "params.protocolVersion",
        "invalid",
    ),
]


async def assert_explained(client: Client, method: str, parameter: str, problem: str) -> None:
    error = json.loads((await answered(client)).content)["error"]
    assert (error["code"], error["data"]["parameter"]) == (-32602, parameter)
    assert error["message"] == f"{method}: {parameter} is {problem}."
    assert error["data"]["expected"]
    assert error["data"]["suggestion"]
    assert "pydantic" not in json.dumps(error)


@pytest.mark.parametrize(("method", "params", "parameter", "problem"), WRONG_WITH_HANDSHAKE)
async def test_a_wrong_parameter_is_named(
    api_key: str, method: str, params: dict[str, Any] | None, parameter: str, problem: str
):
    message = {"jsonrpc": "2.0", "id": 5, "method": method, **({} if params is None else {"params": params})}
    await assert_explained(Client(api_key, message), method, parameter, problem)


@pytest.mark.parametrize(("method", "params", "parameter", "problem"), WRONG)
async def test_a_wrong_parameter_of_an_enveloped_request_is_named(
    api_key: str, method: str, params: dict[str, Any], parameter: str, problem: str
):
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": str(params.get("name", ""))}
    message = {"jsonrpc": "2.0", "id": 5, "method": method, "params": {**params, "_meta": META}}
    await assert_explained(Client(api_key, message, **headers), method, parameter, problem)


async def test_a_request_before_the_handshake_is_told_of_it(api_key: str):
    scope = {
        "type": "websocket",
        "path": "/mcp/ws",
        "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {api_key}".encode())],
        "subprotocols": ["mcp"],
        "client": ("127.0.0.1", 4711),
        "scheme": "ws",
    }
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    await socket.receive_output(PATIENCE)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    await socket.send_input({"type": "websocket.receive", "text": json.dumps(message)})
    answer = json.loads((await socket.receive_output(PATIENCE))["text"])
    assert "initialize" in answer["error"]["data"]["suggestion"]
    assert answer["error"]["code"] == -32602
    await socket.send_input({"type": "websocket.disconnect", "code": 1000})
    await socket.wait(PATIENCE)
