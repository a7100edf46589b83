"""The parent's store answers Redis' own clients as Redis does, in all that Sluice asks of either."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
from django.test import override_settings
from django_redis.cache import RedisCache

from context_protection.stores.redis_client import connect, options
from gateway.upstreams.limits import Rate, Rates
from gateway.workers.store import SharedStore
from tests.gateway.workers.running_store import running_store
from tests.patience import PATIENCE
from tests.servers import redis_server


@pytest.fixture(params=["parent", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with ExitStack() as running:
        if request.param == "parent":
            yield running.enter_context(running_store(tmp_path))
        else:
            yield running.enter_context(redis_server(tmp_path)).url


@pytest.fixture
def client(url: str) -> redis.Redis:
    return connect(url)


def test_totals_add_up_over_all_clients(client: redis.Redis):
    def add(_: int) -> list[int]:
        with client.pipeline(transaction=False) as pipeline:
            pipeline.incrby("total", 3).expire("total", 60)
            return pipeline.execute()

    with ThreadPoolExecutor(8) as threads:
        replies = list(threads.map(add, range(100)))
    assert sorted(total for total, _ in replies) == list(range(3, 303, 3))
    assert {expires for _, expires in replies} == {1}
    assert client.incrby("total", 0) == 300


def test_values_expire(client: redis.Redis):
    client.set("key", b"one", px=1)
    while client.get("key") is not None:
        pass
    client.set("key", b"two")
    assert client.get("key") == b"two"
    assert client.delete("key", "none") == 1
    assert client.get("key") is None


def test_the_cache_of_django_works_with_it(url: str):
    cache = RedisCache(url, {"OPTIONS": options(url)})
    assert cache.get("flag") is None
    cache.set("flag", True, 30.0)
    assert cache.get("flag") is True


def test_fields_are_kept(client: redis.Redis):
    client.hset("kept", "one", "1")
    client.hset("kept", "two", "2")
    client.hset("kept", "one", "3")
    assert client.hgetall("kept") == {b"one": b"3", b"two": b"2"}
    client.hdel("kept", "one")
    assert client.hgetall("kept") == {b"two": b"2"}
    assert client.hgetall("nothing") == {}


def test_messages_reach_all_who_listen(client: redis.Redis):
    with client.pubsub() as one, client.pubsub() as other:
        for each in (one, other):
            each.subscribe("news")
            assert each.get_message(timeout=PATIENCE)["type"] == "subscribe"
        assert client.publish("news", b"\x00\xff") == 2
        assert [each.get_message(timeout=PATIENCE)["data"] for each in (one, other)] == [b"\x00\xff"] * 2
    assert client.publish("other", b"") == 0


def test_who_waits_for_a_value_gets_it(client: redis.Redis):
    client.rpush("ready", "first")
    assert client.blpop(["ready"], timeout=PATIENCE) == (b"ready", b"first")
    assert client.blpop(["ready"], timeout=0.01) is None
    waiting = ThreadPoolExecutor(1).submit(client.blpop, ["ready"], timeout=PATIENCE)
    client.rpush("ready", "second")
    assert waiting.result() == (b"ready", b"second")


def test_a_value_is_not_lost_on_a_client_that_has_left(client: redis.Redis):
    leaver = client.connection_pool.get_connection()
    leaver.send_command("BLPOP", "ready", 60)
    leaver.disconnect()
    assert [client.ping(), client.ping()] == [True, True]  # after this, the end of its connection has been read
    client.rpush("ready", "value")
    assert client.blpop(["ready"], timeout=PATIENCE) == (b"ready", b"value")


def test_an_empty_request_is_not_answered(client: redis.Redis):
    connection = client.connection_pool.get_connection()
    connection.send_packed_command([b"*0\r\n"])
    connection.send_command("PING")
    assert connection.read_response() == b"PONG"
    connection.disconnect()


async def test_who_has_waited_in_vain_leaves_nothing(tmp_path: Path):
    store = SharedStore()
    server = await store.start(tmp_path / "store.sock")
    reader, writer = await asyncio.open_unix_connection(tmp_path / "store.sock")
    writer.write(b"*3\r\n$5\r\nBLPOP\r\n$5\r\nready\r\n$4\r\n0.01\r\n")
    assert await reader.readline() == b"$-1\r\n"
    assert not store._waiting
    writer.close()
    server.close()


def test_a_command_that_it_does_not_know_is_an_error_and_no_end(tmp_path: Path):
    with running_store(tmp_path) as url:
        client = connect(url)
        with pytest.raises(redis.ResponseError, match="unknown command 'FLUSHALL'"):
            client.flushall()
        with pytest.raises(redis.ResponseError, match="unknown script"):
            client.eval("return 1", 1, "key")
        assert client.ping()


def test_bytes_of_another_protocol_end_the_connection(tmp_path: Path):
    with running_store(tmp_path) as url, socket.socket(socket.AF_UNIX) as stranger:
        stranger.settimeout(5)
        stranger.connect(url.removeprefix("unix://"))
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert stranger.recv(100) == b""
        assert connect(url).ping()


async def test_a_rate_is_kept_by_all_together(url: str):
    with override_settings(REDIS_URL=url):
        rate = Rate("calls", 5, 60.0)
        one, other = Rates("acme", [rate]), Rates("acme", [rate])
        waits = [await rates.enter(10.0) for rates in (one, other) * 4]
        assert other.left == 0
    assert waits[:5] == [0.0] * 5
    assert all(50 < wait <= 60 for wait in waits[5:])


def test_a_listener_that_does_not_read_is_let_go(tmp_path: Path):
    with running_store(tmp_path) as url:
        client, deaf = connect(url), socket.socket(socket.AF_UNIX)
        deaf.connect(url.removeprefix("unix://"))
        deaf.sendall(b"*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nnews\r\n")
        assert deaf.recv(8)
        message = b"x" * 2**20
        ended = threading.Event()
        for _ in range(20):
            if client.publish("news", message) == 0:
                ended.set()
                break
        assert ended.is_set()
        deaf.close()
