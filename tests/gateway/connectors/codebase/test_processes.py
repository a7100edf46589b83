"""Work in processes of its own: its results, its errors, and its end."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.processes import GRACE, MOST, AnswerProcesses, Crashed, OutOfTime

T = TypeVar("T")

SECONDS = 60.0  # enough to start a process on a busy machine


def process_id() -> int:
    return os.getpid()


def refused() -> None:
    raise InvalidArgument("No.", reason="invalid_query", parameter="query", value=7)


def crash() -> None:
    os.abort()


def on_interrupt() -> object:
    return signal.getsignal(signal.SIGINT)


def never_end(*_: object) -> None:
    while True:
        pass


@pytest.fixture(scope="module")
def processes() -> Iterator[AnswerProcesses]:
    processes = AnswerProcesses()
    try:
        yield processes
    finally:
        processes.stop()


def run(processes: AnswerProcesses, work: Callable[[], T], seconds: float = SECONDS) -> T:
    return asyncio.run(processes.run(time.monotonic() + seconds, work))


def test_work_runs_in_other_processes_that_stay(processes: AnswerProcesses):
    ids = {run(processes, process_id) for _ in range(MOST + 2)}
    assert os.getpid() not in ids
    assert len(ids) <= MOST


def test_an_interrupt_is_left_to_the_parent(processes: AnswerProcesses):
    assert run(processes, on_interrupt) is signal.SIG_IGN


def test_an_error_comes_as_it_was_raised(processes: AnswerProcesses):
    with pytest.raises(InvalidArgument) as raised:
        run(processes, refused)
    assert (raised.value.parameter, raised.value.value) == ("query", 7)


def test_a_crash_ends_one_call_alone(processes: AnswerProcesses):
    with pytest.raises(Crashed):
        run(processes, crash)
    assert run(processes, process_id) != os.getpid()


def test_work_that_does_not_stop_is_stopped(processes: AnswerProcesses):
    run(processes, process_id)
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        run(processes, never_end, 0.2)
    assert time.monotonic() - began >= 0.2 + GRACE
    assert run(processes, process_id) != os.getpid()


def test_a_cancelled_call_ends_its_work(processes: AnswerProcesses):
    async def cancelled() -> None:
        calls = [asyncio.create_task(processes.run(time.monotonic() + SECONDS, never_end)) for _ in range(MOST)]
        await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)

    run(processes, process_id)
    asyncio.run(cancelled())
    assert run(processes, process_id)  # all processes would be busy otherwise


def test_stopped_processes_start_again(processes: AnswerProcesses):
    first = run(processes, process_id)
    processes.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert run(processes, process_id) != first


def test_processes_that_end_without_work_are_replaced(processes: AnswerProcesses):
    os.kill(run(processes, process_id), signal.SIGKILL)
    pool, latest = processes._children.pool(), time.monotonic() + SECONDS
    while processes._children.pool() is pool:
        assert time.monotonic() < latest
    assert run(processes, process_id)
    for thread in pool._loops:
        thread.join(SECONDS)
        assert not thread.is_alive(), "a pool that has ended leaves a thread behind"


def test_a_process_that_lets_others_work_loads_neither_libgit2_nor_a_parser():
    """A web process is 25 MB smaller without them."""
    code = """
import sys
import django
django.setup()
import gateway.asgi, gateway.connectors.codebase.operations, gateway.connectors.codebase.tasks
print([name for name in ("pygit2", "tree_sitter", "snowballstemmer") if name in sys.modules])
"""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "gateway.settings"}
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == "[]\n"
