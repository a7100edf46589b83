"""What belongs to an event loop ends with it."""

import asyncio

from gateway.upstreams.per_loop import PerLoop


class Thing:
    def __init__(self) -> None:
        self.ended = 0

    async def end(self) -> None:
        self.ended += 1


things = PerLoop(Thing, Thing.end)


async def test_a_loop_has_one_and_gets_another_when_that_has_been_closed():
    first = await things.get()
    assert await things.get() is first
    await things.close()
    assert first.ended == 1
    assert await things.get() is not first


async def test_closing_what_is_not_there_does_nothing():
    await PerLoop(Thing, Thing.end).close()


def test_another_loop_has_another_and_each_ends_with_its_loop():
    own = PerLoop(Thing, Thing.end)
    first, second = asyncio.run(own.get()), asyncio.run(own.get())
    assert first is not second
    assert (first.ended, second.ended) == (1, 1)
    assert own._held == {}


def test_a_loop_that_ended_without_a_word_is_forgotten():
    own = PerLoop(Thing, Thing.end)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(own.get())
    loop.close()
    asyncio.run(own.get())
    assert own._held == {}
