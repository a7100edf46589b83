"""The gate before requests that hash: one at a time, each address in its own queue."""

import asyncio
import threading
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path, reverse

from gateway.process.gates import HASHING_PATHS, Gate
from gateway.process.handler import PooledHandler
from tests.gateway.process.test_handler import Exchange
from tests.patience import PATIENCE

PATH = "/hash"
let_go, entered, counting = threading.Event(), threading.Semaphore(0), threading.Lock()
now = most = 0


def hashing(request: Any) -> HttpResponse:
    global now, most
    with counting:
        now += 1
        most = max(now, most)
    entered.release()
    assert let_go.wait(PATIENCE)
    with counting:
        now -= 1
    return HttpResponse("hashed")


urlpatterns = [path("hash", hashing), path("quick", lambda request: HttpResponse("quick"))]


@pytest.fixture(autouse=True)
def fresh() -> Any:
    global most, entered
    let_go.clear()
    most, entered = 0, threading.Semaphore(0)
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[]):
        yield
    let_go.set()


def handler(**gate: Any) -> PooledHandler:
    return PooledHandler(threads=4, gate=Gate(frozenset({PATH}), **{"pause_seconds": 0, **gate}))


async def sent(to: PooledHandler, address: str = "192.0.2.1", path: str = PATH) -> Exchange:
    exchange = Exchange(to, path, "POST")
    exchange.communicator.scope["client"] = (address, 1)
    await exchange.send(b"")
    return exchange


async def until_inside() -> None:
    assert await asyncio.to_thread(entered.acquire, timeout=PATIENCE)


async def test_one_hashes_while_others_wait_and_the_rest_is_served():
    to = handler()
    waiting = [await sent(to, f"192.0.2.{number}") for number in range(10)]
    await until_inside()
    assert await (await sent(to, path="/quick")).answer() == (200, "quick")
    let_go.set()
    assert [await each.answer() for each in waiting] == [(200, "hashed")] * 10
    assert most == 1


async def test_who_leaves_does_not_let_the_next_one_in_before_the_hash_has_ended():
    to = handler()
    first = await sent(to)
    await until_inside()
    second = await sent(to)
    await first.leave()
    assert not await asyncio.to_thread(entered.acquire, timeout=0.5)
    let_go.set()
    assert await second.answer() == (200, "hashed")
    assert most == 1


async def test_who_has_waited_too_long_is_told_to_come_back():
    to = handler(wait_seconds=0.05)
    first = await sent(to)
    await until_inside()
    status, body = await (await sent(to)).answer()
    assert status == 503
    assert '"retry_after"' in body
    let_go.set()
    assert (await first.answer())[0] == 200


async def test_many_of_one_address_wait_behind_one_of_another():
    to = handler()
    first = await sent(to, "192.0.2.1")
    await until_inside()
    order: list[str] = []

    async def answered(exchange: Exchange, address: str) -> None:
        assert (await exchange.answer())[0] == 200
        order.append(address)

    many = [await sent(to, "192.0.2.1") for _ in range(8)]
    other = await sent(to, "192.0.2.2")
    tasks = [asyncio.create_task(answered(each, "192.0.2.1")) for each in (first, *many)]
    tasks.append(asyncio.create_task(answered(other, "192.0.2.2")))
    let_go.set()
    await asyncio.gather(*tasks)
    assert order.index("192.0.2.2") <= 2


def test_the_pages_that_hash_are_guarded():
    with override_settings(ROOT_URLCONF="gateway.urls"):
        assert set(map(reverse, ("admin:login", "admin:password_change"))) == HASHING_PATHS
