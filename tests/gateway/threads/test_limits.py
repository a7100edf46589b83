"""A concurrency limit admits the same number of calls for each key, and is removed with the key's last call."""

import asyncio

from gateway.threads.limits import ConcurrencyLimits


async def test_a_key_has_so_many_calls_at_once_and_is_removed_with_its_last_one():
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
