"""Who is let in over HTTP, and when nobody is."""

import json
from typing import Any

import pytest

from gateway.mcp.admission import Endpoint, admit
from gateway.mcp.sessions import Sessions
from gateway.process.bodies import SMALL_BODY, caller_memory

pytestmark = pytest.mark.django_db


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An endpoint."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def no_body() -> dict[str, Any]:
    return {"type": "http.request"}


async def answered(
    key: str, sessions: Sessions, receive: Any = no_body, endpoint: Endpoint = nothing, **headers: str
) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body; an endpoint that is reached answers 200."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = {"host": "testserver", "authorization": f"Bearer {key}", **headers}
    fields = [(name.encode(), value.encode()) for name, value in given.items()]
    await admit(endpoint, sessions, "http", {"type": "http", "method": "POST", "headers": fields}, receive, send)
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"]


async def test_a_key_is_let_in(api_key: str):
    status, _, _ = await answered(api_key, Sessions())
    assert status == 200


async def test_before_a_restart_no_call_is_begun_on_a_connection_that_is_open(api_key: str):
    sessions = Sessions()
    await sessions.drain(0)
    status, headers, _ = await answered(api_key, sessions)
    assert status == 503
    assert headers[b"retry-after"] == b"1"
    assert headers[b"connection"] == b"close"


@pytest.mark.parametrize("origin", ["null", "http://[", "http://[::1", "//testserver", "testserver", "://testserver"])
async def test_an_origin_that_is_none_is_refused_and_breaks_nothing(api_key: str, origin: str):
    status, _, body = await answered(api_key, Sessions(), origin=origin)
    assert (status, json.loads(body)["error"]["reason"]) == (403, "invalid_origin")


async def test_the_own_origin_is_let_in(api_key: str):
    status, _, _ = await answered(api_key, Sessions(), origin="http://testserver")
    assert status == 200


async def test_without_a_key_nothing_of_the_body_is_read():
    async def receive() -> Any:
        raise AssertionError("the body is read")

    status, _, _ = await answered("nobodys", Sessions(), receive=receive)
    assert status == 401


async def test_the_endpoint_gets_the_body_as_one_message(api_key: str):
    pieces = [b'{"jsonrpc"', b":", b'"2.0"}']
    messages = [{"type": "http.request", "body": piece, "more_body": piece != pieces[-1]} for piece in pieces]
    got: list[Any] = []

    async def endpoint(scope: Any, receive: Any, send: Any) -> None:
        got.append(await receive())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        return messages.pop(0)

    await answered(api_key, Sessions(), receive=receive, endpoint=endpoint)
    assert got == [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]


async def test_where_there_is_no_room_for_a_large_body_its_sender_is_told_to_come_again(
    api_key: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(caller_memory, "most", SMALL_BODY)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"x" * (SMALL_BODY + 1), "more_body": True}

    status, headers, body = await answered(api_key, Sessions(), receive=receive)
    assert (status, headers[b"retry-after"]) == (503, b"5")
    assert json.loads(body)["error"]["reason"] == "busy"
    assert caller_memory.taken == 0
