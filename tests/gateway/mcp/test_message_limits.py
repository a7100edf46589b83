"""Messages that are refused before they are read."""

import json
from typing import Any

import pytest

from gateway.mcp.message_limits import complexity_problem, error_response


def rejection_of(text: bytes | str) -> Any:
    problem = complexity_problem(text)
    assert problem is not None
    return error_response(text, problem)


MANY = list(range(10_001))
PARAMS = {"name": "list_listings", "arguments": {"ids": MANY, "id": 3}, "note": '{"id":4}'}


@pytest.mark.parametrize(
    ("message", "request_id"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": PARAMS}, 7),
        ({"method": "tools/call", "jsonrpc": "2.0", "id": "a-1", "params": PARAMS}, "a-1"),
        ({"method": "tools/call", "params": PARAMS, "jsonrpc": "2.0", "id": 8}, 8),
        ({"method": "tools/call", "params": PARAMS, "id": -9, "jsonrpc": "2.0"}, -9),
        ({"jsonrpc": "2.0", "method": 'x","id":5,"y":"', "params": PARAMS}, None),
        ({"jsonrpc": "2.0", "method": "x", "params": {"ids": MANY, "id": 5}}, None),
        ({"jsonrpc": "2.0", "method": "x", "params": {"id": 5, "ids": MANY}}, None),
        ({"jsonrpc": "2.0", "method": "x", "params": PARAMS, "id": None}, None),
        ([{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": PARAMS}], None),
    ],
)
@pytest.mark.parametrize("compact", [True, False])
def test_the_refusal_answers_the_id_of_the_request(message: Any, request_id: Any, compact: bool):
    text = json.dumps(message, separators=(",", ":") if compact else None)
    for each in (text, text.encode()):
        rejection = rejection_of(each)
        assert rejection.id == request_id
        assert "10,000" in rejection.error.message
        assert rejection.error.data["reason"] == "too_many_values"


@pytest.mark.parametrize("edge", [b'{"id":"\xff","x":[', b'{"a":' * 200, b'{"' + b"\\" * 1000 + b'":[', b'"id":' * 300])
def test_what_is_hardly_json_is_refused_without_an_id(edge: bytes):
    rejection = rejection_of(edge + b"1," * 10_001 + edge)
    assert rejection.id is None


def test_an_ordinary_message_is_read():
    assert complexity_problem('{"jsonrpc":"2.0","id":1,"method":"ping"}') is None
