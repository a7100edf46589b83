"""What a socket counts as in flight, and which frames it answers by itself."""

import json
from typing import Any

import pytest

from gateway.catalog.caller import Caller
from gateway.mcp.in_flight import MAX_IN_FLIGHT
from gateway.mcp.peers import Peer
from gateway.mcp.sessions import Sessions
from gateway.mcp.socket_session import SocketSession


class Wire:
    """A socket whose other end has sent these frames and then gone, and what was sent to it."""

    def __init__(self, caller: Caller, *frames: Any) -> None:
        texts = [frame if isinstance(frame, str) else json.dumps(frame) for frame in frames]
        self._events = iter(
            [*({"type": "websocket.receive", "text": text} for text in texts), {"type": "websocket.disconnect"}]
        )
        self.sent: list[dict[str, Any]] = []
        self.socket = SocketSession(self._receive, self, Peer(caller, "websocket"), Sessions())

    async def _receive(self) -> dict[str, Any]:
        return next(self._events)

    async def send(self, text_data: str) -> None:
        self.sent.append(json.loads(text_data))

    async def close(self, code: int, reason: str) -> None:
        raise AssertionError(reason)

    async def read(self) -> int:
        """How many messages reach the SDK."""
        return len([message async for message in self.socket])


def call(number: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/list"}


def cancel(number: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}


@pytest.mark.parametrize(("called", "cancelled"), [(7, 7), ("a", "a"), (7, "7"), ("7", 7)])
async def test_a_cancelled_request_waits_no_more_in_whichever_form_its_id_is_named(
    caller: Caller, called: object, cancelled: object
):
    wire = Wire(caller, call(called), cancel(cancelled))
    assert await wire.read() == 2
    assert wire.socket.answering == 0


@pytest.mark.parametrize("nonsense", [True, 1.0, None, [], {}])
async def test_what_is_no_id_cancels_nothing(caller: Caller, nonsense: object):
    wire = Wire(caller, call(1), cancel(nonsense))
    await wire.read()
    assert wire.socket.answering == 1


@pytest.mark.parametrize(("first", "second"), [(7, 7), ("7", 7)])
async def test_an_id_that_is_in_flight_is_refused_and_the_first_goes_on_waiting(
    caller: Caller, first: object, second: object
):
    wire = Wire(caller, call(first), call(second))
    assert await wire.read() == 1
    assert [(each["id"], each["error"]["code"]) for each in wire.sent] == [(second, -32600)]
    assert wire.socket.answering == 1


async def test_more_than_so_many_at_once_are_refused(caller: Caller):
    wire = Wire(caller, *(call(number) for number in range(MAX_IN_FLIGHT + 1)))
    assert await wire.read() == MAX_IN_FLIGHT
    assert [(each["id"], each["error"]["code"]) for each in wire.sent] == [(MAX_IN_FLIGHT, -32004)]


@pytest.mark.parametrize("number", [None, 1.5, True, [1], {}])
async def test_a_request_whose_id_is_none_is_not_taken_for_a_notification(caller: Caller, number: object):
    wire = Wire(caller, call(number))
    assert await wire.read() == 0
    assert [(each["id"], each["error"]["code"]) for each in wire.sent] == [(None, -32600)]


async def test_a_notification_that_speaks_of_ids_is_one(caller: Caller):
    wire = Wire(caller, {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"id": 1}})
    assert await wire.read() == 1
    assert wire.sent == []
