"""Answers are served again while they are fresh, the oldest is evicted first, and equal requests share an exchange."""

import asyncio

import pytest

from context_protection.core.cache_budget import ENTRY_BYTES as OF_ANY_ENTRY
from context_protection.core.cache_budget import CacheBudget
from gateway.upstreams.cache import (
    ENTRY_BYTES,
    STALE_SECONDS,
    InFlightCalls,
    UpstreamCache,
    cache_key,
    conditional,
)
from gateway.upstreams.request import Request, Response
from tests.gateway.upstreams.conftest import Time

SMALL = len(b"{}") + ENTRY_BYTES + OF_ANY_ENTRY  # bytes of `answer()`


def answer(body: bytes = b"{}", **headers: str) -> Response:
    return Response(200, {name.replace("_", "-"): value for name, value in headers.items()}, body)


def test_an_answer_is_fresh_for_as_long_as_it_is_kept_for(time: Time):
    cache = UpstreamCache(time)
    cache.store("key", answer(), 60)
    found = cache.find("key")
    assert found is not None
    assert cache.is_fresh(found)
    time.now += 60
    assert not cache.is_fresh(found)


def test_it_is_there_for_a_day_after_that_and_then_it_is_not(time: Time):
    cache = UpstreamCache(time)
    cache.store("key", answer(), 60)
    time.now += 60 + STALE_SECONDS
    assert cache.find("key") is not None
    time.now += 1
    assert cache.find("key") is None


def test_the_one_too_many_puts_out_the_first(time: Time):
    cache = UpstreamCache(time, most_answers=1000)
    for number in range(1001):
        cache.store(number, answer(), 60)
        cache.find(0)
    assert [number for number in range(1001) if cache.find(number) is None] == [0]


def test_the_first_in_is_the_first_out_however_often_it_was_read(time: Time):
    cache = UpstreamCache(time, CacheBudget(2 * SMALL))
    cache.store("a", answer(), 60)
    cache.store("b", answer(), 60)
    cache.find("a")
    cache.store("c", answer(), 60)
    assert [key for key in "abc" if cache.find(key)] == ["b", "c"]


def test_what_is_kept_again_is_new_and_takes_its_place_once(time: Time):
    cache = UpstreamCache(time, CacheBudget(2 * SMALL))
    for _ in range(10):
        cache.store("a", answer(), 60)
    cache.store("b", answer(), 60)
    cache.store("a", answer(), 60)
    assert cache.find("a")
    assert cache.find("b")
    cache.store("c", answer(), 60)
    assert [key for key in "abc" if cache.find(key)] == ["a", "c"]


def test_many_upstreams_have_one_limit_together(time: Time):
    budget = CacheBudget(40 * SMALL)
    caches = [UpstreamCache(time, budget) for _ in range(100)]
    for number, cache in enumerate(caches):
        cache.store("key", answer(), 60)
        assert budget.used <= 40 * SMALL
        assert sum(other.find("key") is not None for other in caches) == min(number + 1, 40)
    caches[0].store("key", answer(bytes(40 * SMALL)), 60)
    assert caches[0].find("key") is None, "larger than all of it"
    assert caches[-1].find("key") is not None, "nothing had to go for it"


def test_what_says_no_store_is_not_kept_and_takes_what_was_kept_with_it(time: Time):
    cache = UpstreamCache(time)
    cache.store("key", answer(), 60)
    cache.store("key", answer(cache_control="private, No-Store"), 60)
    assert cache.find("key") is None
    cache.store("key", answer(cache_control="private"), 60)
    assert cache.find("key") is not None


def test_all_are_forgotten_at_once(time: Time):
    cache = UpstreamCache(time)
    cache.store("key", answer(), 60)
    cache.clear()
    assert cache.find("key") is None


REQUEST = Request("POST", "https://a.example/x?y=1", {"Accept": "a", "X": "1"}, b"{}", repeatable=True)


