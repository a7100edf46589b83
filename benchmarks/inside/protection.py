"""The cost of protect() by payload size."""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

from benchmarks.inside.measurement import milliseconds
from context_protection.core.cursors import Sealer, Snapshots
from context_protection.core.payloads import AnswerRequest, Payload, Record
from context_protection.core.policy import Policy
from context_protection.core.protect import protect
from context_protection.core.rows import MemoryRows
from gateway.connectors.hostaway.bookings import BOOKINGS
from tests.properties.desk import DictSnapshots, MemoryText

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)  # approximate characters of compact JSON
ROW = 3_600
LINE = "2026-11-20T12:00:{:02}Z INFO sync.reservations reservation {} updated, {} guests\n"


def by_size(upstream: Sequence[dict[str, Any]], runs: int) -> None:
    """Times a first response of each kind, with snapshots in memory. Texts above a million characters are planned in
    the background."""
    print(f"  {'payload':>10} {'list':>9} {'record':>9} {'fields=all':>11} {'log':>9}   ms CPU")
    for size in SIZES:
        rows = list(islice(cycle(upstream), max(1, size // ROW)))
        record = Record({"id": 1, "name": "one", "parts": {f"part{n}": row for n, row in enumerate(rows)}})
        log = MemoryText("".join(LINE.format(n % 60, n, n % 9) for n in range(size // len(LINE))), "a.log")
        cases: list[tuple[Payload, str | None]] = [
            (MemoryRows(rows, BOOKINGS.shape), None),
            (record, None),
            (record, "all"),
            (log, None),
        ]
        few = max(3, min(runs, 10_000_000 // size))
        list_, preview, parts, text = (
            milliseconds(lambda p=payload, f=fields: _protect(p, f), few)[0]  # type: ignore[misc]
            for payload, fields in cases
        )
        print(f"  {size:10,} {list_:9.2f} {preview:9.2f} {parts:11.2f} {text:9.2f}")


def _protect(payload: Payload, fields: str | None) -> None:
    request = AnswerRequest(
        "call", "me", lambda name, more: {"tool": name, "arguments": dict(more)}, {"id": 1}, fields=fields
    )
    protect(payload, request, Policy(), Snapshots(DictSnapshots(), Sealer(["x" * 40])))
