"""Loads on servers, in alternating blocks, so that a busy machine slows all of them alike."""

import itertools
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.processes import cpu_seconds
from benchmarks.table.clients import Way, Work, clients
from benchmarks.table.servers import OWN, BenchServer

WARM_CALLS = 160
CLIENTS = 16
NEXT_CURSOR = re.compile(rb'\\"nextCursor\\":\\"([^"\\]+)')
_numbers = itertools.count(1)


def new_list(**arguments: Any) -> Work:
    return lambda _: ("list_bookings", {**arguments, "guest": f"guest {next(_numbers)}"})


def new_record(**arguments: Any) -> Work:
    return lambda _: ("get_booking", {**arguments, "id": next(_numbers)})


def new_body(at: int) -> Work:
    return lambda _: (f"body_{at}", {"call": next(_numbers)})


def equal_list(_: bytes) -> tuple[str, dict[str, Any]]:
    return "list_bookings", {}


def hostaway_first_page(_: bytes) -> tuple[str, dict[str, Any]]:
    """Each call has another filter, so the server counts its rows and makes a new snapshot."""
    return f"{OWN}list_bookings", {"minTotalPrice": -next(_numbers)}


def hostaway_pages(answer: bytes) -> tuple[str, dict[str, Any]]:
    """The page after the last answer; after the last page, the first page with another filter."""
    cursor = NEXT_CURSOR.search(answer)
    return (f"{OWN}list_bookings", {"cursor": cursor[1].decode()}) if cursor else hostaway_first_page(answer)


@dataclass(frozen=True, slots=True)
class Load:
    """`clients` make calls at the same time. `weight` multiplies the calls of a block: cheap calls need a block of more
    calls, or the server's background work would be most of the figure."""

    server: BenchServer
    way: Way
    work: Work
    clients: int = CLIENTS
    weight: int = 1


@dataclass(slots=True)
class LoadBlocks:
    """The figures of each block. `cpu`: milliseconds per call. `rates`: calls per second. `seconds`: of each call."""

    cpu: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    seconds: list[list[float]] = field(default_factory=list)

    def percentiles(self, percent: int) -> tuple[float, ...]:
        """In milliseconds, of each block."""
        return tuple(statistics.quantiles(each, n=100)[percent - 1] * 1000 for each in self.seconds)


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: blocks, and calls of all clients together in a block. `warm`: calls before all blocks."""

    blocks: int
    calls: int
    warm: int = WARM_CALLS

    async def measure(self, loads: Mapping[str, Load]) -> dict[str, LoadBlocks]:
        """All connections of a load are closed before those of the next load are opened. Every other round goes through
        the loads in reverse, because the first block of a round costs up to 5 % more."""
        found, order = {name: LoadBlocks() for name in loads}, list(loads.items())
        for load in loads.values():
            await self._block(load, self.warm, LoadBlocks())
        for _ in range(self.blocks):
            for name, load in order:
                await self._block(load, self.calls, found[name])
            order.reverse()
        return found

    async def _block(self, load: Load, calls: int, blocks: LoadBlocks) -> None:
        async with clients(load.server, load.way, load.clients) as opened:
            seconds: list[float] = []
            before = cpu_seconds(load.server.pid)
            wall = await opened.repeat(each_of(calls * load.weight, load.clients), load.work, seconds)
            blocks.cpu.append((cpu_seconds(load.server.pid) - before) / len(seconds) * 1000)
            blocks.rates.append(len(seconds) / wall)
            blocks.seconds.append(seconds)


def each_of(calls: int, clients: int) -> int:
    """How many calls each client makes."""
    return max(1, calls // clients)
