"""The thread that worked last works next, and no more threads than allowed work."""

import threading
import time
from concurrent.futures import Future, wait
from functools import partial

import pytest

from gateway.threads.pool import LOOK_SECONDS, WarmThreads, _Worker
from tests.patience import PATIENCE

LONG_SECONDS = 0.1


def test_one_thing_after_another_is_done_by_one_thread():
    threads = WarmThreads(4, 4, "tests")
    assert len({threads.submit(threading.get_ident).result(PATIENCE) for _ in range(50)}) == 1


def test_after_a_rush_the_last_to_finish_is_the_next_to_work():
    threads = WarmThreads(4, 4, "tests")
    gates = [threading.Event() for _ in range(4)]

    def work(gate: threading.Event) -> int:
        gate.wait(PATIENCE)
        return threading.get_ident()

    rush = [threads.submit(work, gate) for gate in gates]
    idents = []
    for gate, future in zip(gates, rush, strict=True):
        gate.set()
        idents.append(future.result(PATIENCE))
    assert len(set(idents)) == 4
    assert {threads.submit(threading.get_ident).result(PATIENCE) for _ in range(10)} <= {idents[-1], idents[-2]}


def test_what_comes_when_all_are_busy_waits_and_is_done_in_order():
    threads, gate, done = WarmThreads(2, 2, "tests"), threading.Event(), []
    busy = [threads.submit(gate.wait, PATIENCE) for _ in range(2)]
    later = [threads.submit(done.append, number) for number in range(20)]
    assert not any(future.done() for future in later)
    gate.set()
    wait([*busy, *later], PATIENCE)
    assert sorted(done) == list(range(20))


def test_errors_are_their_callers_and_the_thread_goes_on():
    threads = WarmThreads(1, 1, "tests")
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 / 0).result(PATIENCE)
    assert threads.submit(lambda: 7).result(PATIENCE) == 7


def test_what_was_cancelled_while_it_waited_is_not_done():
    threads, gate, done = WarmThreads(1, 1, "tests"), threading.Event(), threading.Event()
    busy = threads.submit(gate.wait, PATIENCE)
    late = threads.submit(done.set)
    assert late.cancel()
    gate.set()
    assert busy.result(PATIENCE)
    threads.submit(lambda: None).result(PATIENCE)
    assert not done.is_set()


def test_few_work_at_once_and_more_while_these_wait_for_something():
    threads, gate = WarmThreads(4, 1, "tests"), threading.Event()
    begun = [threading.Event() for _ in range(6)]

    def wait_at(number: int) -> int:
        begun[number].set()
        gate.wait(PATIENCE)
        return number

    futures = [threads.submit(wait_at, number) for number in range(6)]
    for number in range(1, 4):
        assert begun[number - 1].wait(PATIENCE)
        assert threads.has_queued_work
        while not begun[number].is_set():  # it is blocked now
            threads.reconsider()
    end = time.monotonic() + 2 * LOOK_SECONDS
    while time.monotonic() < end:  # all four are blocked
        threads.reconsider()
    assert not begun[4].is_set()
    gate.set()
    assert [future.result(PATIENCE) for future in futures] == list(range(6))
    assert not threads.has_queued_work


def test_work_that_computes_keeps_other_work_waiting_until_it_is_long():
    threads, enough = WarmThreads(2, 1, "tests"), threading.Event()

    def compute() -> None:
        while not enough.is_set():
            sum(range(1000))

    computing = threads.submit(compute)
    (worker,) = threads._busy

    def is_running(seconds: float) -> bool:
        """Whether it counts as running after this time, if it has computed meanwhile."""
        used, deadline = worker._cpu_seconds(), time.monotonic() + PATIENCE
        while worker._cpu_seconds() < used + 1e-4:
            assert time.monotonic() < deadline
        return worker.is_running(worker.started_at + seconds, LONG_SECONDS)

    times = [2 * number * LOOK_SECONDS for number in range(1, 5)]
    assert [is_running(each) for each in [*times, LONG_SECONDS + LOOK_SECONDS]] == [True] * 4 + [False]
    enough.set()
    computing.result(PATIENCE)


def test_work_that_waits_is_blocked_until_it_computes_again():
    threads, gate, enough = WarmThreads(2, 1, "tests"), threading.Event(), threading.Event()

    def wait_and_compute() -> None:
        gate.wait(PATIENCE)
        while not enough.is_set():
            sum(range(1000))

    waiting = threads.submit(wait_and_compute)
    (worker,) = threads._busy
    now, deadline = worker.started_at, time.monotonic() + PATIENCE
    for is_blocked in (True, False):
        while worker.is_blocked != is_blocked:
            assert time.monotonic() < deadline
            worker.is_running(now := now + 2 * LOOK_SECONDS, LONG_SECONDS)
        gate.set()
    enough.set()
    waiting.result(PATIENCE)


def test_without_more_threads_those_that_there_are_do_the_work(monkeypatch: pytest.MonkeyPatch):
    threads, gate, waits = WarmThreads(2, 2, "tests"), threading.Event(), threading.Event()

    def wait() -> None:
        waits.set()
        gate.wait(PATIENCE)

    first = threads.submit(wait)
    assert waits.wait(PATIENCE)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more_threads)
        later = [threads.submit(lambda: 7) for _ in range(3)]
        gate.set()
        assert [each.result(PATIENCE) for each in later] == [7, 7, 7]
    first.result(PATIENCE)


def test_work_fails_if_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch):
    threads = WarmThreads(2, 2, "tests")
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more_threads)
        with pytest.raises(RuntimeError, match="can't start"):
            threads.submit(lambda: 7).result(PATIENCE)
    assert threads.submit(lambda: 7).result(PATIENCE) == 7


def no_more_threads(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_thread_that_is_gone_is_blocked():
    worker, gate = _Worker(), threading.Event()
    thread = threading.Thread(target=gate.wait, args=(PATIENCE,))
    thread.start()
    worker.read_clock_of(thread)
    gate.set()
    thread.join(PATIENCE)
    worker.start((Future(), partial(int)), 0.0)
    assert not worker.is_running(2 * LOOK_SECONDS, LONG_SECONDS)
