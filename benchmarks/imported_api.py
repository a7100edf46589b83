"""Measures an imported API, called by many clients over Streamable HTTP: with Sluice, and with FastMCP if an
interpreter that has it is given. Each server runs in its own process; the same client calls them in turn.

python -m benchmarks.imported_api [--fastmcp PYTHON]
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.measurement import cpu_seconds
from context_protection.core.tokens import claude
from tests.e2e.serving import ROOT, serving

CLIENTS = 16
BLOCKS = 5
ANSWER_BYTES = 47_760
PROTOCOL = "2025-06-18"

FASTMCP = """
import json, sys
import httpx2 as httpx
from fastmcp import FastMCP
document = json.load(open(sys.argv[1]))
client = httpx.AsyncClient(base_url=document["servers"][0]["url"], limits=httpx.Limits(max_connections=100))
server = FastMCP.from_openapi(openapi_spec=document, client=client)
server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), stateless_http=True, json_response=True,
           show_banner=False, log_level="WARNING")
"""


# -- The upstream ---------------------------------------------------------------------------------------


def _answer() -> bytes:
    """Fifty bookings in ANSWER_BYTES bytes."""
    rows: list[dict[str, Any]] = [
        {
            "id": 43_000_000 + n,
            "listingId": 200_000 + n % 17,
            "status": ("confirmed", "new", "cancelled")[n % 3],
            "guestName": f"Guest Number {n}",
            "guestEmail": f"guest{n}@example.com",
            "arrivalDate": f"2026-{n % 12 + 1:02}-04",
            "departureDate": f"2026-{n % 12 + 1:02}-09",
            "nights": 5,
            "totalPrice": 100.5 + 13 * n,
            "currency": "EUR",
            "isPaid": n % 2 == 0,
            "address": {"street": f"{n} Mill Lane", "city": "Springfield", "zip": f"{10_000 + n}"},
            "fees": [{"name": name, "amount": n + at} for at, name in enumerate(("cleaning", "city tax", "linen"))],
            "customFields": {f"field{at}": None if at % 2 else f"value {at}" for at in range(8)},
            "note": "",
        }
        for n in range(50)
    ]
    missing = ANSWER_BYTES - len(json.dumps(rows))
    for n, row in enumerate(rows):
        row["note"] = ("left of the mill " * 40)[: missing // 50 + (n < missing % 50)]
    return json.dumps(rows).encode()


async def _serve_upstream() -> None:
    body = _answer()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    answer = head.encode() + body

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if not head.startswith(b"GET /hang"):
                    writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def _upstream() -> Iterator[str]:
    with _process([sys.executable, "-m", "benchmarks.imported_api", "--upstream"]) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"


def _document(url: str) -> dict[str, Any]:
    booking = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "status": {"type": "string"}, "totalPrice": {"type": "number"}},
    }
    content = {"application/json": {"schema": {"type": "array", "items": booking}}}
    guest = {"name": "guest", "in": "query", "schema": {"type": "string"}}
    found = {
        "operationId": "list_bookings",
        "parameters": [guest],
        "responses": {"200": {"description": "", "content": content}},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bookings", "version": "1"},
        "servers": [{"url": url}],
        "paths": {"/bookings": {"get": found}, "/hang": {"get": {**found, "operationId": "hang"}}},
    }


# -- Servers --------------------------------------------------------------------------------------------


@dataclass
class Contender:
    """A server and its measurements. `fresh`: each call has a new argument, so that no cached response fits.
    `hanging`: the number of calls in each block that wait for an upstream that never answers."""

    name: str
    address: str
    tool: str
    pid: int
    fresh: bool
    headers: dict[str, str] = field(default_factory=dict)
    hanging: int = 0
    seconds: list[float] = field(default_factory=list)  # duration of each call
    rates: list[float] = field(default_factory=list)  # calls per second, of each block
    cpu: list[float] = field(default_factory=list)  # milliseconds per call, of each block
    text: str = ""  # of one response: everything that a model may read


@contextmanager
def _process(arguments: Sequence[str], **environment: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        arguments, cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        process.wait(15)
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def _sluice(document: Path, keep_seconds: int) -> Iterator[tuple[str, int, dict[str, str]]]:
    with (
        tempfile.TemporaryDirectory(prefix="sluice-bench-") as directory,
        serving(Path(directory), ALLOW_PRIVATE_UPSTREAMS="true", LOG_LEVEL="WARNING") as server,
    ):
        done = server.manage("import_openapi", str(document), "--name", "bench", "--all")
        assert done.returncode == 0, done.stderr
        keep = f"a = UpstreamApi.objects.get(); a.keep_seconds = {keep_seconds}; a.save()"
        done = server.manage("shell", "-c", f"from gateway.upstreams.models import UpstreamApi; {keep}")
        assert done.returncode == 0, done.stderr
        yield f"{server.base}/mcp", server.pid, {"Authorization": f"Bearer {server.key}"}


@contextmanager
def _fastmcp(python: str, document: Path) -> Iterator[tuple[str, int]]:
    port = _free_port()
    with _process([python, "-c", FASTMCP, str(document), str(port)]) as process:
        yield f"http://127.0.0.1:{port}/mcp", process.pid


def _free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


# -- The client -----------------------------------------------------------------------------------------

_numbers = itertools.count(1)


def _request(server: Contender, tool: str, *, fresh: bool) -> bytes:
    arguments = {"guest": f"guest {next(_numbers)}"} if fresh else {}
    params = {"name": tool, "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "Host": urlsplit(server.address).netloc,
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": PROTOCOL,
        "Content-Length": str(len(body)),
        **server.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{lines}\r\n{body}".encode()


async def _call(server: Contender, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> bytes:
    reader, writer = streams
    writer.write(_request(server, server.tool, fresh=server.fresh))
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    assert head.startswith(b"http/1.1 200"), head
    if b"content-length:" in head:
        return await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    await reader.readexactly(2)
    return body


async def _block(server: Contender, calls: int) -> None:
    """Each of the CLIENTS makes `calls` calls, all clients at the same time."""
    parts = urlsplit(server.address)
    opened = [await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 20) for _ in range(CLIENTS)]

    async def client(streams: Any) -> None:
        for _ in range(calls):
            begun = time.perf_counter()
            body = await _call(server, streams)
            server.seconds.append(time.perf_counter() - begun)
        server.text = _text(body)

    waiting = [await asyncio.open_connection(parts.hostname, parts.port) for _ in range(server.hanging)]
    for _, writer in waiting:
        writer.write(_request(server, "bench_hang", fresh=True))
    before, begun = cpu_seconds(server.pid), time.perf_counter()
    await asyncio.gather(*(client(streams) for streams in opened))
    server.rates.append(CLIENTS * calls / (time.perf_counter() - begun))
    server.cpu.append((cpu_seconds(server.pid) - before) / (CLIENTS * calls) * 1000)
    for _, writer in (*opened, *waiting):
        writer.close()


def _text(body: bytes) -> str:
    """The parts of a response that a model may read: its texts, and structuredContent if present."""
    message = body.partition(b"data: ")[2] if body.startswith((b"event:", b"data:")) else body
    answer = json.loads(message)
    assert "result" in answer, answer
    result = answer["result"]
    assert not result.get("isError"), result
    structured = result.get("structuredContent")
    return "".join(each["text"] for each in result["content"]) + (json.dumps(structured) if structured else "")


async def _until_ready(server: Contender) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            await _block(server, 1)
        except (OSError, AssertionError, asyncio.IncompleteReadError):
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.2)
        else:
            server.seconds, server.rates, server.cpu = [], [], []
            return


async def _in_turn(servers: Sequence[Contender], calls: int) -> None:
    for server in servers:
        await _until_ready(server)
    for _ in range(BLOCKS):
        for server in servers:
            await _block(server, calls)


# -- The report -----------------------------------------------------------------------------------------


def measure(calls: int, fastmcp: str | None) -> None:
    """`calls`: per client and block. `fastmcp`: a Python interpreter that has FastMCP, or None."""
    with ExitStack() as stack:
        document = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "bookings.json"
        document.write_text(json.dumps(_document(stack.enter_context(_upstream()))))
        cached, uncached = (stack.enter_context(_sluice(document, seconds)) for seconds in (60, 0))
        servers = [
            Contender("Sluice, cached 60 s", cached[0], "bench_list_bookings", cached[1], False, cached[2]),
            Contender("Sluice, cached 0 s", uncached[0], "bench_list_bookings", uncached[1], False, uncached[2]),
            Contender("Sluice, another argument each", cached[0], "bench_list_bookings", cached[1], True, cached[2]),
            Contender("the same, beside 8 that hang", cached[0], "bench_list_bookings", cached[1], True, cached[2], 8),
        ]
        if fastmcp:
            address, pid = stack.enter_context(_fastmcp(fastmcp, document))
            servers += [
                Contender("FastMCP", address, "list_bookings", pid, False),
                Contender("FastMCP, another argument each", address, "list_bookings", pid, True),
            ]
        asyncio.run(_in_turn(servers, calls))
    for server in servers:
        _print(server)


def _print(server: Contender) -> None:
    median, tail = statistics.median(server.seconds), statistics.quantiles(server.seconds, n=20)[-1]
    print(
        f"  {server.name:32} {statistics.median(server.rates):7.0f} calls/s   p50 {median * 1000:6.1f} ms   "
        f"p95 {tail * 1000:6.1f} ms   {min(server.cpu):6.2f} ms CPU ({statistics.median(server.cpu):.2f})   "
        f"{claude.count(server.text):6,} tokens"
    )


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.imported_api", description=__doc__)
    parser.add_argument("--fastmcp", metavar="PYTHON", help="an interpreter that has FastMCP, to compare with")
    parser.add_argument("--calls", type=int, default=20, help="calls of each client in a block (default 20)")
    parser.add_argument("--upstream", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.upstream:
        asyncio.run(_serve_upstream())
    else:
        measure(options.calls, options.fastmcp)


if __name__ == "__main__":
    main()
