"""How the cost of a call grows with rows, bytes, tools, clients and workers. The calls are over WebSocket, and no call
repeats an earlier one."""

import asyncio
from collections.abc import Callable, Iterator

from benchmarks.table.clients import Way
from benchmarks.table.loads import Effort, Load, LoadBlocks, new_list, new_record
from benchmarks.table.stage import Stage

EFFORT = Effort(blocks=3, calls=160)
ROW_BYTES, MANY_CLIENTS = 960, 64
Loads = dict[str, Load]


def _rows(stage: Stage) -> Loads:
    return {
        f"{rows:,} rows, {rows * ROW_BYTES // 1000:,} KB": _load(stage, new_list(rows=rows, bytes=rows * ROW_BYTES))
        for rows in (5, 50, 200, 1000)
    }


def _bytes(stage: Stage) -> Loads:
    sizes = (5_000, 50_000, 500_000, 5_000_000)
    return {f"a record of {size // 1000:,} KB": _load(stage, new_record(bytes=size)) for size in sizes}


def _load(stage: Stage, work: Callable[[bytes], tuple[str, dict[str, object]]]) -> Load:
    return Load(stage.sluice(), Way.WEBSOCKET, work)


def _tools(stage: Stage) -> Loads:
    return {
        f"{tools} imported tools": Load(stage.sluice(tools=tools), Way.WEBSOCKET, new_record())
        for tools in (2, 60, 600)
    }


def _clients(stage: Stage) -> Loads:
    return {
        f"clients: {count}": Load(stage.sluice(), Way.WEBSOCKET, new_record(), count) for count in (1, 4, 16, 64, 256)
    }


def _workers(stage: Stage) -> Loads:
    return {
        f"workers: {count} (64 clients)": Load(
            stage.sluice("--workers", str(count)), Way.WEBSOCKET, new_record(), MANY_CLIENTS
        )
        for count in (1, 2, 4)
    }


AXES: dict[str, Callable[[Stage], Loads]] = {
    "rows": _rows,
    "bytes": _bytes,
    "tools": _tools,
    "clients": _clients,
    "workers": _workers,
}


def markdown(stage: Stage) -> Iterator[str]:
    yield "| | CPU of a call | calls/s | p50 | p99 |"
    yield "|---|---|---|---|---|"
    for axis in AXES.values():
        for name, blocks in asyncio.run(EFFORT.measure(axis(stage))).items():
            yield _line(name, blocks)


def _line(name: str, blocks: LoadBlocks) -> str:
    typical, slow = (min(blocks.percentiles(percent)) for percent in (50, 99))
    return f"| {name} | {min(blocks.cpu):.2f} ms | {max(blocks.rates):,.0f} | {typical:,.0f} ms | {slow:,.0f} ms |"
