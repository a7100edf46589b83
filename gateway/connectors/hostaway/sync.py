"""Syncs the store with the account: reads everything at long intervals, and the latest changes every few minutes.

A lease allows one sync at a time across all workers. Each page is stored together with the position after it. Pages are
requested one after the other; each call waits as long as upstream's rate limits require.
"""

import asyncio
import time
from collections.abc import Callable
from enum import StrEnum

from gateway.connectors.hostaway import leases, sync_states
from gateway.connectors.hostaway.client import HostawayClient
from gateway.connectors.hostaway.leases import Held, LeaseLost
from gateway.connectors.hostaway.models import SyncState
from gateway.connectors.hostaway.sync_runs import Stop, SyncRun
from gateway.connectors.hostaway.sync_states import COPIED, Interrupted

LEASE = "hostaway.sync"
OUT_OF_TIME = "out_of_time"
Progress = Callable[[str, int, int | None], None]


class SyncResult(StrEnum):
    DONE = "done"
    INCOMPLETE = "incomplete"  # done, except for the records that SyncState lists as left out
    BUSY = "busy"  # another worker is running a sync
    UNFINISHED = "unfinished"  # the next run continues it


def run(
    account_id: str,
    client: HostawayClient,
    *,
    full: bool = False,
    without_pauses: bool = False,
    seconds: float | None = None,
    progress: Progress = lambda resource, rows, total: None,
) -> SyncResult:
    """Continues unfinished runs, and starts those that are due. Blocks for at most about `seconds`. Upstream's failures
    are recorded in SyncState. `without_pauses`: also tries what is paused after failures."""
    with leases.held(LEASE) as lease:
        if lease is None:
            return SyncResult.BUSY
        sync_states.prepare(account_id, full=full, without_pauses=without_pauses)
        try:
            _run_all(client, lease, seconds, progress)
        except (Stop, LeaseLost, Interrupted):
            return SyncResult.UNFINISHED
        is_incomplete = any(SyncState.objects.values_list("left_out", flat=True))
    return SyncResult.INCOMPLETE if is_incomplete else SyncResult.DONE


def _run_all(client: HostawayClient, lease: Held, seconds: float | None, progress: Progress) -> None:
    ends = None if seconds is None else time.monotonic() + seconds

    def check_time() -> None:
        if ends is not None and time.monotonic() >= ends:
            raise Stop(OUT_OF_TIME)

    with asyncio.Runner() as loop:
        for copied in COPIED:
            own = SyncRun(
                copied, client=client, wait=loop.run, lease=lease, check_time=check_time, progress=progress
            )  # fmt: skip
            own.go()
