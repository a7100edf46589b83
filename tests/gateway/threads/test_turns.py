"""Calls with a large response take turns."""

import asyncio

import pytest

from gateway.threads import turns
from gateway.threads.turns import Turn


class Line:
    """Calls that take turns. `log`: what they did, in order."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.go_on = asyncio.Event()

    async def call(self, name: str, *, pauses: bool = False) -> None:
        with Turn():
            await turns.begin()
            self.log.append(f"{name} begins")
            await turns.begin()  # a second large response of the same call
            if pauses:
                turns.pause()
            await self.go_on.wait()
        self.log.append(f"{name} ends")


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_the_next_call_begins_when_the_one_before_has_ended():
    line = Line()
    tasks = [asyncio.create_task(line.call(name)) for name in "abc"]
    await settled()
    assert line.log == ["a begins"]
    line.go_on.set()
    await asyncio.gather(*tasks)
    assert line.log == ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]


async def test_a_call_that_waits_for_its_upstream_again_lets_the_next_one_begin():
    line = Line()
    tasks = [asyncio.create_task(line.call("a", pauses=True)), asyncio.create_task(line.call("b"))]
    await settled()
    assert line.log == ["a begins", "b begins"]
    line.go_on.set()
    await asyncio.gather(*tasks)
    line = Line()
    tasks = [asyncio.create_task(line.call(name)) for name in "cd"]
    await settled()
    assert line.log == ["c begins"]
    line.go_on.set()
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("cancelled", [0, 1], ids=["has a turn", "waits for one"])
async def test_a_cancelled_call_leaves_its_turn_to_the_next_one(cancelled: int):
    line = Line()
    tasks = [asyncio.create_task(line.call(name)) for name in "abc"]
    await settled()
    tasks[cancelled].cancel()
    line.go_on.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert line.log[-2:] == ["c begins", "c ends"]


async def test_a_call_that_has_waited_for_too_long_goes_on_without_a_turn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "LONGEST_WAIT", 0)
    line = Line()
    with Turn() as slow:
        await slow.begin()
        call = asyncio.create_task(line.call("a"))
        line.go_on.set()
        await call
        monkeypatch.undo()
        following = asyncio.create_task(line.call("b"))
        await settled()
        assert line.log == ["a begins", "a ends"]  # the call without a turn has not ended the slow one's
    await following


async def test_a_call_that_is_over_takes_no_turn():
    """Its task may go on, because other calls need the same response."""
    with Turn() as over:
        pass
    await over.begin()
    with Turn() as following:
        await asyncio.wait_for(following.begin(), 1)


async def test_outside_a_call_there_are_no_turns():
    for _ in range(2):
        await asyncio.wait_for(turns.begin(), 1)
    turns.pause()
