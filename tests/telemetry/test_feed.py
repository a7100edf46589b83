"""Stored calls on their way to the live tail."""

import asyncio

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from channels.layers import channel_layers
from django.core.cache import cache

from gateway.process.channel_layer import EmbeddedChannelLayer
from telemetry import feed
from telemetry.queries import Selection
from tests.patience import PATIENCE
from tests.telemetry.examples import NOON, a_call, calls_of_all_sorts, stored


@pytest.fixture
def watched(own_flag: None) -> None:
    cache.set(feed.FLAG, True, 30)


class Layer:
    """Counts what is sent. The layers themselves are tested with the socket (test_live.py)."""

    def __init__(self, error: Exception | None = None) -> None:
        self.sent: list[dict] = []
        self.error = error

    async def group_send(self, group, message):
        self.sent.append(message)
        if self.error:
            raise self.error


@pytest.fixture
def layer(monkeypatch):
    made = Layer()
    monkeypatch.setattr(feed, "get_channel_layer", lambda: made)
    return made


def test_while_nobody_looks_nothing_is_sent_and_the_flag_is_read_once_a_second(layer, monkeypatch):
    reads = []
    monkeypatch.setattr(feed.cache, "get", lambda key: reads.append(key), raising=False)
    source = feed.Feed()
    for _ in range(100):
        source.publish([a_call()])
    assert layer.sent == []
    assert len(reads) == 1


def test_a_batch_is_sent_when_somebody_watches(watched, layer):
    feed.Feed().publish([a_call(request_id="1"), a_call(request_id="2")])
    (message,) = layer.sent
    assert [each["request_id"] for each in message["calls"]] == ["1", "2"]


def test_a_new_watcher_sees_the_very_next_call(own_flag, layer, monkeypatch):
    source = feed.Feed()
    monkeypatch.setattr(feed, "_feed", source)
    source.publish([a_call()])
    async_to_sync(feed.watch)()
    source.publish([a_call(request_id="seen")])
    assert [each["request_id"] for message in layer.sent for each in message["calls"]] == ["seen"]


def test_a_layer_that_is_away_costs_a_warning_and_then_a_rest(watched, monkeypatch, caplog):
    away = Layer(ConnectionError("no"))
    monkeypatch.setattr(feed, "get_channel_layer", lambda: away)
    source = feed.Feed()
    source.publish([a_call()])
    source.publish([a_call()])
    assert len(away.sent) == 1
    assert [record.error for record in caplog.records] == ["ConnectionError"]


def test_a_call_that_travelled_matches_the_same_filters():
    for call in calls_of_all_sorts(50):
        arrived = feed.unpacked(feed.packed(call))
        assert arrived.at == call.at
        assert {name: getattr(arrived, name) for name in feed.FIGURES} == {
            name: getattr(call, name) for name in feed.FIGURES
        }
        assert Selection.of({"key": ["desk"]}).matches(arrived) == (call.caller == "desk")


def test_figures_of_a_process_of_another_version_are_left_out():
    packed = feed.packed(a_call()) | {"invented_later": 1}
    del packed["client"]
    assert feed.unpacked(packed).client == ""


def test_stored_calls_reach_who_looks(db, watched, monkeypatch):
    monkeypatch.setattr("telemetry.storage.feed.publish", feed.Feed().publish)
    layer = EmbeddedChannelLayer()  # the process's own one belongs to the event loop of another test
    monkeypatch.setitem(channel_layers.backends, "default", layer)

    async def received() -> dict:
        channel = await layer.new_channel()
        await layer.group_add(feed.GROUP, channel)
        await sync_to_async(stored)(a_call(request_id="seen", at=NOON))
        return await asyncio.wait_for(layer.receive(channel), PATIENCE)

    assert async_to_sync(received)()["calls"][0]["request_id"] == "seen"
