"""A server under connections that do not finish, and under requests that are too large: others do not notice."""

import asyncio
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.hasty import BODY_SECONDS
from tests.e2e.serving import Serving, serving
from tests.gateway.process.wire import Wire
from tests.patience import PATIENCE

EACH = 20
HOST = b"Host: 127.0.0.1\r\n"
JSON = (
    HOST + b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    b"Content-Length: 5000\r\n\r\n{"
)
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
MCP = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
JUNK_BYTES = 300 * 2**20
MEGABYTES_MORE = 20


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sluice"), ("-m", "tests.e2e.hasty")) as running:
        yield running


def unfinished(key: str) -> dict[str, tuple[bytes, bytes]]:
    """What a connection begins with, and what drips after that."""
    keyed = b"Authorization: Bearer " + key.encode() + b"\r\n" + JSON
    rest = b"POST /api/v1/tools/list_bookings HTTP/1.1\r\n"
    form = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 5000\r\n\r\nu"
    return {
        "silent": (b"", b""),
        "headers": (b"GET /api/v1/bookings HTTP/1.1\r\n" + HOST + b"X-Drip: ", b"a"),
        "MCP": (b"POST /mcp HTTP/1.1\r\n" + JSON, b" "),
        "MCP with a key": (b"POST /mcp HTTP/1.1\r\n" + keyed, b" "),
        "REST": (rest + JSON, b" "),
        "REST with a key": (rest + keyed, b" "),
        "login": (b"POST /admin/login/ HTTP/1.1\r\n" + HOST + form, b"s"),
        "handshake": (b"GET /mcp/ws HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\nSec-WebSocket-Key: A", b""),
    }


