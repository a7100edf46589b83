"""Bodies of your own in place of the table's: what a never-seen call that answers one costs, beside FastMCP.

Each is a JSON file: an array is a list, an object a record."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.table import upstream
from benchmarks.table.clients import Way
from benchmarks.table.loads import CLIENTS, Effort, Load, LoadBlocks, new_body
from benchmarks.table.stage import Stage

BLOCKS = 3
MOST_CALLS, BYTES = 320, 16_000_000  # of a block: so many calls, or calls for so many bytes
WAYS = (Way.WEBSOCKET, Way.HTTP_2025, Way.HTTP_2026)
THEIRS, OTHER = "FastMCP", "other"


def markdown(stage: Stage, files: Sequence[Path]) -> Iterator[str]:
    """The best block of each way in milliseconds; in brackets, how many times as much FastMCP takes."""
    beside = [str(stage.other)] if stage.other else []
    yield f"| {' | '.join(['Body', 'KB', THEIRS, *(way.value for way in WAYS), *beside])} |"
    yield "|" + "---|" * (3 + len(WAYS) + len(beside))
    for at, file in enumerate(files):
        size = len(upstream.of_file(str(file)))
        calls = max(CLIENTS, min(MOST_CALLS, BYTES // size))
        found = asyncio.run(Effort(BLOCKS, calls, warm=calls).measure(_loads(stage, at)))
        yield _line(f"{os.path.relpath(file).replace('|', '/')} | {size / 1000:,.0f}", found)


def _loads(stage: Stage, at: int) -> dict[str, Load]:
    work = new_body(at)
    loads = {way.value: Load(stage.sluice(), way, work) for way in WAYS}
    if stage.other:
        loads[OTHER] = Load(stage.other_sluice(), Way.WEBSOCKET, work)
    if stage.has_fastmcp:
        loads[THEIRS] = Load(stage.fastmcp, Way.HTTP_2025, work)
    return loads


def _line(title: str, found: dict[str, LoadBlocks]) -> str:
    best = {name: min(blocks.cpu) for name, blocks in found.items()}
    theirs = best.pop(THEIRS, None)
    cells = [f"{cpu:.2f} ms" + (f" ({theirs / cpu:.2f})" if theirs else "") for cpu in best.values()]
    return f"| {title} | {f'{theirs:.2f} ms' if theirs else '–'} | {' | '.join(cells)} |"
