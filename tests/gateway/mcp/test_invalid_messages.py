"""The errors for messages that are not valid JSON-RPC."""

import json
from typing import Any

import pytest

from gateway.mcp.invalid_messages import MessageRejected, message_in

PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


def rejection_of(message: Any) -> Any:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    with pytest.raises(MessageRejected) as rejected:
        message_in(data)
    return rejected.value.response


@pytest.mark.parametrize(
    ("message", "request_id", "words"),
    [
        ([PING], None, "batch"),
        ([], None, "batch"),
        ("ping", None, "not an object"),
        ({**PING, "id": None}, None, "id"),
        ({**PING, "id": 1.0}, None, "id"),
        ({**PING, "id": [7]}, None, "id"),
        ({**PING, "jsonrpc": "1.0"}, 7, "jsonrpc"),
        ({"id": 7, "method": "ping"}, 7, "jsonrpc"),
        ({**PING, "method": 5}, 7, "method"),
        ({"jsonrpc": "2.0"}, None, "method"),
        ({**PING, "params": [1]}, 7, "params"),
        ({"jsonrpc": "2.0", "method": "notifications/initialized", "params": "x"}, None, "params"),
        ({"jsonrpc": "2.0", "id": 7, "result": 5}, None, "JSON-RPC"),
    ],
)
def test_the_sender_is_told_what_is_wrong(message: Any, request_id: Any, words: str):
    rejection = rejection_of(message)
    assert (rejection.id, rejection.error.code) == (request_id, -32600)
    assert words in rejection.error.message or words in rejection.error.data["suggestion"]
    assert "pydantic" not in json.dumps(rejection.error.data)


@pytest.mark.parametrize(
    ("data", "request_id"),
    [
        (b"{", None),
        (b"", None),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"search":"\\ud83d"}}}', 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"arguments":{"search":"\xff"}}}', 7),
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"\\ud83d"}}', None),
    ],
    ids=["cut", "nothing", "half of an emoji", "not UTF-8", "a response"],
)
def test_what_is_not_json_is_answered_by_its_id_if_it_is_a_request(data: bytes, request_id: int | None):
    rejection = rejection_of(data)
    assert (rejection.id, rejection.error.code) == (request_id, -32700)
    assert rejection.error.data["reason"] == "invalid_json"


@pytest.mark.parametrize(
    "message",
    [
        PING,
        {"jsonrpc": "2.0", "id": 10**30, "method": "ping", "params": None},
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"id": 1}},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": "no"}},
    ],
)
def test_a_valid_message_is_read(message: Any):
    assert message_in(json.dumps(message).encode()).model_dump(exclude_unset=True) == message
