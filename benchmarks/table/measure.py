"""Measures the rows of the table, group by group."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

import httpx2

from benchmarks.processes import ROOT, resident_mb
from benchmarks.table.clients import Way, Work
from benchmarks.table.figures import TableFigure, rounded
from benchmarks.table.loads import (
    WARM_CALLS,
    Effort,
    Load,
    LoadBlocks,
    each_of,
    equal_list,
    hostaway_first_page,
    hostaway_pages,
    new_list,
    new_record,
)  # fmt: skip
from benchmarks.table.rows import BARE, FASTMCP, FASTMCP_P50, FEW_TOOLS, ONE_WORKER, PLAIN_VIEW, SDK
from benchmarks.table.servers import BenchServer
from benchmarks.table.stage import Stage

MANY_CLIENTS, MANY_TOOLS = 64, 600
USED_BLOCKS = 5
EQUAL_WEIGHT, YARDSTICK_WEIGHT = 8, 4
STORED_SECONDS = 30  # how long to wait until all calls are stored
Figures = dict[str, TableFigure]


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much a run measures. `many`: the effort with many clients. `used`: the calls before memory is measured; 0: it
    is not."""

    effort: Effort
    many: Effort
    starts: int
    used: int
    views: int


FULL = Amounts(Effort(blocks=5, calls=320), Effort(blocks=5, calls=1280), starts=5, used=20_000, views=100)
QUICK = Amounts(Effort(blocks=5, calls=128), Effort(blocks=3, calls=640), starts=3, used=0, views=40)


def _cpu(found: Mapping[str, LoadBlocks], name: str, beside: Mapping[str, str]) -> TableFigure:
    yardsticks = {title: rounded(found[other].cpu) for title, other in beside.items() if other in found}
    return TableFigure(rounded(found[name].cpu), yardsticks)


CALLS: dict[str, tuple[Way, Work, str]] = {  # the last item: the peers' call to compare with
    "list-websocket": (Way.WEBSOCKET, new_list(), "list"),
    "list-http-2025": (Way.HTTP_2025, new_list(), "list"),
    "list-http-2026": (Way.HTTP_2026, new_list(), "list"),
    "record-websocket": (Way.WEBSOCKET, new_record(), "record"),
    "record-http-2025": (Way.HTTP_2025, new_record(), "record"),
    "hostaway-first": (Way.WEBSOCKET, hostaway_first_page, "list"),
    "hostaway-pages": (Way.WEBSOCKET, hostaway_pages, "list"),
    "equal-websocket": (Way.WEBSOCKET, equal_list, "list"),
    "equal-http-2025": (Way.HTTP_2025, equal_list, "list"),
}


def calls(stage: Stage, amounts: Amounts, names: Collection[str] = CALLS.keys()) -> Figures:
    """The processor time of a call, over each transport, beside the peers'."""
    chosen = {name: CALLS[name] for name in names}
    loads = {name: _load(stage.sluice(), way, work) for name, (way, work, _) in chosen.items()}
    if stage.other:
        loads |= {f"{name} other": _load(stage.other_sluice(), way, work) for name, (way, work, _) in chosen.items()}
    peers = list(_peers(stage))
    for peer, server, way in peers:
        weight = 1 if peer == FASTMCP else YARDSTICK_WEIGHT
        loads[f"{peer} list"] = Load(server, way, new_list(), weight=weight)
        loads[f"{peer} record"] = Load(server, way, new_record(), weight=weight)
    found = asyncio.run(amounts.effort.measure(loads))
    figures = {}
    for name, (_, _, kind) in chosen.items():
        beside = {peer: f"{peer} {kind}" for peer, _, _ in peers} | {str(stage.other): f"{name} other"}
        figures[name] = _cpu(found, name, beside)
    return figures


def _load(server: BenchServer, way: Way, work: Work) -> Load:
    return Load(server, way, work, weight=EQUAL_WEIGHT if work is equal_list else 1)


def _peers(stage: Stage) -> Iterator[tuple[str, BenchServer, Way]]:
    if stage.has_fastmcp:
        yield FASTMCP, stage.fastmcp, Way.HTTP_2025
    yield SDK, stage.sdk, Way.HTTP_2025
    yield BARE, stage.bare, Way.PLAIN


def tail(stage: Stage, amounts: Amounts) -> Figures:
    """How long the slowest of a hundred calls take while 64 clients call."""
    loads = {"ours": Load(stage.sluice(), Way.HTTP_2025, new_list(), MANY_CLIENTS)}
    loads |= {name: Load(server, way, new_list(), MANY_CLIENTS) for name, server, way in _peers(stage)}
    found = asyncio.run(amounts.many.measure(loads))
    beside = {FASTMCP_P50: rounded(found[FASTMCP].percentiles(50))} if FASTMCP in found else {}
    beside |= {name: rounded(found[name].percentiles(99)) for name in loads if name != "ours"}
    return {"p99": TableFigure(rounded(found["ours"].percentiles(99)), beside)}


