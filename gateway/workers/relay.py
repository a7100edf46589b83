"""Hands a request to another worker, as ASGI messages over that worker's Unix socket. It serves the request as its own:
with the client's address, the same limits, and cancelled when the client leaves."""

import asyncio
from contextlib import suppress
from typing import Any

from gateway.process import place
from gateway.workers import frames, peers

CONVERSATION = "request"
CARRIED = ("type", "asgi", "http_version", "server", "client", "scheme", "method", "root_path", "path", "raw_path")
ENDED = (503, [(b"retry-after", b"1"), (b"content-length", b"0")])  # the other worker was killed meanwhile


class WorkerGone(Exception):
    """The other worker cannot be reached. Nothing was read, and nothing sent."""


def serve_with(application: Any) -> None:
    """Registers what serves the requests that other workers hand over."""

    async def serve(carried: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def receive() -> dict[str, Any]:
            try:
                message: dict[str, Any] = await frames.read(reader)
            except (asyncio.IncompleteReadError, OSError):
                return {"type": "http.disconnect"}
            return message

        async def send(message: dict[str, Any]) -> None:
            writer.write(frames.packed(message))
            with suppress(OSError):  # the client has left, as `receive` says
                await writer.drain()

        await application(_unpacked(carried), receive, send)

    peers.converse_with(CONVERSATION, serve)


async def relay(worker: int, scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Raises WorkerGone, or ConnectionError if the other worker ends within its answer to a client that still waits."""
    try:
        reader, writer = await asyncio.open_unix_connection(place.socket_of(worker))
    except OSError:
        raise WorkerGone from None
    writer.write(frames.packed({CONVERSATION: _packed(scope)}))
    from_client = asyncio.create_task(_pass_on(receive, writer))
    try:
        await _answer(reader, send)
    except ConnectionError:
        if not from_client.done():  # otherwise the client has left, and nobody needs the end of the answer
            raise
    finally:
        from_client.cancel()
        writer.close()


async def _pass_on(receive: Any, writer: asyncio.StreamWriter) -> None:
    """Until the client leaves."""
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
            status, headers = ENDED
            message = {"type": "http.response.start", "status": status, "headers": headers}
            await send(message)
            message = {"type": "http.response.body", "body": b""}
        has_started = True
        has_ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        await send(message)


def _packed(scope: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: scope[name] for name in CARRIED if name in scope},
        "query_string": scope["query_string"],
        "headers": [list(each) for each in scope["headers"]],
    }


def _unpacked(carried: dict[str, Any]) -> dict[str, Any]:
    headers = [(name, value) for name, value in carried["headers"]]
    addresses = {name: tuple(carried[name]) for name in ("server", "client") if carried.get(name)}
    return {**carried, "headers": headers, **addresses}
