"""How responses are written: what of them leaves in one write, and what does not wait for the rest."""

import asyncio
from typing import Any

from gateway.process.flow import Responses
from tests.gateway.process.wire import Written, listening
from tests.patience import PATIENCE

HEAD, BODY = b"HTTP/1.1 200 OK\r\n\r\n", b"body"


def begun() -> tuple[Responses, Written]:
    """A response of which the head has been written."""
    transport = Written()
    responses = Responses(transport, asyncio.get_running_loop(), transport.close)
    responses.expects_head = True
    responses.write(HEAD)
    return responses, transport


async def test_a_head_and_the_body_that_follows_leave_in_one_write():
    responses, transport = begun()
    responses.write(BODY)
    responses.write(BODY)
    await asyncio.sleep(0)
    assert transport.writes == [HEAD + BODY, BODY]


async def test_a_head_that_nothing_follows_leaves_in_the_next_turn():
    _, transport = begun()
    assert transport.writes == []
    await asyncio.sleep(0)
    assert transport.writes == [HEAD]


async def test_a_head_leaves_before_its_connection_is_closed():
    responses, transport = begun()
    responses.close()
    assert (transport.writes, transport.is_closed) == ([HEAD], True)


async def test_nothing_is_written_to_a_connection_that_is_closing():
    _, transport = begun()
    transport.close()
    await asyncio.sleep(0)
    assert transport.writes == []


async def test_the_head_of_a_stream_does_not_wait_for_its_first_event():
    let_go = asyncio.Event()

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await let_go.wait()
        await send({"type": "http.response.body", "body": BODY})

    async with listening(stream) as server, server.connected() as wire:
        for method in (b"GET", b"POST"):
            await wire.send(method + b" / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await asyncio.wait_for(wire.reader.readuntil(b"\r\n\r\n"), PATIENCE)).startswith(b"HTTP/1.1 200")
            let_go.set()
            await asyncio.wait_for(wire.reader.readuntil(b"0\r\n\r\n"), PATIENCE)
            let_go.clear()


async def test_an_answer_to_head_has_no_body_and_the_connection_goes_on():
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": BODY})

    async with listening(answer) as server, server.connected() as wire:
        await wire.send(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await asyncio.wait_for(wire.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        await wire.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (head.split(b"\r\n")[0], (await wire.response()).body) == (b"HTTP/1.1 200 OK", BODY)
