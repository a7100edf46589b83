"""Walks are kept in a table or in Redis, and in the table while Redis is away (law 5, rulings 9 and 11)."""

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
import redis

from context_protection.cursors import Origin, Sealer, Snapshot, Walk, Walks, WalkStore
from context_protection.models import StoredWalk
from context_protection.stores import PREFIX, RedisWalks, TableWalks
from context_protection.tasks import purge_expired_walks

pytestmark = pytest.mark.django_db

REDIS_URL = "redis://127.0.0.1:6379/14"


def walk(expires_in: float = 600, snapshot: bytes = b"\x00\xff") -> Walk:
    now = time.time()
    return Walk(f"test-{uuid4().hex[:16]}", "list", "key:1", {"a": 1}, {"blocks": 2}, now, now + expires_in, snapshot)


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def real_redis() -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(REDIS_URL, socket_connect_timeout=1)
    try:
        client.ping()
    except redis.RedisError:
        pytest.skip("Redis does not answer on 127.0.0.1:6379")
    yield client
    if keys := list(client.scan_iter(f"{PREFIX}test-*")):
        client.delete(*keys)
    client.close()


@pytest.fixture(params=["table", pytest.param("redis", marks=pytest.mark.cluster), "redis away"])
def store(request: pytest.FixtureRequest) -> Iterator[WalkStore]:
    if request.param == "table":
        yield TableWalks()
        return
    if request.param == "redis":
        request.getfixturevalue("real_redis")
    url = REDIS_URL if request.param == "redis" else f"redis://127.0.0.1:{closed_port()}/0"
    walks = RedisWalks(url, TableWalks())
    yield walks
    walks.redis.close()


def test_what_is_put_is_got(store: WalkStore):
    kept = walk()
    store.put(kept)
    store.put_block(kept, 1, b"\x00second\xff")
    assert store.get(kept.id) == kept
    assert store.origin(kept.id) == kept.origin
    assert store.block(kept.id, 1) == b"\x00second\xff"


def test_what_was_never_put_is_absent(store: WalkStore):
    assert store.get("nothing") is None
    assert store.origin("nothing") is None
    assert store.block("nothing", 1) is None


def test_putting_again_replaces(store: WalkStore):
    kept = walk()
    store.put(kept)
    longer = replace(kept, expires_at=kept.expires_at + 600)
    store.put(longer)
    assert store.get(kept.id) == longer


def test_a_whole_walk_goes_on_from_any_store(store: WalkStore):
    walks = Walks(store, Sealer(["k" * 40]))
    begun = walks.begin(Snapshot(Origin("list", "key:1", {}), {}, [b"first", b"second"]))
    got, position = walks.resume(walks.cursor(begun, 7), "list", "key:1", {})
    assert (position, walks.block(got, 0), walks.block(got, 1)) == (7, b"first", b"second")


def test_an_expired_walk_of_the_table_is_as_good_as_absent():
    table, old = TableWalks(), walk(expires_in=-1)
    table.put(old)
    table.put_block(old, 1, b"x")
    assert StoredWalk.objects.filter(id=old.id).exists()
    assert table.get(old.id) is None
    assert table.block(old.id, 1) is None


def test_the_purge_removes_what_has_expired_and_nothing_else():
    table, old, young = TableWalks(), walk(expires_in=-1), walk()
    for each in (old, young):
        table.put(each)
        table.put_block(each, 1, b"x")
    assert purge_expired_walks() == 2
    left = {young.id, f"{young.id}.1", f"{young.id}.origin", f"{old.id}.origin"}
    assert set(StoredWalk.objects.values_list("id", flat=True)) == left
    assert table.get(young.id) == young


@pytest.mark.cluster
def test_redis_forgets_a_walk_by_itself_and_keeps_no_copy_in_the_table(real_redis: redis.Redis):
    store, kept = RedisWalks(REDIS_URL, TableWalks()), walk(expires_in=600)
    store.put(kept)
    store.put_block(kept, 1, b"x")
    store.redis.close()
    for key in (f"{PREFIX}{kept.id}", f"{PREFIX}{kept.id}.1"):
        assert 590 <= real_redis.ttl(key) <= 600
    assert not StoredWalk.objects.filter(id__startswith=kept.id).exists()


@pytest.mark.cluster
def test_a_walk_that_began_while_redis_was_away_goes_on_when_it_is_back(real_redis: redis.Redis):
    kept = walk()
    RedisWalks(f"redis://127.0.0.1:{closed_port()}/0", TableWalks()).put(kept)
    back = RedisWalks(REDIS_URL, TableWalks())
    assert back.get(kept.id) == kept
    back.redis.close()


def test_a_redis_that_is_away_is_not_asked_for_every_page(caplog: pytest.LogCaptureFixture):
    store, kept = RedisWalks(f"redis://127.0.0.1:{closed_port()}/0", TableWalks()), walk()
    store.put(kept)
    for _ in range(20):
        assert store.get(kept.id) == kept
    assert [record.message for record in caplog.records] == ["walks are kept in the table: Redis is away"]
