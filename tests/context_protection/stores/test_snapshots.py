"""Walks are kept in a table or in Redis, and in the table while Redis is away (law 5, rulings 9 and 11)."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis

from context_protection.core.cursors import NewSnapshot, Sealer, Snapshot, SnapshotOrigin, Snapshots, SnapshotStore
from context_protection.core.errors import InvalidCursor, StoreUnavailable
from context_protection.core.upstream_pages import SourcePage, stored_pages
from context_protection.models import StoredWalk
from context_protection.stores.guard import FIRST_COOLDOWN, Guard
from context_protection.stores.redis_snapshots import PREFIX, RedisSnapshots
from context_protection.stores.table_snapshots import MAX_AT_ONCE, TableSnapshots
from context_protection.stores.transient import TransientSnapshots
from context_protection.stores.write_behind import WriteBehindSnapshots
from context_protection.tasks import purge_expired_walks
from tests.needs import REDIS
from tests.patience import PATIENCE
from tests.servers import Server, redis_server, until
from tests.simulators.tcp_proxy import tcp_proxy

pytestmark = pytest.mark.django_db

REDIS_URL = "redis://127.0.0.1:6379/14"
NEVER = 1e6  # seconds until a batch is written


def stored_snapshot(expires_in: float = 600, first_block: bytes = b"\x00\xff") -> Snapshot:
    now = time.time()
    return Snapshot(
        f"test-{uuid4().hex[:16]}", "list", "key:1", {"a": 1}, {"blocks": 2}, now, now + expires_in, first_block
    )


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def real_redis() -> Iterator[redis.Redis]:
    REDIS.or_skip()
    client = redis.Redis.from_url(REDIS_URL, socket_connect_timeout=1)
    yield client
    if keys := list(client.scan_iter(f"{PREFIX}test-*")):
        client.delete(*keys)
    client.close()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[Server]:
    with redis_server(tmp_path) as server:
        yield server


STORES = ["table", "write behind", "transient", pytest.param("redis", marks=pytest.mark.cluster), "redis away"]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[SnapshotStore]:
    if request.param == "table":
        yield TableSnapshots()
        return
    if request.param == "write behind":
        with WriteBehindSnapshots(TableSnapshots(), NEVER) as written_behind:
            yield written_behind
        return
    if request.param == "transient":
        yield TransientSnapshots()
        return
    if request.param == "redis":
        request.getfixturevalue("real_redis")
    url = REDIS_URL if request.param == "redis" else f"redis://127.0.0.1:{closed_port()}/0"
    snapshots = RedisSnapshots(url, TableSnapshots())
    yield snapshots
    snapshots.redis.close()


def test_what_is_put_is_got(store: SnapshotStore):
    kept = stored_snapshot()
    kept = store.put(kept, [b"\x00second\xff"])
    assert store.get(kept.id) == kept
    assert store.origin(kept.id) == kept.origin
    assert store.blocks(kept, [1, 2]) == [b"\x00second\xff", None]
    assert store.has_blocks(kept, 1)
    assert not store.has_blocks(kept, 2)


def test_what_was_never_put_is_absent_unless_it_may_be_in_a_redis_that_is_away(
    store: SnapshotStore, request: pytest.FixtureRequest
):
    if "redis away" in request.node.name:
        for look in (store.get, store.origin):
            with pytest.raises(StoreUnavailable) as refused:
                look("nothing")
            assert refused.value.retry_after == 1
        return
    assert store.get("nothing") is None
    assert store.origin("nothing") is None
    assert store.blocks(stored_snapshot(), [1]) == [None]


def test_putting_again_replaces(store: SnapshotStore):
    kept = stored_snapshot()
    store.put(kept)
    longer = replace(kept, expires_at=kept.expires_at + 600)
    store.put(longer)
    assert store.get(kept.id) == longer


def test_a_whole_walk_goes_on_from_any_store(store: SnapshotStore):
    snapshots = Snapshots(store, Sealer(["k" * 40]))
    begun = snapshots.begin(NewSnapshot(SnapshotOrigin("list", "key:1", {}), {}, [b"first", b"second"]))
    got, position = snapshots.resume(snapshots.cursor(begun, 7), "list", "key:1", {})
    assert (position, snapshots.block(got, 0), snapshots.block(got, 1)) == (7, b"first", b"second")


def test_an_expired_walk_of_the_table_is_as_good_as_absent():
    table, old = TableSnapshots(), stored_snapshot(expires_in=-1)
    table.put(old, [b"x"])
    assert StoredWalk.objects.filter(id=old.id).exists()
    assert table.get(old.id) is None
    assert table.blocks(old, [1]) == [None]


def test_nobody_waits_long_for_the_table_behind_others_who_wait_for_it():
    table = TableSnapshots()
    turns = table._turns = threading.Semaphore(MAX_AT_ONCE)  # as beside Postgres, whose tables can be locked
    for _ in range(MAX_AT_ONCE):
        assert turns.acquire(blocking=False)
    with pytest.raises(StoreUnavailable):
        table.get("any")
    turns.release()
    assert [table.get("any") for _ in range(2)] == [None, None], "a turn is given back"


def test_the_purge_removes_what_has_expired_and_nothing_else():
    table, old, young = TableSnapshots(), stored_snapshot(expires_in=-1), stored_snapshot()
    for each in (old, young):
        table.put(each, [b"x"])
    assert purge_expired_walks() == 2
    left = {young.id, f"{young.id}.1", f"{young.id}.origin", f"{old.id}.origin"}
    assert set(StoredWalk.objects.values_list("id", flat=True)) == left
    assert table.get(young.id) == young


@pytest.mark.cluster
def test_redis_forgets_a_walk_by_itself_and_keeps_no_copy_in_the_table(real_redis: redis.Redis):
    store, kept = RedisSnapshots(REDIS_URL, TableSnapshots()), stored_snapshot(expires_in=600)
    store.put(kept, [b"x"])
    store.redis.close()
    for key in (f"{PREFIX}{kept.id}", f"{PREFIX}{kept.id}.1"):
        assert 590 <= real_redis.ttl(key) <= 600
    assert not StoredWalk.objects.filter(id__startswith=kept.id).exists()


@pytest.mark.cluster
def test_a_walk_that_began_while_redis_was_away_goes_on_when_it_is_back(real_redis: redis.Redis):
    kept = stored_snapshot()
    RedisSnapshots(f"redis://127.0.0.1:{closed_port()}/0", TableSnapshots()).put(kept)
    back = RedisSnapshots(REDIS_URL, TableSnapshots())
    assert back.get(kept.id) == kept
    back.redis.close()


def test_a_redis_that_is_away_is_not_asked_for_every_page(caplog: pytest.LogCaptureFixture):
    store, kept = RedisSnapshots(f"redis://127.0.0.1:{closed_port()}/0", TableSnapshots()), stored_snapshot()
    store.put(kept)
    for _ in range(20):
        assert store.get(kept.id) == kept
    assert [record.message for record in caplog.records] == ["a store is unavailable"]


@pytest.mark.cluster
def test_a_walk_of_redis_is_unavailable_while_redis_is_away_and_goes_on_afterwards(own_redis: Server):
    snapshots = Snapshots(RedisSnapshots(own_redis.url, TableSnapshots()), Sealer(["k" * 40]))
    begun = snapshots.begin(NewSnapshot(SnapshotOrigin("list", "key:1", {}), {}, [b"first", b"second"]))
    cursor = snapshots.cursor(begun, 7)
    own_redis.freeze()
    started = time.monotonic()
    for read in (lambda: snapshots.resume(cursor, "list", "key:1", {}), lambda: snapshots.block(begun, 1)):
        with pytest.raises(StoreUnavailable) as refused:
            read()
        assert refused.value.retry_after in (1, 2)
    assert time.monotonic() - started < 5, "the second was not asked of Redis"
    own_redis.thaw()
    until(lambda: snapshots.resume(cursor, "list", "key:1", {}))
    assert snapshots.block(begun, 1) == b"second"
    with redis.Redis.from_url(own_redis.url) as client:
        client.flushall()
    with pytest.raises(InvalidCursor) as expired:
        snapshots.resume(cursor, "list", "key:1", {})
    assert expired.value.reason == "cursor_expired"
    again = snapshots.begin(NewSnapshot(SnapshotOrigin("list", "key:1", {}), {}, [b"first", b"second"]))
    assert snapshots.block(again, 1) == b"second"


@pytest.mark.cluster
def test_a_page_asks_redis_once_for_its_walk_and_once_for_its_rows(own_redis: Server):
    pages = [SourcePage([{"id": number}]).pack() for number in range(7)]
    with tcp_proxy(int(own_redis.url.split(":")[2].split("/")[0])) as to_redis:
        store = RedisSnapshots(f"redis://127.0.0.1:{to_redis.port}/0", TableSnapshots())
        snapshots = Snapshots(store, Sealer(["k" * 40]))
        cursor = snapshots.cursor(snapshots.begin(NewSnapshot(SnapshotOrigin("list", "key:1", {}), {}, pages)), 7)

        def questions(read: Callable[[Snapshot], list[Any]], rows: int) -> int:
            before = len(to_redis.asked)
            snapshot, _ = snapshots.resume(cursor, "list", "key:1", {})
            assert len(read(snapshot)) == rows
            return len(to_redis.asked) - before

        assert questions(lambda snapshot: snapshots.blocks(snapshot, [0]), 1) == 1
        assert questions(lambda snapshot: snapshots.blocks(snapshot, [0, 2, 6]), 3) == 2
        assert questions(lambda snapshot: stored_pages(snapshot, snapshots, 0, 0), 1) == 1
        assert questions(lambda snapshot: stored_pages(snapshot, snapshots, 0, 4), 5) == 2
        assert questions(lambda snapshot: stored_pages(snapshot, snapshots, 2, 3), 4) == 2
        assert questions(lambda snapshot: stored_pages(snapshot, snapshots, 1), 6) == 3
        with pytest.raises(InvalidCursor):
            questions(lambda snapshot: stored_pages(snapshot, snapshots, 7), 0)
        store.redis.close()


def test_callers_do_not_wait_while_a_store_is_asked_whether_it_is_back():
    now, asked, let_go = [0.0], threading.Event(), threading.Event()

    def probe() -> None:
        asked.set()
        assert let_go.wait(PATIENCE)

    guard = Guard("a store", lambda error: isinstance(error, OSError), lambda: now[0], probe)
    with pytest.raises(StoreUnavailable):
        guard.attempt(lambda: socket.create_connection(("127.0.0.1", closed_port())))
    now[0] += FIRST_COOLDOWN
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            guard.attempt(lambda: "an answer")
        assert asked.wait(PATIENCE)
    let_go.set()
    assert until(lambda: guard.attempt(lambda: "an answer")) == "an answer"


@pytest.mark.cluster
def test_a_full_redis_is_read_and_what_it_has_no_room_for_goes_to_the_table(own_redis: Server):
    store = RedisSnapshots(own_redis.url, TableSnapshots())
    old = store.put(stored_snapshot(), [b"one", b"two"])
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory", 1)
        before = client.info("commandstats").get("cmdstat_set", {}).get("calls", 0)
        new = [store.put(stored_snapshot(first_block=b"x" * 1000)) for _ in range(20)]
        refused = client.info("commandstats")["cmdstat_set"]["calls"] - before
    assert refused <= 4, "full, it is not tried for every walk"
    assert all(each.in_table and store.get(each.id) == each for each in new)
    assert store.get(old.id) == old
    assert store.add_block(old, 3, b"three") == b"three"
    moved = store.get(old.id)
    assert moved is not None
    assert moved.in_table
    assert store.blocks(moved, [1, 2, 3, 4]) == [b"one", b"two", b"three", None]
    store.redis.close()
