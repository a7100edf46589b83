"""Requests run on threads that are kept: starting one takes longer than most requests do."""

import asyncio
import itertools
import logging
import threading
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path

from gateway.process.handler import PooledHandler

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


urlpatterns = [path("thread", which_thread), path("failing", failing)]


async def get(handler: PooledHandler, address: str = "/thread") -> tuple[int, str]:
    scope = {
        "type": "http",
        "method": "GET",
        "path": address,
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "http_version": "1.1",
    }
    communicator = ApplicationCommunicator(handler, scope)
    await communicator.send_input({"type": "http.request", "body": b""})
    start = await communicator.receive_output(20)
    body = await communicator.receive_output(20)
    await communicator.wait(20)
    return start["status"], body["body"].decode()


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
    together = threading.Barrier(4, timeout=20)
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
