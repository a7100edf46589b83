"""An upstream that fails in every way that is known, over real HTTP on a free port of this machine.

    with bad_upstream() as upstream:
        f"{upstream.url}/ok"                # the first segment of a path is a mode: one of MODES
        upstream.mode = "hang"              # what every other path does
        upstream.failures = 2               # `flap` fails so many times, and is fine then
        upstream.location = "http://…"      # where `redirect` leads to
        upstream.body = b"…"                # what `given` and `etag` answer with, under
        upstream.status, upstream.headers   # these
        upstream.requests                   # what came: method, path, query, headers (lower case), body
        upstream.connections                # how many connections were accepted
        upstream.wait_for(3)                # until three requests have come
        upstream.count_at("/ok/rows")       # how many came to one path; `wait_for` takes a path, too
        upstream.release()                  # what `hold` waits for

It runs in a thread of its own. `bad_upstream(tls=context)` speaks TLS.
"""

import asyncio
import gzip
import json
import socket
import ssl
import struct
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import formatdate
from time import time

ROWS = [{"id": n, "name": f"row {n}", "note": "words " * 150} for n in range(50)]
OK = json.dumps(ROWS).encode()
HTML = b"<!doctype html><html><title>Log in</title><body>Please log in: <b>secret-page</b></body></html>"


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


