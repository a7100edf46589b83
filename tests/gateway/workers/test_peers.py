"""What the processes of one parent ask each other, over their real sockets."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.process import place
from gateway.workers import frames, peers
from gateway.workers.relay import CONVERSATION, relay, serve_with
from gateway.workers.session_routing import SessionRouting
from tests.patience import PATIENCE

HUNG = 10
REQUEST = {"type": "http.request", "body": b"", "more_body": False}
START = {"type": "http.response.start", "status": 200, "headers": []}
PART = {"type": "http.response.body", "body": b"part", "more_body": True}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    with place.own_directory(tmp_path) as path:
        yield path


def scope(path: str = "/mcp", session: bytes = b"") -> dict[str, Any]:
    return {"type": "http", "path": path, "query_string": b"", "headers": [(b"mcp-session-id", session)]}


# -- Questions --------------------------------------------------------------------------------------


def listening(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def test_all_that_hang_are_waited_for_together(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(peers, "ANSWER_SECONDS", 1.0)
    hung = [listening(folder / f"{number}.sock") for number in range(10, 10 + HUNG)]
    answering = listening(folder / "90.sock")

    def answer() -> None:
        connection, _address = answering.accept()
        with connection:
            assert frames.read_from(connection) == {"question": "health"}
            connection.sendall(frames.packed("well"))

    thread = threading.Thread(target=answer)
    thread.start()
    began = time.monotonic()
    assert peers.answers_of_others("health") == ["well"]
    assert time.monotonic() - began < HUNG * peers.ANSWER_SECONDS * 0.75
    thread.join(PATIENCE)
    for each in (*hung, answering):
        each.close()


@pytest.mark.parametrize("document", [{"riddle": {}}, {"question": "riddle"}, {CONVERSATION: {}}], ids=str)
async def test_what_a_process_does_not_answer_is_refused_without_a_traceback(
    document: dict[str, Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delitem(peers._conversations, CONVERSATION, raising=False)  # the parent has none
    await peers.start()
    reader, writer = await asyncio.open_unix_connection(place.socket_of(place.PARENT))
    writer.write(frames.packed(document))
    assert await reader.read() == b""
    writer.close()
    await peers.stop()
    (record,) = caplog.records
    assert record.exc_info is None
    assert "unknown question" in record.message


# -- Requests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_scope", "owner"),
    [
        (scope("/mcp/sse/messages/12/"), 12),
        (scope("/mcp/sse/messages/0"), None),
        (scope("/mcp/sse/messages/٣"), None),
        (scope(session=b"12-abc"), 12),
        (scope(session=b"0-abc"), None),
        (scope(session=b"abc"), None),
    ],
)
def test_a_session_belongs_to_a_worker_and_never_to_the_parent(request_scope: dict[str, Any], owner: int | None):
    assert SessionRouting(None, is_stateful=True)._owner(request_scope) == owner


async def endless(scope: Any, receive: Any, send: Any) -> None:
    """A stream of events, which ends without a last message when its client leaves."""
    await send(START)
    await send(PART)
    while (await receive())["type"] != "http.disconnect":
        pass


async def killed(scope: Any, receive: Any, send: Any) -> None:
    """As by a worker that ends meanwhile."""
    await send(START)
    await send(PART)


async def relayed(application: Any, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What comes from worker 1 before the client leaves, which is after the first part."""
    monkeypatch.setitem(peers._conversations, CONVERSATION, None)
    serve_with(application)
    monkeypatch.setenv(place.NUMBER, "1")
    await peers.start()
    monkeypatch.setenv(place.NUMBER, "2")
    sent: list[dict[str, Any]] = []
    has_part = asyncio.Event()
    requests = iter([REQUEST])

    async def receive() -> dict[str, Any]:
        if (message := next(requests, None)) is not None:
            return message
        await has_part.wait()
        if application is killed:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if message == PART:
            has_part.set()

    try:
        async with asyncio.timeout(PATIENCE):
            await relay(1, scope(), receive, send)
    finally:
        await peers.stop()
    return sent


async def test_a_client_that_leaves_a_stream_is_no_failure(monkeypatch: pytest.MonkeyPatch):
    assert await relayed(endless, monkeypatch) == [START, PART]


async def test_a_worker_that_ends_within_an_answer_is_a_failure(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ConnectionError, match="the worker of this session has ended"):
        await relayed(killed, monkeypatch)
