"""Who waits hears that something still runs, and nothing more as soon as it does not."""

import asyncio
import gc
from itertools import pairwise
from typing import Any

import pytest

from gateway.dispatch.progress import listener
from gateway.mcp import progress
from gateway.mcp.progress import reported
from tests.patience import PATIENCE


class Ears:
    """A client that hears reports."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.figures: list[tuple[float, float | None]] = []
        self.something = asyncio.Event()

    async def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.heard.append(message)
        self.figures.append((done, total))
        self.something.set()


async def turns() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def test_what_is_over_is_not_reported_any_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    ears = Ears()
    async with reported(ears.report_progress, "list_bookings"):
        await asyncio.wait_for(ears.something.wait(), PATIENCE)
    heard = list(ears.heard)
    assert heard[0].startswith("list_bookings: ")
    await turns()
    assert ears.heard == heard


async def test_what_is_quick_is_not_reported_at_all(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    ears = Ears()
    async with reported(ears.report_progress, "list_bookings"):
        pass
    await turns()
    assert ears.heard == []


def upstream_says(*reports: tuple[float, float | None, str | None]) -> None:
    heard = listener.get()
    assert heard is not None
    for report in reports:
        heard(*report)


async def test_what_an_upstream_says_is_told_as_it_stands_and_before_the_answer():
    ears = Ears()
    async with reported(ears.report_progress, "files_copy"):
        upstream_says((0, 3, "one"), (1, 3, None), (3, 3, "done"))
    assert ears.figures == [(0, 3), (1, 3), (3, 3)]
    assert ears.heard == ["one", None, "done"]
    assert listener.get() is None


async def test_progress_rises_although_an_upstream_begins_anew():
    ears = Ears()
    async with reported(ears.report_progress, "files_copy"):
        upstream_says((5, 5, "first part"), (1, 4, "second part"), (1, None, None), (6, 8, "third part"))
    steps = [done for done, _ in ears.figures]
    assert all(one < other for one, other in pairwise(steps))
    assert ears.heard == ["first part", "second part (1 of 4)", "files_copy (1)", "third part"]
    assert [total for _, total in ears.figures] == [5, None, None, 8]


async def test_between_reports_of_an_upstream_that_is_slow_a_client_hears_that_it_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    ears = Ears()
    async with reported(ears.report_progress, "files_copy"):
        upstream_says((0.1, 1, "begun"))
        while not any("so far" in (words or "") for words in ears.heard):
            ears.something.clear()
            await asyncio.wait_for(ears.something.wait(), PATIENCE)
        upstream_says((0.2, 1, "goes on"))
    assert (0.1, 1) in ears.figures
    assert (0.2, 1) in ears.figures
    steps = [done for done, _ in ears.figures]
    assert all(one < other for one, other in pairwise(steps))


async def test_an_upstream_that_says_too_much_is_cut_short():
    ears = Ears()
    async with reported(ears.report_progress, "files_copy"):
        upstream_says(*((step, None, None) for step in range(10_000)))
    assert len(ears.figures) == progress.MAX_WAITING
    assert ears.figures[-1] == (9_999, None)


async def test_no_upstream_is_asked_where_the_client_did_not():
    async with reported(None, "files_copy"):
        assert listener.get() is None


async def test_what_an_upstream_says_after_the_answer_is_not_told():
    ears = Ears()
    async with reported(ears.report_progress, "files_copy"):
        late = listener.get()
    assert late is not None
    late(1, 2, "too late")
    await turns()
    assert ears.heard == []


class Busy(Ears):
    """A client that is still being written to: it takes a report when the loop has turned a few times."""

    async def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        await turns()
        await super().report_progress(done, total, message)


async def test_the_answer_waits_for_the_report_that_is_on_its_way():
    """It has left the queue, and the client has not taken it yet."""
    busy = Busy()
    async with reported(busy.report_progress, "files_copy"):
        upstream_says((3, 3, "done"))
        await asyncio.sleep(0)
    assert busy.heard == ["done"]


class Stuck(Ears):
    async def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.something.set()
        await asyncio.Event().wait()


async def test_a_client_that_takes_nothing_does_not_hold_up_its_answer(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "LAST_SECONDS", 0.01)
    stuck = Stuck()
    async with asyncio.timeout(20):
        async with reported(stuck.report_progress, "files_copy"):
            upstream_says((1, 2, "one"))
            await stuck.something.wait()
    assert stuck.heard == []


class Deaf(Ears):
    async def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.something.set()
        raise ConnectionError("the client has gone")


async def test_a_client_that_cannot_be_told_disturbs_neither_the_call_nor_the_loop():
    unheard: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: unheard.append(context))
    try:
        ears = Deaf()
        async with reported(ears.report_progress, "files_copy"):
            upstream_says((1, 2, "one"))
            await asyncio.wait_for(ears.something.wait(), PATIENCE)
            await turns()
            upstream_says((2, 2, "two"))
        await turns()
        gc.collect()
    finally:
        loop.set_exception_handler(before)
    assert unheard == []