@pytest.mark.parametrize(
    ("request_", "scope"),
    [
        (REQUEST, "caller:2"),
        (Request("GET", REQUEST.url, REQUEST.headers, REQUEST.body), ""),
        (Request("POST", REQUEST.url + "2", REQUEST.headers, REQUEST.body), ""),
        (Request("POST", REQUEST.url, {**REQUEST.headers, "X": "2"}, REQUEST.body), ""),
        (Request("POST", REQUEST.url, REQUEST.headers, b"[]"), ""),
    ],
)
def test_another_request_or_scope_has_another_key(request_: Request, scope: str):
    assert cache_key(request_, scope) != cache_key(REQUEST, "")


def test_the_order_and_case_of_headers_do_not_matter():
    same = Request("POST", REQUEST.url, {"x": "1", "accept": "a"}, b"{}")
    assert cache_key(same, "") == cache_key(REQUEST, "")


def test_what_is_known_is_asked_for_only_if_it_has_changed():
    known = answer(etag='"1"', last_modified="Thu, 01 Jan 2026 00:00:00 GMT")
    headers = conditional(REQUEST, known).headers
    assert headers["if-none-match"] == '"1"'
    assert headers["if-modified-since"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    assert conditional(REQUEST, answer()) is REQUEST
    assert conditional(REQUEST, None) is REQUEST


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
    in_flight, exchange = InFlightCalls[str](), Exchange()
    calls = [asyncio.create_task(in_flight.join("key", exchange)) for _ in range(100)]
    await turns()
    exchange.end.set_result("answer")
    assert await asyncio.gather(*calls) == ["answer"] * 100
    assert exchange.begun == 1


async def test_others_have_their_own():
    in_flight, exchange = InFlightCalls[str](), Exchange()
    calls = [asyncio.create_task(in_flight.join(key, exchange)) for key in "abc"]
    await turns()
    exchange.end.set_result("answer")
    await asyncio.gather(*calls)
    assert exchange.begun == 3


async def test_an_error_is_shared_too():
    in_flight, exchange = InFlightCalls[str](), Exchange()
    calls = [asyncio.create_task(in_flight.join("key", exchange)) for _ in range(3)]
    await turns()
    exchange.end.set_exception(LookupError("gone"))
    assert [type(each) for each in await asyncio.gather(*calls, return_exceptions=True)] == [LookupError] * 3
    assert exchange.begun == 1


async def test_who_leaves_does_not_take_the_others_along_not_even_who_came_first():
    in_flight, exchange = InFlightCalls[str](), Exchange()
    calls = [asyncio.create_task(in_flight.join("key", exchange)) for _ in range(3)]
    await turns()
    calls[0].cancel()
    await turns()
    exchange.end.set_result("answer")
    assert await asyncio.gather(*calls[1:]) == ["answer"] * 2
    assert calls[0].cancelled()
    assert exchange.cancelled == 0


async def test_when_all_have_left_the_exchange_ends_and_who_comes_then_begins_anew():
    in_flight, first, second = InFlightCalls[str](), Exchange(), Exchange()
    calls = [asyncio.create_task(in_flight.join("key", first)) for _ in range(3)]
    await turns()
    for call in calls:
        call.cancel()
    await asyncio.sleep(0)
    later = asyncio.create_task(in_flight.join("key", second))
    await turns()
    assert first.cancelled == 1
    second.end.set_result("answer")
    assert await later == "answer"


async def test_after_an_answer_the_next_call_begins_anew():
    in_flight, exchange = InFlightCalls[str](), Exchange()
    exchange.end.set_result("answer")
    await in_flight.join("key", exchange)
    await turns()
    await in_flight.join("key", exchange)
    assert exchange.begun == 2


async def test_an_error_that_nobody_waits_for_any_more_is_no_complaint_of_the_loop():
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    in_flight = InFlightCalls[str]()

    async def stubborn() -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise LookupError("while ending") from None
        raise AssertionError

    call = asyncio.create_task(in_flight.join("key", stubborn))
    await turns()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await turns()
    assert complaints == []
