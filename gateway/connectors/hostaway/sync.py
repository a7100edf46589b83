"""Keeps the store a copy of the account: everything once a day, and every few minutes what has changed since.

One sync at a time, of all workers, holds a lease; each page is stored together with where to go on. Upstream's rates
are kept by the way of a call, which waits: pages are asked for one after the other.
"""

import asyncio
import time
from collections.abc import Callable
from enum import StrEnum

from gateway.connectors.hostaway import leases, sync_states
from gateway.connectors.hostaway.client import Client
from gateway.connectors.hostaway.leases import Held, LeaseLost
from gateway.connectors.hostaway.models import SyncState
from gateway.connectors.hostaway.sync_runs import Run, Stop
from gateway.connectors.hostaway.sync_states import COPIED, Interrupted

LEASE = "hostaway.sync"
OUT_OF_TIME = "out_of_time"
Progress = Callable[[str, int, int | None], None]


class Ending(StrEnum):
    DONE = "done"
    INCOMPLETE = "incomplete"  # done, but for records that are left out: SyncState names them
    BUSY = "busy"  # another worker is at it
    UNFINISHED = "unfinished"  # the next run goes on


def run(
    account_id: str,
    client: Client,
    *,
    full: bool = False,
    seconds: float | None = None,
    progress: Progress = lambda resource, rows, total: None,
) -> Ending:
    """Goes on with what is under way, and does what is due. Blocks, at most for about `seconds`. What upstream fails at
    is in SyncState."""
    with leases.held(LEASE) as lease:
        if lease is None:
            return Ending.BUSY
        sync_states.prepare(account_id, full=full)
        try:
            _run_all(client, lease, seconds, progress)
        except (Stop, LeaseLost, Interrupted):
            return Ending.UNFINISHED
        is_incomplete = any(SyncState.objects.values_list("left_out", flat=True))
    return Ending.INCOMPLETE if is_incomplete else Ending.DONE


def _run_all(client: Client, lease: Held, seconds: float | None, progress: Progress) -> None:
    ends = None if seconds is None else time.monotonic() + seconds

    def check_time() -> None:
        if ends is not None and time.monotonic() >= ends:
            raise Stop(OUT_OF_TIME)

    with asyncio.Runner() as loop:
        for copied in COPIED:
            own = Run(
                copied, client=client, wait=loop.run, lease=lease, check_time=check_time, progress=progress
            )  # fmt: skip
            own.go()
