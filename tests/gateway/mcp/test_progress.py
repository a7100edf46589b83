"""Who waits hears that something still runs, and nothing more as soon as it does not."""

import asyncio
from typing import Any, cast

import pytest

from gateway.mcp import progress
from gateway.mcp.progress import reported


class Ears:
    """What the SDK's context of a request offers to those who report."""

    def __init__(self) -> None:
        self.session = self
        self.heard: list[str] = []
        self.something = asyncio.Event()

    async def report_progress(self, done: float, total: float | None, message: str) -> None:
        self.heard.append(message)
        self.something.set()


async def turns() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def test_what_is_over_is_not_reported_any_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    ears = Ears()
    with reported(cast(Any, ears), "list_bookings"):
        await asyncio.wait_for(ears.something.wait(), 20)
    heard = list(ears.heard)
    assert heard[0].startswith("list_bookings: ")
    await turns()
    assert ears.heard == heard


async def test_what_is_quick_is_not_reported_at_all(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "REPORT_SECONDS", 0)
    ears = Ears()
    with reported(cast(Any, ears), "list_bookings"):
        pass
    await turns()
    assert ears.heard == []
