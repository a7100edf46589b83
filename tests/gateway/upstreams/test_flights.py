"""Equal requests at the same time are one exchange."""

import asyncio

import pytest

from gateway.upstreams.flights import Flights


class Exchange:
    """Ends when it is told to; knows how often it was begun, and whether it was cancelled."""

    def __init__(self) -> None:
        self.begun = self.cancelled = 0
        self.end: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __call__(self) -> str:
        self.begun += 1
        try:
            return await asyncio.shield(self.end)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_hundred_equal_calls_are_one():
    flights, exchange = Flights[str](), Exchange()
    calls = [asyncio.create_task(flights.join("key", exchange)) for _ in range(100)]
    await turns()
    exchange.end.set_result("answer")
    assert await asyncio.gather(*calls) == ["answer"] * 100
    assert exchange.begun == 1


async def test_others_have_their_own():
    flights, exchange = Flights[str](), Exchange()
    calls = [asyncio.create_task(flights.join(key, exchange)) for key in "abc"]
    await turns()
    exchange.end.set_result("answer")
    await asyncio.gather(*calls)
    assert exchange.begun == 3


async def test_an_error_is_shared_too():
    flights, exchange = Flights[str](), Exchange()
    calls = [asyncio.create_task(flights.join("key", exchange)) for _ in range(3)]
    await turns()
    exchange.end.set_exception(LookupError("gone"))
    assert [type(each) for each in await asyncio.gather(*calls, return_exceptions=True)] == [LookupError] * 3
    assert exchange.begun == 1


async def test_who_leaves_does_not_take_the_others_along_not_even_who_came_first():
    flights, exchange = Flights[str](), Exchange()
    calls = [asyncio.create_task(flights.join("key", exchange)) for _ in range(3)]
    await turns()
    calls[0].cancel()
    await turns()
    exchange.end.set_result("answer")
    assert await asyncio.gather(*calls[1:]) == ["answer"] * 2
    assert calls[0].cancelled()
    assert exchange.cancelled == 0


async def test_when_all_have_left_the_exchange_ends_and_who_comes_then_begins_anew():
    flights, first, second = Flights[str](), Exchange(), Exchange()
    calls = [asyncio.create_task(flights.join("key", first)) for _ in range(3)]
    await turns()
    for call in calls:
        call.cancel()
    await asyncio.sleep(0)
    later = asyncio.create_task(flights.join("key", second))
    await turns()
    assert first.cancelled == 1
    second.end.set_result("answer")
    assert await later == "answer"


async def test_after_an_answer_the_next_call_begins_anew():
    flights, exchange = Flights[str](), Exchange()
    exchange.end.set_result("answer")
    await flights.join("key", exchange)
    await turns()
    await flights.join("key", exchange)
    assert exchange.begun == 2


async def test_an_error_that_nobody_waits_for_any_more_is_no_complaint_of_the_loop():
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    flights = Flights[str]()

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise LookupError("while ending") from None
        raise AssertionError

    call = asyncio.create_task(flights.join("key", stubborn))
    await turns()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await turns()
    assert complaints == []
