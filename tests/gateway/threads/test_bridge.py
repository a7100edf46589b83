"""Blocking code runs off the loop, on a bounded pool, and gives its database connection back."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.backends.sqlite3.base import DatabaseWrapper

from gateway.threads import bridge
from gateway.threads.bridge import POOL_SIZE, run_sync
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def on_the_pool(on_this_thread: None) -> Iterator[None]:
    token = bridge.on_callers_thread.set(False)
    yield
    bridge.on_callers_thread.reset(token)


async def test_it_runs_off_the_loop():
    assert await run_sync(threading.get_ident) != threading.get_ident()


async def test_arguments_and_results_and_errors_come_through():
    assert await run_sync(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await run_sync(divmod, 7, 0)


async def test_as_many_calls_as_the_pool_has_threads_run_at_once_and_a_slow_one_holds_up_nothing():
    together = threading.Barrier(POOL_SIZE, timeout=PATIENCE)
    turns = await asyncio.gather(*(run_sync(together.wait) for _ in range(POOL_SIZE)))
    assert sorted(turns) == list(range(POOL_SIZE))


async def test_more_calls_than_threads_wait_for_their_turn():
    threads = await asyncio.gather(*(run_sync(threading.get_ident) for _ in range(5 * POOL_SIZE)))
    assert len(threads) == 5 * POOL_SIZE
    assert len(set(threads)) <= POOL_SIZE


async def test_however_many_wait_they_are_looked_at_by_one_timer(monkeypatch: pytest.MonkeyPatch):
    """Else a rush would cost the loop a hundred thousand timers a second."""
    loop, timers = asyncio.get_running_loop(), []
    call_later = loop.call_later

    def counted(delay: float, *rest: Any, **options: Any) -> asyncio.TimerHandle:
        timers.append(delay)
        return call_later(delay, *rest, **options)

    monkeypatch.setattr(loop, "call_later", counted)
    gate = threading.Event()
    rush = [asyncio.create_task(run_sync(gate.wait, 20)) for _ in range(10 * POOL_SIZE)]
    await asyncio.sleep(0)
    assert len(timers) == 1
    gate.set()
    assert all(await asyncio.gather(*rush))


async def test_a_database_connection_is_given_back_after_each_call(tmp_path: Path):
    """Else every thread of the pool would hold one, and use it after the database has dropped it."""
    together = threading.Barrier(POOL_SIZE, timeout=PATIENCE)
    own_file = {"NAME": str(tmp_path / "own.sqlite3"), "CONN_MAX_AGE": 0, "OPTIONS": {}}
    settings = {**connections["default"].settings_dict, **own_file}

    def used() -> DatabaseWrapper:
        connections["default"] = own = DatabaseWrapper(settings, "default")  # of this thread alone
        with own.cursor() as cursor:
            cursor.execute("SELECT 1")
        assert own.connection is not None
        together.wait()
        return own

    def forgotten() -> None:
        together.wait()
        del connections["default"]

    try:
        for own in await asyncio.gather(*(run_sync(used) for _ in range(POOL_SIZE))):
            assert own.connection is None
    finally:
        await asyncio.gather(*(run_sync(forgotten) for _ in range(POOL_SIZE)))
