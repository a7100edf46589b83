"""The Channels consumer: who is accepted, and where."""

import json
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from gateway.asgi import application
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def scope(
    path: str, *, key: str | None = None, subprotocols: tuple[str, ...] = ("mcp",), **more: Any
) -> dict[str, Any]:
    headers = [(b"host", b"127.0.0.1"), *([(b"authorization", f"Bearer {key}".encode())] if key else [])]
    return {
        "type": "websocket",
        "path": path,
        "headers": headers,
        "subprotocols": list(subprotocols),
        "client": ("127.0.0.1", 4711),
        "scheme": "ws",
        **more,
    }


async def opened(scope: dict[str, Any]) -> tuple[dict[str, Any], ApplicationCommunicator]:
    communicator = ApplicationCommunicator(application, scope)
    await communicator.send_input({"type": "websocket.connect"})
    return await communicator.receive_output(10), communicator


@pytest.mark.parametrize("path", ["/mcp/ws", "/mcp/ws/"])
async def test_a_socket_with_a_key_is_accepted_and_answers(api_key: str, path: str):
    accepted, socket = await opened(scope(path, key=api_key))
    assert (accepted["type"], accepted["subprotocol"]) == ("websocket.accept", "mcp")
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    await socket.send_input({"type": "websocket.receive", "text": json.dumps(ping)})
    assert json.loads((await socket.receive_output(10))["text"])["id"] == 1
    await socket.send_input({"type": "websocket.disconnect", "code": 1000})
    await socket.wait(PATIENCE)


async def test_one_without_a_key_is_denied_in_words_where_the_web_server_can_send_them():
    started, socket = await opened(scope("/mcp/ws", extensions={"websocket.http.response": {}}))
    assert (started["type"], started["status"]) == ("websocket.http.response.start", 401)
    assert json.loads((await socket.receive_output(10))["body"])["error"]["reason"]
    await socket.wait(PATIENCE)


@pytest.mark.parametrize("path", ["/mcp", "/mcp/sse", "/ws"])
async def test_a_socket_at_another_address_is_told_the_right_one(api_key: str, path: str):
    """A bare 403 would look as if the key were wrong."""
    started, socket = await opened(scope(path, key=api_key, extensions={"websocket.http.response": {}}))
    assert (started["type"], started["status"]) == ("websocket.http.response.start", 404)
    assert "/mcp/ws" in json.loads((await socket.receive_output(10))["body"])["error"]["data"]["suggestion"]
    await socket.wait(PATIENCE)


@pytest.mark.parametrize("path", ["/mcp/ws", "/mcp/ws/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_http_at_the_address_of_the_socket_is_told_so(api_key: str, method: str, path: str):
    """As from a proxy that does not pass on Upgrade, or a client of the wrong transport."""
    http = {**scope(path, key=api_key), "type": "http", "method": method, "query_string": b"", "scheme": "http"}
    communicator = ApplicationCommunicator(application, http)
    await communicator.send_input({"type": "http.request", "body": b"{}", "more_body": False})
    started = await communicator.receive_output(10)
    assert started["status"] == 426
    assert dict(started["headers"])[b"upgrade"] == b"websocket"
    error = json.loads((await communicator.receive_output(10))["body"])["error"]
    assert error["reason"] == "upgrade_required"
    await communicator.wait(PATIENCE)


@pytest.mark.parametrize(
    "refused",
    [scope("/mcp/ws"), scope("/mcp"), scope("/mcp/ws/more"), scope("/"), scope("/mcp/ws", subprotocols=())],
    ids=["no key", "not a socket", "below", "home", "no subprotocol"],
)
async def test_everything_else_is_closed(refused: dict[str, Any]):
    denied, socket = await opened(refused)
    assert denied["type"] == "websocket.close"
    await socket.wait(PATIENCE)