class BadUpstream:
    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.url, self.port, self.tls = "", 0, tls
        self.mode, self.failures, self.location = "ok", 0, ""
        self.status, self.headers, self.body = 200, {"Content-Type": "application/json"}, b"{}"
        self.requests: list[Received] = []
        self.connections = 0
        self._came = threading.Condition()
        self._loop = asyncio.new_event_loop()
        self._released = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def count(self) -> int:
        return len(self.requests)

    def count_at(self, path: str) -> int:
        """Without the probes of a server, which come to the base address at any time."""
        return sum(received.path == path for received in self.requests)

    def wait_for(self, count: int, seconds: float = 10, path: str | None = None) -> None:
        def came() -> int:
            return self.count if path is None else self.count_at(path)

        with self._came:
            assert self._came.wait_for(lambda: came() >= count, seconds), f"{came()} requests came"

    def release(self) -> None:
        self._loop.call_soon_threadsafe(self._released.set)

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def stop(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._answered(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            """Who asked has gone, or the test is over."""
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        path, _, query = target.partition("?")
        received = Received(method, path, query, headers, body)
        with self._came:
            self.requests.append(received)
            self._came.notify_all()
        mode = path.split("/")[1]
        await MODES[mode if mode in MODES else self.mode](self, received, writer)
        await writer.drain()
        return not writer.is_closing()


Mode = Callable[[BadUpstream, Received, asyncio.StreamWriter], Awaitable[None]]
MODES: dict[str, Mode] = {}


def mode(function: Mode) -> Mode:
    MODES[function.__name__] = function
    return function


def reply(writer: asyncio.StreamWriter, body: bytes = b"", status: int = 200, **headers: str) -> None:
    """Keyword arguments are headers: `Content_Type="text/html"`."""
    fields = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(f"HTTP/1.1 {status} Words\r\n{lines}\r\n".encode("latin-1") + body)


def answering(name: str, body: bytes, status: int = 200, **headers: str) -> None:
    async def answer(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
        reply(writer, body, status, **headers)

    MODES[name] = answer


answering("ok", OK)
answering("empty", b"", 204)
answering("login", HTML, Content_Type="text/html; charset=utf-8")
answering("bad_json", b'{"rows": [1, 2,')
answering("nan", b'{"a": NaN, "b": Infinity, "c": 1e999}')
answering("deep", b"[" * 100_000 + b"]" * 100_000)
answering("duplicates", b'{"id": 1, "id": 2}')
answering("surrogate", b'{"name": "\\ud800"}')
answering("utf16", json.dumps(ROWS[:2]).encode("utf-16"), Content_Type="application/json; charset=utf-16")
answering("bigint", b'{"id": ' + b"9" * 5000 + b"}")
answering("gzipped", gzip.compress(OK), Content_Encoding="gzip")
answering("deflated", zlib.compress(OK), Content_Encoding="deflate")
answering("raw_deflated", zlib.compress(OK)[2:-4], Content_Encoding="deflate")
answering("bomb", gzip.compress(bytes(200 * 2**20), 9), Content_Encoding="gzip")
answering("cut_gzip", gzip.compress(OK)[:-20], Content_Encoding="gzip")
answering("brotli", b"\x0b\x02\x80", Content_Encoding="br")
answering("announced", b"", Content_Length=str(10**9))
answering("metadata", b"", 302, Location="http://169.254.169.254/latest/meta-data/")
answering("busy", b'{"error": {"message": "slow down"}}', 429)
answering("busy_seconds", b"{}", 429, Retry_After="1")
answering("busy_2099", b"{}", 429, Retry_After="Thu, 01 Jan 2099 00:00:00 GMT")
answering("down", b"<html>Bad gateway</html>", 503, Content_Type="text/html")
answering("down_seconds", b"{}", 503, Retry_After="1")
answering("broken", b'{"message": "boom"}', 500)


@mode
async def busy_date(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    reply(writer, b"{}", 429, Retry_After=formatdate(time() + 2, usegmt=True))


@mode
async def given(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    reply(writer, upstream.body, upstream.status, **upstream.headers)


@mode
async def etag(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    tag = f'"{zlib.crc32(upstream.body)}"'
    unchanged = request.headers.get("if-none-match") == tag
    reply(writer, b"" if unchanged else upstream.body, 304 if unchanged else 200, ETag=tag)


@mode
async def echo(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    seen = {"method": request.method, "path": request.path, "query": request.query, "headers": request.headers}
    reply(writer, json.dumps({**seen, "body": request.body.decode("utf-8", "replace")}).encode())


@mode
async def hang(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


@mode
async def hold(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    await upstream._released.wait()
    reply(writer, OK)


@mode
async def slow_headers(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-Slow: 1\r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


@mode
async def drip(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.05)


@mode
async def huge(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        await writer.drain()


@mode
async def crumbs(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 50_000 + b"0\r\n\r\n")


@mode
async def truncated(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    reply(writer, b'{"rows": [', Content_Length="5000")
    await writer.drain()
    writer.close()


@mode
async def bad_chunk(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothex\r\n{}\r\n0\r\n\r\n")


@mode
async def not_http(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


@mode
async def header_flood(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n" + b"X-Flood: y\r\n" * 200_000 + b"Content-Length: 0\r\n\r\n")


@mode
async def loop(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    reply(writer, b"", 302, Location=f"/loop/{upstream.count}")


@mode
async def redirect(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    """/redirect/307 leads on with that status."""
    reply(writer, b"", int(request.path.rpartition("/")[2]), Location=upstream.location)


@mode
async def close(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


@mode
async def flap(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    upstream.failures -= 1
    reply(writer, *((b"{}", 503) if upstream.failures >= 0 else (OK, 200)))


@mode
async def reset(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@mode
async def second(upstream: BadUpstream, request: Received, writer: asyncio.StreamWriter) -> None:
    """Every connection answers once, stays open, and is broken when it is asked again: /second/close, /second/reset."""
    if hasattr(writer, "has_answered"):
        await MODES[request.path.rpartition("/")[2]](upstream, request, writer)
    else:
        writer.has_answered = True  # type: ignore[attr-defined]
        reply(writer, OK)


BUILT_IN = frozenset(MODES)  # without those that a test adds


@contextmanager
def bad_upstream(tls: ssl.SSLContext | None = None) -> Iterator[BadUpstream]:
    upstream = BadUpstream(tls)
    loop = upstream._loop
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(upstream.start(), loop).result(10)
    try:
        yield upstream
    finally:
        asyncio.run_coroutine_threadsafe(upstream.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
