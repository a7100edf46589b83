"""Requests run on threads that are kept, and that wait for nobody: not for a body, and not without end for a thread."""

import asyncio
import itertools
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path

from gateway.access.callers import identify
from gateway.access.visits import Visit
from gateway.process import bodies
from gateway.process.bodies import LARGEST_BODY, SMALL_BODY
from gateway.process.handler import PooledHandler
from tests.patience import PATIENCE

HERE = Visit("rest", "127.0.0.1")
together: threading.Barrier | None = None
numbers = itertools.count()
of_this_thread = threading.local()


def which_thread(request: Any) -> HttpResponse:
    """Its thread, as a number that no later thread is given again."""
    if together is not None:
        together.wait()
    if not hasattr(of_this_thread, "number"):
        of_this_thread.number = next(numbers)
    return HttpResponse(str(of_this_thread.number))


def failing(request: Any) -> HttpResponse:
    raise ZeroDivisionError


def size_of_body(request: Any) -> HttpResponse:
    return HttpResponse(str(len(request.read())))


def is_on_disk(request: Any) -> HttpResponse:
    return HttpResponse(str(request._stream._rolled))


def held(request: Any) -> HttpResponse:
    """Answers when it is let go."""
    entered.release()
    assert let_go.wait(PATIENCE)
    return HttpResponse("at last")


urlpatterns = [
    path("thread", which_thread),
    path("failing", failing),
    path("held", held),
    path("api/v1/size", size_of_body),
    path("size", size_of_body),
    path("is-on-disk", is_on_disk),
]
entered, let_go = threading.Semaphore(0), threading.Event()


class Exchange:
    """One request, whose body comes in pieces."""

    def __init__(self, handler: PooledHandler, address: str, method: str = "GET", **headers: str) -> None:
        fields = {"host": "localhost", **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope = {
            "type": "http",
            "method": method,
            "path": address,
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
            "http_version": "1.1",
        }
        self.communicator = ApplicationCommunicator(handler, scope)

    async def send(self, body: bytes = b"", *, more: bool = False) -> None:
        await self.communicator.send_input({"type": "http.request", "body": body, "more_body": more})

    async def leave(self) -> None:
        await self.communicator.send_input({"type": "http.disconnect"})

    async def answer(self) -> tuple[int, str]:
        start = await self.communicator.receive_output(20)
        body = await self.communicator.receive_output(20)
        await self.communicator.wait(PATIENCE)
        return start["status"], body["body"].decode()

    async def reason(self) -> tuple[int, str]:
        status, body = await self.answer()
        return status, json.loads(body)["error"]["reason"]


async def get(handler: PooledHandler, address: str = "/thread") -> tuple[int, str]:
    exchange = Exchange(handler, address)
    await exchange.send()
    return await exchange.answer()


@pytest.fixture
def handler(db: None) -> Any:
    """Without middleware: what is tested is the handler."""
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[]):
        yield PooledHandler()


async def test_requests_in_turn_use_one_thread_again(handler: PooledHandler):
    assert len({(await get(handler))[1] for _ in range(5)}) == 1
    assert not hasattr(of_this_thread, "number"), "not the loop's"


async def test_requests_at_once_have_a_thread_each_and_those_are_kept(handler: PooledHandler):
    global together
    together = threading.Barrier(4, timeout=PATIENCE)
    try:
        first = {body for _, body in await asyncio.gather(*(get(handler) for _ in range(4)))}
        again = {body for _, body in await asyncio.gather(*(get(handler) for _ in range(4)))}
    finally:
        together = None
    assert len(first) == 4
    assert again == first


async def test_a_request_that_fails_gives_its_thread_back(handler: PooledHandler, caplog: pytest.LogCaptureFixture):
    _, before = await get(handler)
    caplog.set_level(logging.CRITICAL, "django.request")
    status, _ = await get(handler, "/failing")
    assert status == 500
    assert (await get(handler))[1] == before


class NotingThread(ThreadPoolExecutor):
    """A thread, with the number of functions that it was given."""

    given = 0

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        self.given += 1
        return super().submit(*args, **kwargs)


async def test_middleware_and_view_run_on_the_thread_in_one_go(db: None):
    """The other two are the signals around a request."""
    thread = NotingThread(1)
    with override_settings(ROOT_URLCONF=__name__):
        handler = PooledHandler()
        handler._idle.append(thread)
        assert (await get(handler))[0] == 200
    thread.shutdown()
    assert thread.given == 3


# -- Threads are for whole requests -----------------------------------------------------------------


@pytest.fixture
def one_thread(db: None) -> Any:
    """A handler of one thread, which the test may keep busy."""
    let_go.clear()
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[]):
        yield PooledHandler(threads=1)
    let_go.set()


async def busy(handler: PooledHandler) -> Exchange:
    """A request that has the thread until it is let go."""
    exchange = Exchange(handler, "/held")
    await exchange.send()
    assert await asyncio.to_thread(entered.acquire, timeout=PATIENCE)
    return exchange


async def test_a_request_whose_body_is_unfinished_takes_no_thread(one_thread: PooledHandler):
    unfinished = [Exchange(one_thread, "/size", "POST", content_length="9") for _ in range(20)]
    for exchange in unfinished:
        await exchange.send(b"begun", more=True)
    assert (await get(one_thread))[0] == 200
    for exchange in unfinished:
        await exchange.send(b"done")
        assert await exchange.answer() == (200, "9")