async def held(port: int, begin: bytes, drip: bytes) -> bytes:
    """What the server says on a connection that drips, until it closes. A plain socket: a stream would drop what has
    arrived once a write fails, where this process gets no processor for longer than the server lingers."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", port))
        await loop.sock_sendall(client, begin)
        said = asyncio.create_task(until_closed(client))
        while not said.done():
            await asyncio.wait({said}, timeout=0.1)
            with suppress(ConnectionError):
                await loop.sock_sendall(client, drip)
        return (await said)[:12]


async def until_closed(client: socket.socket) -> bytes:
    loop, said = asyncio.get_running_loop(), b""
    with suppress(ConnectionError):
        while piece := await loop.sock_recv(client, 4096):
            said += piece
    return said


def test_unfinished_requests_are_ended_and_hold_up_nobody(sluice: Serving):
    port = int(sluice.base.rpartition(":")[2])

    async def attack() -> dict[str, set[bytes]]:
        kinds = unfinished(sluice.key)
        names = [name for name in kinds for _ in range(EACH)]
        said = await asyncio.gather(*(held(port, *kinds[name]) for name in names))
        return {kind: {each for name, each in zip(names, said, strict=True) if name == kind} for kind in kinds}

    with Others(sluice) as others:
        started = time.monotonic()
        said = asyncio.run(attack())
        lasted = time.monotonic() - started
    assert said == {
        "silent": {b""},
        "headers": {b"HTTP/1.1 408"},
        "MCP": {b"HTTP/1.1 401"},
        "MCP with a key": {b"HTTP/1.1 408"},
        "REST": {b"HTTP/1.1 401"},
        "REST with a key": {b"HTTP/1.1 408"},
        "login": {b"HTTP/1.1 408"},
        "handshake": {b"HTTP/1.1 408"},
    }
    assert lasted < BODY_SECONDS + 10
    assert others.answered >= 3
    assert others.slowest < BODY_SECONDS, "no request waited for those that were unfinished"


class Others:
    """A client that goes on meanwhile, over REST, MCP and the probe."""

    def __init__(self, sluice: Serving) -> None:
        headers = {"Authorization": f"Bearer {sluice.key}"}
        self._client = httpx2.Client(base_url=sluice.base, headers=headers, timeout=PATIENCE, trust_env=False)
        self._stop, self._once = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.answered, self.slowest = 0, 0.0

    def _run(self) -> None:
        while not self._stop.is_set():
            for ask in (self._rest, self._mcp, self._probe):
                started = time.monotonic()
                ask().raise_for_status()
                self.slowest = max(self.slowest, time.monotonic() - started)
                self.answered += 1
            self._once.set()

    def _rest(self) -> Any:
        return self._client.get("/api/v1/bookings", params={"limit": 5})

    def _mcp(self) -> Any:
        return self._client.post("/mcp", json=PING, headers=MCP)

    def _probe(self) -> Any:
        return self._client.get("/healthz")

    def __enter__(self) -> "Others":
        self._rest()
        self._thread.start()
        assert self._once.wait(PATIENCE)
        self.answered, self.slowest = 0, 0.0
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._client.close()


FIELDS = b"X-Field: " + b"b" * 50 + b"\r\n"
CHUNKED = b"POST /admin/login/ HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("begin", "piece", "status"),
    [
        (b"GET / HTTP/1.1\r\n" + HOST, FIELDS * 1000, 431),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X-Long: ", b"a" * 60_000, 431),
        (b"GET /", b"a" * 60_000, 431),
        (b"POST /admin/login/ HTTP/1.1\r\n" + HOST + b"Content-Length: 314572800\r\n\r\n", b"a" * 60_000, 413),
        (CHUNKED, b"ea60\r\n" + b"a" * 60_000 + b"\r\n", 413),
        (CHUNKED + b"5;", b"a" * 60_000, 431),
        (CHUNKED + b"0\r\n", FIELDS * 1000, 431),
    ],
    ids=["headers", "one line", "address", "body", "chunks", "chunk extension", "trailers"],
)
def test_junk_is_refused_while_it_arrives_and_takes_no_memory(sluice: Serving, begin: bytes, piece: bytes, status: int):
    port = int(sluice.base.rpartition(":")[2])
    before = peak_megabytes(sluice.pid)
    said, sent = asyncio.run(flooded(port, begin, piece))
    assert said.startswith(f"HTTP/1.1 {status}".encode())
    document = json.loads(said.partition(b"\r\n\r\n")[2])
    assert set(document["error"]) == {"code", "reason", "message", "data"}
    assert sent < JUNK_BYTES, "the server has stopped reading"
    assert peak_megabytes(sluice.pid) - before < MEGABYTES_MORE


async def flooded(port: int, begin: bytes, piece: bytes) -> tuple[bytes, int]:
    """What the server says to so much junk, and how much it has let in."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = asyncio.create_task(Wire(reader, writer).rest())
    writer.write(begin)
    sent = 0
    while not said.done() and sent < JUNK_BYTES:
        writer.write(piece)
        sent += len(piece)
        flushed = asyncio.create_task(writer.drain())
        await asyncio.wait({flushed, said}, return_when=asyncio.FIRST_COMPLETED)
        flushed.cancel()
    answer = await said
    writer.transport.abort()
    return answer, sent


def peak_megabytes(pid: int) -> float:
    """The most that the process has ever held."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


# -- Imports, which staff may send ------------------------------------------------------------------

IMPORT = "/admin/openapi/importedapi/import/"


def document(size: int) -> dict[str, tuple[str, bytes]]:
    return {"file": ("large.json", b'{"openapi": "3.1.0"' + b" " * size)}


def test_staff_may_import_what_nobody_else_may_send(sluice: Serving):
    with httpx2.Client(base_url=sluice.base, trust_env=False, timeout=60) as client:
        refused = client.post(IMPORT, files=document(6 * 2**20))
        page = client.get("/admin/login/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token is not None
        form = {"username": "admin", "password": sluice.password, "csrfmiddlewaretoken": token[1]}
        client.post("/admin/login/", data=form, headers={"referer": sluice.base})
        form = {"name": "large", "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        taken = client.post(IMPORT, data=form, files=document(6 * 2**20), headers={"referer": sluice.base})
        elsewhere = client.post("/admin/", data=form, files=document(6 * 2**20))
    assert (refused.status_code, refused.json()["error"]["reason"]) == (413, "body_too_large")
    assert taken.status_code == 200
    assert "The document is not valid JSON" in taken.text
    assert (elsewhere.status_code, elsewhere.json()["error"]["reason"]) == (413, "body_too_large")
