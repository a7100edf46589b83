"""MCP over WebSocket with many clients: latency at the same rate, idle sockets, and connections that are cut. And MCP
over stdio: the time from the start to the first result.

python -m benchmarks.sockets
"""

import argparse
import asyncio
import random
import statistics
import sys
import time

from benchmarks.processes import resident_mb
from benchmarks.table.clients import HANDSHAKE, Way, connected, message, websocket
from benchmarks.table.servers import OWN, BenchServer, PreparedSluice
from benchmarks.table.stage import Stage

CALLS_A_SECOND = 60  # by all clients together
SECONDS = 5.0  # length of one round of load
ROUNDS = 3
LIST = f"{OWN}list_bookings"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sockets", type=int, default=2000, help="how many idle sockets to hold (default 2000)")
    parser.add_argument("--cycles", type=int, default=2000, help="how many connections to cut (default 2000)")
    options = parser.parse_args()
    with Stage() as stage:
        asyncio.run(_measure(stage.sluice(), options.sockets, options.cycles))
        print(f"  {'mcp over stdio, start to first result':36} {asyncio.run(_first_result(stage.prepared())):7.2f} s")


async def _measure(server: BenchServer, sockets: int, cycles: int) -> None:
    await _clients(server)
    await _idle(server, sockets)
    await _cycles(server, cycles)


async def _clients(server: BenchServer) -> None:
    """Compares the p95 with few and with many clients at the same total rate; the rounds alternate."""
    times: dict[int, list[float]] = {5: [], 50: []}
    for _ in range(ROUNDS):
        for clients, taken in times.items():
            await asyncio.gather(*(_client(server, number, clients, taken) for number in range(clients)))
    few, many = (statistics.quantiles(taken, n=20)[-1] for taken in times.values())
    words = f"{CALLS_A_SECOND} calls a second, p95"
    print(f"  {words:36} {few:7.2f} ms with 5 clients, {many:.2f} ms with 50: {many / few:.2f}")


async def _client(server: BenchServer, number: int, clients: int, taken: list[float]) -> None:
    pause, chance = clients / CALLS_A_SECOND, random.Random(number)  # noqa: S311
    async with connected(server, Way.WEBSOCKET) as call:
        await asyncio.sleep(chance.random() * pause)
        until = time.perf_counter() + SECONDS
        while (began := time.perf_counter()) < until:
            await call(LIST, {"limit": chance.randint(1, 100), "minTotalPrice": chance.random()})
            taken.append((time.perf_counter() - began) * 1000)
            await asyncio.sleep(max(0.0, began + pause - time.perf_counter()))


async def _idle(server: BenchServer, count: int) -> None:
    held = [await websocket(server) for _ in range(100)]  # the first sockets also pay for one-off allocations
    before = resident_mb(server.pid)
    for _ in range(count // 50):
        held += await asyncio.gather(*(websocket(server) for _ in range(50)))
    print(f"  {f'{count:,} idle sockets':36} {(resident_mb(server.pid) - before) * 1024 / count:7.1f} KB each")
    async with asyncio.TaskGroup() as closing:
        for socket in held:
            closing.create_task(socket.close())


async def _cycles(server: BenchServer, count: int) -> None:
    """Memory growth over many connections that send a call and are closed or aborted before its answer is read."""
    await _some_cycles(server, count // 10)
    before = resident_mb(server.pid)
    await _some_cycles(server, count)
    growth = resident_mb(server.pid) - before
    print(f"  {f'{count:,} connects and aborts':36} {before:7.1f} MB, then {growth:+.1f} MB")


async def _some_cycles(server: BenchServer, count: int) -> None:
    numbers = iter(range(count))

    async def connect_and_leave() -> None:
        for number in numbers:
            socket = await websocket(server)
            await socket.send(message(server, LIST, {}))
            if number % 3:
                socket.transport.abort()
            else:
                await socket.close()

    await asyncio.gather(*(connect_and_leave() for _ in range(20)))


async def _first_result(prepared: PreparedSluice) -> float:
    """Seconds from the start of `manage.py mcp` to the result of a list call, including the handshake."""
    began = time.perf_counter()
    environment = {**prepared.settings, "DATA_DIR": str(prepared.data), "SLUICE_API_KEY": prepared.key}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "manage.py", "mcp", cwd=prepared.root, env=environment, limit=1 << 24,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    for request in (HANDSHAKE, message(BenchServer("", 0), LIST, {})):
        process.stdin.write(request.encode() + b"\n")
        await process.stdout.readline()
    taken = time.perf_counter() - began
    process.stdin.close()
    await process.wait()
    return taken


if __name__ == "__main__":
    main()
