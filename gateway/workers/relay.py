"""Hands a request to another worker, as ASGI messages over that worker's Unix socket.

The other worker serves the request like its own: it sees the client's address, applies the same limits, and cancels the
request when the client leaves.
"""

import asyncio
from contextlib import suppress
from typing import Any

from gateway.process import place
from gateway.workers import frames, peers

CONVERSATION = "request"
SCOPE_KEYS = ("type", "asgi", "http_version", "server", "client", "scheme", "method", "root_path", "path", "raw_path")


class WorkerGone(Exception):
    """The other worker cannot be reached. No part of the request was read, and no answer was sent."""


def serve_with(application: Any) -> None:
    """Has `application` serve the requests that other workers hand over."""

    async def serve(request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def receive() -> dict[str, Any]:
            try:
                message: dict[str, Any] = await frames.read(reader)
            except (asyncio.IncompleteReadError, OSError):
                return {"type": "http.disconnect"}
            return message

        async def send(message: dict[str, Any]) -> None:
            writer.write(frames.packed(message))
            with suppress(OSError):  # the client has disconnected, which `receive` reports
                await writer.drain()

        await application(_unpacked(request), receive, send)

    peers.converse_with(CONVERSATION, serve)


async def relay(worker: int, scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Has `worker` answer the request. Raises WorkerGone, or ConnectionError if that worker ends in the middle of its
    answer while the client still waits."""
    try:
        reader, writer = await asyncio.open_unix_connection(place.socket_of(worker))
    except OSError:
        raise WorkerGone from None
    writer.write(frames.packed({CONVERSATION: _packed(scope)}))
    from_client = asyncio.create_task(_pass_on(receive, writer))
    try:
        await _answer(reader, send)
    except ConnectionError:
        if not from_client.done():  # otherwise the client has disconnected, and needs no answer
            raise
    finally:
        from_client.cancel()
        writer.close()


async def _pass_on(receive: Any, writer: asyncio.StreamWriter) -> None:
    """Passes the client's messages on to the other worker, until the client disconnects."""
    message = {"type": ""}
    while message["type"] != "http.disconnect":
        message = await receive()
        writer.write(frames.packed(message))
        with suppress(OSError):
            await writer.drain()


async def _answer(reader: asyncio.StreamReader, send: Any) -> None:
    has_started = has_ended = False
    while not has_ended:
        try:
            message = await frames.read(reader)
        except (asyncio.IncompleteReadError, OSError):
            if has_started:
                raise ConnectionError("the worker of this session has ended") from None
            await _send_unavailable(send)
            return
        has_started = True
        has_ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)


async def _send_unavailable(send: Any) -> None:
    """Answers 503, because the other worker ended before it began its answer."""
    headers = [(b"retry-after", b"1"), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _packed(scope: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: scope[name] for name in SCOPE_KEYS if name in scope},
        "query_string": scope["query_string"],
        "headers": [list(each) for each in scope["headers"]],
    }


def _unpacked(packed: dict[str, Any]) -> dict[str, Any]:
    headers = [(name, value) for name, value in packed["headers"]]
    addresses = {name: tuple(packed[name]) for name in ("server", "client") if packed.get(name)}
    return {**packed, "headers": headers, **addresses}