def memory(stage: Stage, amounts: Amounts) -> Figures:
    found = {}
    with stage.new_sluice() as embedded, stage.new_sluice("--web-only") as web:
        found["memory-idle"] = TableFigure(rounded([resident_mb(embedded.pid)]))
        found["memory-web"] = TableFigure(rounded([resident_mb(web.pid)]))
        if amounts.used:
            asyncio.run(_use(embedded, amounts.used))
            found["memory-used"] = TableFigure(rounded([resident_mb(embedded.pid)]))
    return found


async def _use(server: BenchServer, count: int) -> None:
    """Calls of all kinds, half of them over each transport."""
    works = (new_list(), new_record(), hostaway_pages, hostaway_first_page)
    loads = {f"{work} {way}": Load(server, way, work) for work in works for way in (Way.WEBSOCKET, Way.HTTP_2025)}
    await Effort(USED_BLOCKS, count // (len(loads) * USED_BLOCKS)).measure(loads)


def start(stage: Stage, amounts: Amounts) -> Figures:
    """The time from a program's start to its first good answer; Sluice and the raw SDK start in turn."""
    ours, theirs = [], []
    for _ in range(amounts.starts):
        with stage.new_sluice() as server:
            ours.append(server)
        with stage.new_sdk() as server:
            theirs.append(server)
    wall = TableFigure(
        rounded([each.ready_seconds for each in ours]), {SDK: rounded([each.ready_seconds for each in theirs])}
    )
    cpu = TableFigure(rounded([each.start_cpu for each in ours]), {SDK: rounded([each.start_cpu for each in theirs])})
    return {"start": wall, "start-cpu": cpu}


MANY_TOOLS_WAYS = {"tools-http-2025": Way.HTTP_2025, "tools-http-2026": Way.HTTP_2026}


def tools(stage: Stage, amounts: Amounts) -> Figures:
    """The same call of a server that offers many tools, and of one that offers few."""
    few, many = stage.sluice(), stage.sluice(tools=MANY_TOOLS)
    loads = {name: Load(many, way, new_record()) for name, way in MANY_TOOLS_WAYS.items()}
    loads |= {f"{name} few": Load(few, way, new_record()) for name, way in MANY_TOOLS_WAYS.items()}
    found = asyncio.run(amounts.effort.measure(loads))
    return {name: _cpu(found, name, {FEW_TOOLS: f"{name} few"}) for name in MANY_TOOLS_WAYS}


def rest(stage: Stage, amounts: Amounts) -> Figures:
    """Runs in a process of its own, which serves the plain view too."""
    del stage
    command = [sys.executable, "-m", "benchmarks.inside.overhead", str(amounts.effort.blocks), str(amounts.views)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr}")
    found = json.loads(done.stdout)
    return {
        name: TableFigure(rounded(found["where"][kind]), {PLAIN_VIEW: rounded(found["plain"][kind])})
        for name, kind in (("rest-where", "p95"), ("rest-where-cpu", "cpu"))
    }


def workers(stage: Stage, amounts: Amounts) -> Figures:
    """Two workers and their parent compared with one process, both called by 64 clients."""
    one, two = stage.sluice(), stage.sluice("--workers", "2")
    loads = {
        name: Load(server, Way.WEBSOCKET, new_record(), MANY_CLIENTS) for name, server in (("one", one), ("two", two))
    }
    before = _stored(two, 0)
    found = asyncio.run(amounts.many.measure(loads))
    made = MANY_CLIENTS * each_of(WARM_CALLS, MANY_CLIENTS) + sum(map(len, found["two"].seconds))
    after = _stored(two, sum(before.values()) + made)
    shares = [(after[each] - before.get(each, 0)) / made for each in after]
    wall = {name: rounded([1000 / rate for rate in blocks.rates]) for name, blocks in found.items()}
    return {
        "workers": _cpu(found, "two", {ONE_WORKER: "one"}),
        "workers-share": TableFigure(rounded([max(shares)])),
        "workers-wall": TableFigure(wall["two"], {ONE_WORKER: wall["one"]}),
    }


def _stored(server: BenchServer, least: int) -> dict[int, int]:
    """The stored calls of each worker, as soon as there are `least` in all."""
    deadline = time.monotonic() + STORED_SECONDS
    while True:
        response = httpx2.get(f"{server.address}/health", headers={"Authorization": f"Bearer {server.key}"}, timeout=60)
        found = {each["worker"]: each["stored"] for each in response.json()["workers"] if each["worker"]}
        if sum(found.values()) >= least:
            return found
        if time.monotonic() > deadline:
            raise RuntimeError(f"/health says that {found} calls are stored; {least} were made")
        time.sleep(0.2)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that are measured together."""

    measure: Callable[[Stage, Amounts], Figures]
    rows: Collection[str]


GROUPS = {
    "calls": RowGroup(calls, CALLS.keys()),
    "tools": RowGroup(tools, MANY_TOOLS_WAYS.keys()),
    "rest": RowGroup(rest, ("rest-where", "rest-where-cpu")),
    "memory": RowGroup(memory, ("memory-idle", "memory-web", "memory-used")),
    "start": RowGroup(start, ("start", "start-cpu")),
    "tail": RowGroup(tail, ("p99",)),
    "workers": RowGroup(workers, ("workers", "workers-share", "workers-wall")),
}
IN_GATE = ("calls", "tools", "rest", "memory", "start")
