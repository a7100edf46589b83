"""Measures what the parts of a call cost, in this process and on its own database. Compare the CPU times.

python -m benchmarks.inside                                       # SQLite
python -m benchmarks.inside --bookings 1000000                    # deep paging at scale
DATABASE_URL=postgres://… python -m benchmarks.inside             # Postgres (the account in that database is replaced)
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import orjson

from benchmarks.inside import environment, overhead, protection, redaction
from benchmarks.inside.measurement import in_turn, milliseconds, yardstick
from context_protection.core import tokens
from context_protection.stores.snapshots import snapshots
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.connectors.hostaway.models import Booking
from gateway.dispatch import audit, hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking
from telemetry import recorder
from tests.telemetry.examples import PLAIN

ME = Caller(id="key:0", name="bench")
PAGE = 50
REVENUE = {
    "groupBy": ["propertyId", {"field": "checkInDate", "bucket": "month"}],
    "metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}],
}


def ask(operation: str, **arguments: object) -> bytes:
    return serve_blocking(Call(operation, arguments, ME, Transport.REST, hints.mcp)).body


def calls(runs: int) -> None:
    first = orjson.loads(ask("list_bookings"))
    cursor, handle = first["nextCursor"], first["meta"]["resultHandle"]
    for words, operation, arguments in (
        ("list, first page", "list_bookings", {}),
        ("list, a later page", "list_bookings", {"cursor": cursor}),
        ("list, 200 rows as a table", "list_bookings", {"limit": 200, "format": "table"}),
        ("list, whole rows", "list_bookings", {"fields": "all"}),
        ("record, small", "get_booking", {"id": 43000013}),
        ("record, preview", "get_booking", {"id": 43000003}),
        ("record, whole", "get_booking", {"id": 43000003, "fields": "all"}),
        ("log, first chunk", "read_document", {"id": "sync-2026-11.log"}),
        ("where", "list_bookings", {"where": {"status": "confirmed", "nights": {"gte": 3}}}),
        ("aggregate, by listing, month", "list_bookings", {"aggregate": REVENUE}),
        ("SQL over the result", "result_query", {"handle": handle, "sql": "SELECT avg(nights) FROM rows"}),
        ("search in the result", "result_search", {"handle": handle, "text": "wheelchair"}),
    ):
        cpu, wall = milliseconds(lambda o=operation, a=arguments: ask(o, **a), runs)  # type: ignore[misc]
        size = len(ask(operation, **arguments))
        print(f"  {words:28} {cpu:7.2f} ms CPU {wall:7.2f} ms wall {size:8,} bytes")


def deep_paging(bookings: int, runs: int) -> None:
    """Compares the last page with the second; the calls alternate."""
    second = orjson.loads(ask("list_bookings"))["nextCursor"]
    snapshot_id, _ = snapshots.sealer.open(second)
    before_last = (bookings // PAGE - 1) * PAGE
    created, number = Booking.objects.order_by("-inserted_on", "-id").values_list("inserted_on", "id")[before_last - 1]
    by_key = "watermark" in (snapshots.store.get(snapshot_id) or sys.exit("the snapshot is gone")).plan["source"]
    position = [created.isoformat(), number] if by_key else before_last
    last = snapshots.sealer.seal(snapshot_id, [position, before_last])
    times = in_turn(
        {"near": lambda: ask("list_bookings", cursor=second), "far": lambda: ask("list_bookings", cursor=last)}, runs
    )
    turns = list(zip(times["near"].wall, times["far"].wall, strict=True))
    near, far = (statistics.median(side) for side in zip(*turns, strict=True))
    ratio = statistics.median(b / a for a, b in turns)
    print(f"  page 2: {near:.2f} ms   page {bookings // PAGE:,}: {far:.2f} ms   ratio {ratio:.2f}")


def rulers(runs: int) -> None:
    sample = "\n".join(Booking.objects.values_list("data", flat=True)[:40])[:100_000]
    for words, measure in (("estimate", tokens.claude.estimate), ("count", tokens.claude.count)):
        cpu, _ = milliseconds(lambda m=measure: m(sample), runs)  # type: ignore[misc]
        print(f"  Claude's tokens of 100 KB, {words:9} {cpu:7.2f} ms CPU")


def side_effects(runs: int) -> None:
    """The side effects of a call, on the thread that answers."""
    envelope = serve_blocking(Call("list_bookings", {}, ME, Transport.REST, hints.mcp))
    works: dict[str, Callable[[], object]] = {
        "a call recorded": lambda: recorder.record(PLAIN),
        "an answer considered for the audit": lambda: audit.consider("0" * 32, "list_bookings", envelope),
    }
    for words, work in works.items():
        taken = []
        for _ in range(runs):
            began = time.thread_time()
            for _ in range(100):
                work()
            taken.append((time.thread_time() - began) / 100)
            recorder.flush()
        print(f"  {words:36} {statistics.median(taken) * 1e6:7.2f} µs CPU")


def main() -> None:
    parser = argparse.ArgumentParser(
        "python -m benchmarks.inside", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--bookings", type=int, default=5000, help="how many bookings to page through (default 5000)")
    parser.add_argument("--runs", type=int, default=100, help="runs of each measurement (default 100)")
    options = parser.parse_args()

    environment.load_account(options.bookings)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, commit {commit.stdout.strip()}, a million additions: {yardstick():.0f} ms")
    print("Calls through the dispatcher (validation, policy, fetch, protection, telemetry):")
    calls(options.runs)
    print(f"Paging {options.bookings:,} bookings:")
    deep_paging(options.bookings, options.runs)
    upstream = [orjson.loads(data) for data in Booking.objects.values_list("data", flat=True)[:500]]
    print("protect() alone:")
    protection.by_size(upstream, options.runs)
    print("redact() alone:")
    redaction.by_kind(upstream, options.runs)
    print("A REST list of fifty bookings (SC-005):")
    overhead.compare(options.runs)
    print("Rulers:")
    rulers(options.runs)
    print("Beside the answer:")
    side_effects(options.runs)


main()
