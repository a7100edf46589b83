"""The live tail's socket."""

import json
import time
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.layers import channel_layers, get_channel_layer
from channels_redis.core import RedisChannelLayer
from django.contrib.auth.models import Permission
from django.core.cache import cache
from django.test import Client

from gateway.asgi import application
from gateway.process.channel_layer import EmbeddedChannelLayer
from telemetry import feed, live
from tests import needs
from tests.patience import PATIENCE
from tests.telemetry.examples import a_call

REDIS = f"redis://{needs.HOST}:{needs.REDIS_PORT}/6"

pytestmark = pytest.mark.usefixtures("own_flag")


@pytest.fixture
def staff(db, django_user_model):
    client = Client()
    user = django_user_model.objects.create_user("ops-2", password="a long password", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_telemetryrecord"))
    client.force_login(user)
    client.user = user
    return client


@pytest.fixture(autouse=True)
def layer_of_this_loop(monkeypatch):
    """The process's own layer belongs to the event loop of another test."""
    monkeypatch.setitem(channel_layers.backends, "default", EmbeddedChannelLayer())


@pytest.fixture(autouse=True)
def connection_of_the_test_stays_open(monkeypatch):
    """Channels closes connections that it takes for old, also the one that holds the test's transaction."""

    async def nothing() -> None:
        pass

    for module in ("channels.consumer", "channels.generic.websocket"):
        monkeypatch.setattr(f"{module}.aclose_old_connections", nothing)


def scope(client: Client | None, query: str = "", **headers: str) -> dict:
    cookies = client.cookies if client else {}
    cookie = "; ".join(f"{name}={morsel.value}" for name, morsel in cookies.items())
    known = {"host": "localhost", "origin": "http://localhost", "cookie": cookie, **headers}
    return {
        "type": "websocket",
        "path": "/telemetry/live/socket",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in known.items()],
        "subprotocols": [],
        "scheme": "ws",
    }


@asynccontextmanager
async def opened(scope: dict):
    communicator = ApplicationCommunicator(application, scope)
    await communicator.send_input({"type": "websocket.connect"})
    first = await communicator.receive_output(PATIENCE)
    try:
        yield first["type"], communicator
    finally:
        await communicator.send_input({"type": "websocket.disconnect", "code": 1000})  # also after a denial
        await communicator.wait(PATIENCE)


async def frame_with_calls(communicator: ApplicationCommunicator) -> dict:
    while True:
        sent = await communicator.receive_output(PATIENCE)
        assert sent["type"] == "websocket.send"
        if (frame := json.loads(sent["text"]))["count"]:
            return frame


async def send(*calls) -> None:
    message = {"type": "live.calls", "calls": [feed.packed(call) for call in calls]}
    await get_channel_layer().group_send(feed.GROUP, message)


@pytest.fixture(params=["embedded", "redis"])
def layer(request, layer_of_this_loop, monkeypatch):
    """Both layers, each in its own event loop of the test."""
    if request.param == "redis":
        needs.REDIS.or_skip()
        made = RedisChannelLayer(hosts=[REDIS], prefix="sluice-test-live")
        monkeypatch.setitem(channel_layers.backends, "default", made)
    return request.param


async def test_staff_receive_calls_that_their_filters_select(staff, layer):
    async with opened(scope(staff, "outcome=error&tz=Asia/Tokyo")) as (answer, communicator):
        assert answer == "websocket.accept"
        await send(a_call(request_id="fine"), a_call(request_id="bad", outcome="error"))
        frame = await frame_with_calls(communicator)
    assert [row["request_id"] for row in frame["rows"]] == ["bad"]
    assert frame["rows"][0]["time"] == "2026-11-20 21:00:00"  # noon UTC


async def test_while_a_page_is_open_the_flag_is_up(staff):
    assert cache.get(feed.FLAG) is None
    async with opened(scope(staff)):
        assert cache.get(feed.FLAG)


async def test_there_are_five_frames_a_second_at_most(staff):
    times = []
    async with opened(scope(staff)) as (_, communicator):
        for _ in range(4):
            await send(a_call())
            await frame_with_calls(communicator)
            times.append(time.monotonic())
    assert all(later - earlier > 0.15 for earlier, later in pairwise(times))


async def test_without_a_session_the_handshake_is_denied(db):
    async with opened(scope(None)) as (answer, _):
        assert answer == "websocket.close"


async def test_who_may_not_see_calls_is_denied(staff):
    await sync_to_async(staff.user.user_permissions.clear)()
    async with opened(scope(staff)) as (answer, _):
        assert answer == "websocket.close"


@pytest.mark.parametrize("header", [{"origin": "https://evil.example"}, {"host": "evil.example"}])
async def test_a_page_of_another_site_cannot_open_it(staff, header):
    async with opened(scope(staff, **header)) as (answer, _):
        assert answer == "websocket.close"


async def test_who_logs_out_is_cut_off(staff, monkeypatch):
    monkeypatch.setattr(live, "CHECK_SECONDS", 0.1)
    async with opened(scope(staff)) as (answer, communicator):
        assert answer == "websocket.accept"
        await sync_to_async(staff.logout)()
        while (sent := await communicator.receive_output(PATIENCE))["type"] == "websocket.send":
            pass
    assert (sent["type"], sent["code"]) == ("websocket.close", live.NOT_ALLOWED)


async def test_what_a_page_sends_is_not_read(staff):
    async with opened(scope(staff)) as (_, communicator):
        await communicator.send_input({"type": "websocket.receive", "text": "{nonsense"})
        await send(a_call(request_id="r"))
        assert (await frame_with_calls(communicator))["count"] == 1


def test_the_flag_is_renewed_long_before_it_falls():
    assert live.CHECK_SECONDS * 2 < feed.FLAG_SECONDS
