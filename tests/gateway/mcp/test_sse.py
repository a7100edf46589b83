"""A session of server-sent events: when a request is no longer in flight, so that a restart may end the stream."""

from collections.abc import MutableMapping
from typing import Any

import pytest
from mcp.types import JSONRPCRequest, JSONRPCResponse

from gateway.mcp.in_flight import InFlight
from gateway.mcp.sessions import Sessions
from gateway.mcp.sse import _EventSend

REQUEST = JSONRPCRequest(jsonrpc="2.0", id=7, method="tools/call", params={"name": "a"})
ANSWER = JSONRPCResponse(jsonrpc="2.0", id=7, result={})


class Written:
    """The ASGI `send` of a server. `pending`: the requests in flight whenever something was written."""

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self.pending: list[int] = []

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        self.pending.append(len(self._in_flight))


def body(start: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": start + b"\r\ndata: {}\r\n\r\n", "more_body": True}


@pytest.fixture
def in_flight() -> InFlight:
    in_flight = InFlight(Sessions())
    assert in_flight.arrived(REQUEST) is None
    return in_flight


async def test_a_request_is_in_flight_until_its_answer_is_written(in_flight: InFlight):
    written = Written(in_flight)
    send = _EventSend(written, in_flight)
    with send.expected(ANSWER):
        pass
    await send(body(b": ping"))
    assert len(in_flight) == 1
    await send(body(b"event: message"))
    assert (written.pending, len(in_flight)) == ([1, 1], 0)


async def test_an_error_for_a_rejected_request_ends_no_other(in_flight: InFlight):
    send = _EventSend(Written(in_flight), in_flight)
    with send.expected(None):
        pass
    with send.expected(ANSWER):
        pass
    await send(body(b"event: message"))
    assert len(in_flight) == 1
    await send(body(b"event: message"))
    assert len(in_flight) == 0


async def test_a_message_that_was_not_handed_over_is_not_waited_for(in_flight: InFlight):
    send = _EventSend(Written(in_flight), in_flight)
    with pytest.raises(OSError, match="closed"), send.expected(None):
        raise OSError("closed")
    with send.expected(ANSWER):
        pass
    await send(body(b"event: message"))
    assert len(in_flight) == 0