async def test_a_request_that_waits_too_long_for_a_thread_is_told_to_come_again(one_thread: PooledHandler):
    first = await busy(one_thread)
    one_thread.slot_seconds = 0.01
    late = Exchange(one_thread, "/thread")
    await late.send()
    start = await late.communicator.receive_output(20)
    assert (start["status"], dict(start["headers"])[b"retry-after"]) == (503, b"5")
    let_go.set()
    assert await first.answer() == (200, "at last")
    assert (await get(one_thread))[0] == 200


async def test_who_leaves_while_waiting_for_a_thread_leaves_the_queue(one_thread: PooledHandler):
    first = await busy(one_thread)
    leaver, stayer = Exchange(one_thread, "/held"), Exchange(one_thread, "/thread")
    await leaver.send()
    await stayer.send()
    assert await leaver.communicator.receive_nothing(0.05)
    await leaver.leave()
    await leaver.communicator.wait(PATIENCE)
    let_go.set()
    assert (await first.answer())[0] == 200
    assert (await stayer.answer())[0] == 200
    assert not entered.acquire(blocking=False), "the view has not run for who had left"


async def test_who_leaves_before_the_body_is_whole_is_forgotten(one_thread: PooledHandler):
    leaver = Exchange(one_thread, "/size", "POST", content_length="9")
    await leaver.send(b"begun", more=True)
    await leaver.leave()
    await leaver.communicator.wait(PATIENCE)
    assert await leaver.communicator.receive_nothing()


# -- Bodies -----------------------------------------------------------------------------------------


async def test_without_a_key_no_body_is_read_for_the_api(handler: PooledHandler):
    exchange = Exchange(handler, "/api/v1/size", "POST", content_length="9")
    assert await exchange.reason() == (401, "not_authenticated")


async def test_with_a_key_a_body_is_read_for_the_api(handler: PooledHandler, api_key: str):
    await identify(f"Bearer {api_key}", HERE)  # loads the keys on this thread, whose transaction has them
    headers = {"content_length": "9", "authorization": f"Bearer {api_key}"}
    exchange = Exchange(handler, "/api/v1/size", "POST", **headers)
    await exchange.send(b"begun", more=True)
    await exchange.send(b"done")
    assert await exchange.answer() == (200, "9")


async def test_bodies_of_the_unknown_take_no_room_of_the_known(
    handler: PooledHandler, api_key: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bodies.anonymous_memory, "most", SMALL_BODY)
    large = b"x" * (SMALL_BODY + 1)
    unknown = Exchange(handler, "/size", "POST", content_length=str(len(large)))
    await unknown.send(large)
    assert await unknown.reason() == (503, "busy")
    await identify(f"Bearer {api_key}", HERE)
    known = Exchange(handler, "/api/v1/size", "POST", content_length=str(len(large)), authorization=f"Bearer {api_key}")
    await known.send(large)
    assert await known.answer() == (200, str(len(large)))


async def test_a_body_that_nobody_measured_before_is_bounded_here(handler: PooledHandler):
    exchange = Exchange(handler, "/size", "POST", transfer_encoding="chunked")
    await exchange.send(b"x" * (LARGEST_BODY + 1), more=True)
    assert await exchange.reason() == (413, "body_too_large")


async def test_nothing_of_the_unknown_is_put_on_disk(handler: PooledHandler):
    exchange = Exchange(handler, "/is-on-disk", "POST", content_length=str(LARGEST_BODY))
    await exchange.send(b"x" * LARGEST_BODY)
    assert await exchange.answer() == (200, "False")


# -- Pages of other sites ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "localhost", "file://"])
async def test_a_rest_call_of_a_foreign_origin_is_refused_before_its_key_and_body_are_read(
    handler: PooledHandler, method: str, origin: str
):
    headers = {"content_length": "9", "authorization": "Bearer nobodys", "origin": origin}
    exchange = Exchange(handler, "/api/v1/size", method, **headers)
    status, body = await exchange.answer()  # of the body, nothing has been sent
    error = json.loads(body)["error"]
    assert (status, error["reason"], error["data"]["value"]) == (403, "invalid_origin", origin)
    assert "CSRF_TRUSTED_ORIGINS" in error["data"]["suggestion"]


@pytest.mark.parametrize("origin", ["http://localhost", "https://localhost", "https://friend.example", ""])
async def test_a_rest_call_of_an_own_or_trusted_origin_is_let_in(handler: PooledHandler, api_key: str, origin: str):
    await identify(f"Bearer {api_key}", HERE)
    with override_settings(CSRF_TRUSTED_ORIGINS=["https://friend.example"]):
        exchange = Exchange(handler, "/api/v1/size", authorization=f"Bearer {api_key}", origin=origin)
        await exchange.send()
        assert await exchange.answer() == (200, "0")


async def test_pages_that_are_not_the_api_are_there_for_every_origin(handler: PooledHandler):
    exchange = Exchange(handler, "/size", origin="https://evil.example")
    await exchange.send()
    assert await exchange.answer() == (200, "0")
