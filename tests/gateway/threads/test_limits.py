"""A lane is as wide as it is for everyone, and gone when nobody is in it."""

import asyncio

from gateway.threads.limits import ConcurrencyLimits


async def test_a_lane_lets_so_many_in_at_once_and_leaves_nothing_behind():
    limits, inside, gate = ConcurrencyLimits(2), [], asyncio.Event()

    async def go(number: int) -> None:
        await limits.acquire("one")
        inside.append(number)
        await gate.wait()
        limits.release("one")

    tasks = [asyncio.create_task(go(number)) for number in range(5)]
    await asyncio.sleep(0)
    assert inside == [0, 1]
    tasks[3].cancel()
    gate.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert inside == [0, 1, 2, 4]
    assert limits._by_key == {}
