"""The proxy's own limits, on a real Caddy with docker/Caddyfile, the waiting times of which are made short."""

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.needs import CADDY

CADDYFILE = Path(__file__).resolve().parents[2] / "docker/Caddyfile"
SECONDS = 60  # for anything, on a machine that is busy
WAITS = 6.0  # longer than each of the proxy's limits is here
UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


@pytest.fixture(autouse=True, scope="module")
def caddy() -> None:
    CADDY.or_skip()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def answer(client: socket.socket) -> None:
    """A gateway: /slow answers late, /events and /ws say something early and late."""
    with client, contextlib.suppress(OSError), client.makefile("rb") as reading:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = reading.readline()
            if not line:
                return
            head += line
        if b"/events" in head:
            client.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n"
            )
        elif b"/ws" in head:
            client.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        elif b"/body" in head:
            reading.read(1000)
        if b"/quick" not in head:
            time.sleep(WAITS)
        if b"/slow" in head or b"/quick" in head:
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlate")
        else:
            client.sendall(b"late")


@dataclass(frozen=True)
class Proxy:
    port: int

    def sent(self, request: bytes, drip: bytes = b"") -> tuple[bytes, float]:
        """All that comes until the connection is closed, and after how many seconds that is."""
        begun = time.monotonic()
        came = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as client:
            client.sendall(request)
            client.settimeout(0.3 if drip else SECONDS)
            while time.monotonic() - begun < SECONDS:
                try:
                    piece = client.recv(65536)
                except TimeoutError:
                    with contextlib.suppress(OSError):
                        client.sendall(drip)
                    continue
                except ConnectionResetError:
                    break
                came += piece
                if not piece:
                    break
        return came, time.monotonic() - begun


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    gateway = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(gateway.accept()[0],), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    home, port = tmp_path_factory.mktemp("caddy"), free_port()
    text = CADDYFILE.read_text()
    for written, short in {
        "dynamic a web 8000": f"dynamic a localhost {gateway.getsockname()[1]}",
        "read_header 10s": "read_header 2s",
        "read_body 60s": "read_body 3s",
        "idle 2m": "idle 2s",
        "{\n\tservers": "{\n\tadmin off\n\tservers",
        "http://127.0.0.1:8081": f"http://127.0.0.1:{free_port()}",
    }.items():
        assert written in text
        text = text.replace(written, short)
    (home / "Caddyfile").write_text(text)
    process = subprocess.Popen(
        ["caddy", "run", "--config", str(home / "Caddyfile"), "--adapter", "caddyfile"],
        env={"HOME": str(home), "PATH": os.environ["PATH"], "SITE_ADDRESS": f"http://127.0.0.1:{port}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + SECONDS
        while True:
            with contextlib.suppress(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), timeout=SECONDS).close()
                break
            assert time.monotonic() < deadline
            assert process.poll() is None
        yield Proxy(port)
    finally:
        process.terminate()
        process.wait(SECONDS)
        gateway.close()


@pytest.mark.parametrize(
    ("request_head", "drip"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"X-A: b\r\n"),
        (b"POST /body HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n", b"x"),
    ],
)
def test_what_does_not_arrive_is_given_up(proxy: Proxy, request_head: bytes, drip: bytes):
    _, seconds = proxy.sent(request_head, drip)
    assert seconds < SECONDS / 2


def test_an_idle_connection_is_closed(proxy: Proxy):
    came, seconds = proxy.sent(b"GET /quick HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert came.endswith(b"late")
    assert seconds < SECONDS / 2


@pytest.mark.parametrize(
    "request_head",
    [
        b"GET /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        UPGRADE.replace(b"Host: x", b"Host: 127.0.0.1"),
    ],
)
def test_what_is_answered_late_is_not_cut(proxy: Proxy, request_head: bytes):
    came, seconds = proxy.sent(request_head)
    assert b"late" in came
    assert seconds >= WAITS - 1


def test_headers_have_a_limit(proxy: Proxy):
    came, _ = proxy.sent(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: " + b"x" * 200_000 + b"\r\n\r\n")
    assert came.startswith(b"HTTP/1.1 431") or came == b""
