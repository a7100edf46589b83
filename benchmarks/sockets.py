"""MCP over WebSocket, with the server in a separate process: the cost of a call, and behaviour with many clients."""

import asyncio
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import websockets
from websockets.asyncio.client import ClientConnection
from websockets.typing import Subprotocol

from benchmarks.measurement import cpu_seconds
from tests.e2e.serving import ROOT, STOP_SECONDS, Serving, serving

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
CALLS_A_SECOND = 60  # by all clients together
SECONDS = 5.0  # length of one round of load
ROUNDS = 3
SendRequest = Callable[[str, dict[str, Any]], Awaitable[str]]


def measure(runs: int, sockets: int, cycles: int) -> None:
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as directory:
        with serving(Path(directory), LOG_LEVEL="WARNING") as server:
            asyncio.run(_measure(server, runs, sockets, cycles))
        print(f"  {'serve, start to ready':36} {_seconds_to_ready(server):7.2f} s")
        print(f"  {'mcp over stdio, start to first result':36} {asyncio.run(_seconds_to_first_result(server)):7.2f} s")


async def _measure(server: Serving, runs: int, sockets: int, cycles: int) -> None:
    await _costs(server, runs)
    await _clients(server)
    await _idle(server, sockets)
    await _cycles(server, cycles)


@asynccontextmanager
async def _connected(server: Serving) -> AsyncIterator[SendRequest]:
    socket = await _socket(server)
    numbers = itertools.count(1)

    async def ask(method: str, params: dict[str, Any]) -> str:
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}))
        return str(await socket.recv())

    try:
        yield ask
    finally:
        await socket.close()


async def _socket(server: Serving) -> ClientConnection:
    """An open connection on which the MCP handshake is done."""
    headers = {"Authorization": f"Bearer {server.key}"}
    socket = await websockets.connect(
        server.websocket, subprotocols=[Subprotocol("mcp")], additional_headers=headers, compression=None,
        max_size=None, open_timeout=60, ping_interval=None,
    )  # fmt: skip
    await socket.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE}))
    await socket.recv()
    await socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    return socket


