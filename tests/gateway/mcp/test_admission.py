"""Who is let in over HTTP, and when nobody is."""

import json
from typing import Any

import pytest

from gateway.mcp.admission import admit
from gateway.mcp.sessions import Sessions

pytestmark = pytest.mark.django_db


async def answered(key: str, sessions: Sessions, **headers: str) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body; an endpoint that is reached answers 200."""
    sent: list[dict[str, Any]] = []

    async def endpoint(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request"}

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