def _call(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": name, "arguments": arguments}


async def _costs(server: Serving, runs: int) -> None:
    """The server's CPU time per call over all its threads, for one client and for eight: the best and the median of
    five blocks. With one client the process sleeps between calls, so the figure includes waking it up."""
    fresh = itertools.count(1)
    first = json.loads(json.loads(await _once(server, *_call("list_bookings")))["result"]["content"][0]["text"])
    works: dict[str, Callable[[], tuple[str, dict[str, Any]]]] = {
        "ping": lambda: ("ping", {}),
        "list, an equal call": lambda: _call("list_bookings"),
        "list, a later page": lambda: _call("list_bookings", cursor=first["nextCursor"]),
        "list, another filter each": lambda: _call("list_bookings", minTotalPrice=-next(fresh)),
        "record, an equal call": lambda: _call("get_booking", id=43000013),
        "tools/list": lambda: ("tools/list", {}),
    }
    async with AsyncExitStack() as opened:
        asks = [await opened.enter_async_context(_connected(server)) for _ in range(8)]
        for words, work in works.items():
            size = len(await asks[0](*work()))
            alone, together = await _blocks(server, asks[:1], work, runs), await _blocks(server, asks, work, runs)
            print(
                f"  {words:36} {min(together):7.2f} ms CPU ({statistics.median(together):.2f}), "
                f"alone {min(alone):.2f} ({statistics.median(alone):.2f}) {size:8,} bytes"
            )


async def _once(server: Serving, method: str, params: dict[str, Any]) -> str:
    async with _connected(server) as ask:
        return await ask(method, params)


async def _blocks(
    server: Serving, asks: Sequence[SendRequest], work: Callable[[], tuple[str, Any]], runs: int
) -> list[float]:
    """CPU milliseconds per call, for each block."""

    async def some(ask: SendRequest) -> None:
        for _ in range(runs):
            await ask(*work())

    blocks = []
    for _ in range(5):
        before = cpu_seconds(server.pid)
        await asyncio.gather(*(some(ask) for ask in asks))
        blocks.append((cpu_seconds(server.pid) - before) / (runs * len(asks)) * 1000)
    return blocks


async def _clients(server: Serving) -> None:
    """Compares the p95 with few and with many clients at the same total rate; the rounds alternate."""
    times: dict[int, list[float]] = {5: [], 50: []}
    for _ in range(ROUNDS):
        for clients, taken in times.items():
            await asyncio.gather(*(_client(server, number, clients, taken) for number in range(clients)))
    few, many = (statistics.quantiles(taken, n=20)[-1] for taken in times.values())
    words = f"{CALLS_A_SECOND} calls a second, p95"
    print(f"  {words:36} {few:7.2f} ms with 5 clients, {many:.2f} ms with 50: {many / few:.2f}")


async def _client(server: Serving, number: int, clients: int, taken: list[float]) -> None:
    pause, chance = clients / CALLS_A_SECOND, random.Random(number)  # noqa: S311
    async with _connected(server) as ask:
        await asyncio.sleep(chance.random() * pause)
        until = time.perf_counter() + SECONDS
        while (began := time.perf_counter()) < until:
            answer = await ask(*_call("list_bookings", limit=chance.randint(1, 100), minTotalPrice=chance.random()))
            assert '"isError":false' in answer, answer
            taken.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(max(0.0, began + pause - time.perf_counter()))


async def _idle(server: Serving, count: int) -> None:
    held = [await _socket(server) for _ in range(100)]  # the first sockets also pay for one-off allocations
    before = _resident_kb(server.pid)
    for _ in range(count // 50):
        held += await asyncio.gather(*(_socket(server) for _ in range(50)))
    print(f"  {f'{count:,} idle sockets':36} {(_resident_kb(server.pid) - before) / count:7.1f} KB each")
    async with asyncio.TaskGroup() as closing:
        for socket in held:
            closing.create_task(socket.close())


async def _cycles(server: Serving, count: int) -> None:
    """Memory growth over many connections that make a call and are then closed or aborted."""
    await _some_cycles(server, count // 10)
    before = _resident_kb(server.pid)
    await _some_cycles(server, count)
    growth = _resident_kb(server.pid) - before
    print(f"  {f'{count:,} connects and aborts':36} {before / 1024:7.1f} MB, then {growth / 1024:+.1f} MB")


async def _some_cycles(server: Serving, count: int) -> None:
    numbers = iter(range(count))

    async def connect_and_leave() -> None:
        for number in numbers:
            socket = await _socket(server)
            await socket.send(
                json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _call("list_bookings")[1]})
            )
            if number % 3:
                socket.transport.abort()
            else:
                await socket.close()

    await asyncio.gather(*(connect_and_leave() for _ in range(20)))


def _seconds_to_ready(server: Serving) -> float:
    """From the start of `manage.py serve` until /readyz responds; the sample account is already loaded."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--port", "0"],
        cwd=ROOT, env=server.environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        base = next(line for line in process.stdout if line.startswith("Sluice listens on ")).split()[3]
        assert httpx2.get(f"{base}/readyz", timeout=60).status_code == 200
        return time.perf_counter() - began
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
        process.stdout.close()


async def _seconds_to_first_result(server: Serving) -> float:
    """From the start of `manage.py mcp` through the handshake to the result of a list call."""
    began = time.perf_counter()
    environment = {**server.environment, "SLUICE_API_KEY": server.key}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "manage.py", "mcp", cwd=ROOT, env=environment, limit=1 << 24,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    method, params = _call("list_bookings")
    for number, (what, given) in enumerate([("initialize", INITIALIZE), (method, params)]):
        request = {"jsonrpc": "2.0", "id": number, "method": what, "params": given}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        await process.stdout.readline()
    taken = time.perf_counter() - began
    process.stdin.close()
    await process.wait()
    return taken


def _resident_kb(pid: int) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])
