"""Snapshots that are written behind the answers: readable at once, written soon, and never promised in vain."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context_protection.core.cursors import NewSnapshot, Sealer, Snapshot, SnapshotOrigin, Snapshots
from context_protection.core.errors import StoreUnavailable
from context_protection.stores.table_snapshots import AT_ONCE, TableSnapshots
from context_protection.stores.write_behind import WriteBehindSnapshots
from tests.servers import until

NEVER = 1e6  # seconds until a batch is written


def snapshot_taken(taken_at: float, name: str = "") -> Snapshot:
    return Snapshot(name or uuid4().hex[:16], "list", "key:1", {}, {"blocks": 1}, taken_at, taken_at + 600, b"rows")


@pytest.fixture
def behind() -> Iterator[WriteBehindSnapshots]:
    with WriteBehindSnapshots(TableSnapshots(), NEVER) as store:
        yield store


@pytest.mark.django_db
def test_a_new_snapshot_is_readable_before_it_is_written(behind: WriteBehindSnapshots):
    kept = behind.put(snapshot_taken(time.time()), [b"more rows"])
    assert TableSnapshots().get(kept.id) is None
    assert (behind.get(kept.id), behind.blocks(kept, [1])) == (kept, [b"more rows"])


@pytest.mark.django_db(transaction=True)
def test_a_process_beside_the_one_that_writes_finds_what_was_just_promised():
    other = WriteBehindSnapshots(TableSnapshots())
    other.is_beside_another = True
    with WriteBehindSnapshots(TableSnapshots()) as store:
        kept = store.put(snapshot_taken(time.time()))
        assert other.get(kept.id) == kept
    assert other.get("never-promised") is None


@pytest.mark.django_db
def test_what_waits_is_written_when_the_process_ends():
    with WriteBehindSnapshots(TableSnapshots(), NEVER) as store:
        kept = store.put(snapshot_taken(time.time()), [b"more rows"])
    assert TableSnapshots().get(kept.id) == kept
    assert TableSnapshots().blocks(kept, [1]) == [b"more rows"]
    after = store.put(snapshot_taken(time.time()))
    assert TableSnapshots().get(after.id) == after, "and from then on at once"


@pytest.mark.django_db
def test_a_batch_is_written_with_few_statements(behind: WriteBehindSnapshots):
    """Whatever the sizes: large rows are written one by one."""
    sizes = [10, 20_000, 100, 3_000, 17_000] * 5
    kept = [behind.put(snapshot_taken(time.time()), [bytes([n]) * size, b"more"]) for n, size in enumerate(sizes)]
    with CaptureQueriesContext(connection) as queries:
        behind.flush()
    found = [TableSnapshots().get(each.id) for each in kept]
    assert found == kept
    assert [TableSnapshots().blocks(each, [1, 2]) for each in kept] == [
        [bytes([n]) * size, b"more"] for n, size in enumerate(sizes)
    ]
    written = [query["sql"] for query in queries if "INSERT" in query["sql"]]
    assert len(written) == 90 // AT_ONCE + 1
    assert written[-1].startswith(f"{90 % AT_ONCE + 10} times:"), "the others are small"


@pytest.mark.django_db
def test_a_snapshot_that_was_written_before_is_written_again_with_others(behind: WriteBehindSnapshots):
    first = [behind.put(snapshot_taken(time.time() - 60, str(n))) for n in range(4)]
    behind.flush()
    again = [behind.put(replace(each, expires_at=each.expires_at + 60)) for each in first for _ in range(2)]
    others = [behind.put(snapshot_taken(time.time())) for _ in range(20)]
    behind.flush()
    assert [TableSnapshots().get(each.id) for each in [*again, *others]] == [*again, *others]


@pytest.mark.django_db(transaction=True)
def test_a_thread_writes_soon():
    with WriteBehindSnapshots(TableSnapshots(), 0.01) as store:
        kept = store.put(snapshot_taken(time.time()))

        def check() -> None:
            assert TableSnapshots().get(kept.id) == kept

        until(check)


@pytest.mark.django_db
def test_an_equal_snapshot_keeps_its_first_time_while_it_lives(behind: WriteBehindSnapshots):
    now = time.time()
    first = behind.put(snapshot_taken(now))
    behind.flush()
    again = behind.put(snapshot_taken(now + 300, first.id))
    assert (again.taken_at, again.expires_at) == (now, now + 900)
    behind.flush()
    assert TableSnapshots().get(first.id) == again
    assert behind.put(snapshot_taken(now + 901, first.id)).taken_at == now + 901, "the first has expired"


@pytest.mark.django_db
def test_a_block_is_added_to_a_snapshot_that_waits(behind: WriteBehindSnapshots):
    kept = behind.put(snapshot_taken(time.time()))
    assert behind.add_block(kept, 1, b"a later page") == b"a later page"
    assert behind.add_block(kept, 1, b"another call's") == b"a later page"
    behind.put(replace(kept, expires_at=kept.expires_at + 600))
    assert behind.blocks(kept, [1, 2]) == [b"a later page", None]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="beside Postgres, nothing is written behind")
@pytest.mark.django_db
def test_nothing_is_promised_that_cannot_be_written(behind: WriteBehindSnapshots):
    snapshots = Snapshots(behind, Sealer(["k" * 40]))

    def begun(content: bytes) -> Snapshot:
        return snapshots.begin(NewSnapshot(SnapshotOrigin("list", "key:1", {}), {}, [content]))

    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = on")
    promised = begun(b"before anybody knows")
    assert promised.is_stored
    with pytest.raises(StoreUnavailable):
        behind.flush()
    assert not behind.defers_writes
    assert not begun(b"now it is known").is_stored
    assert behind.get(promised.id) == promised, "what was promised before can be read"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = off")
    until(behind.flush)  # once the guard tries again
    assert TableSnapshots().get(promised.id) == promised
    assert behind.defers_writes


@pytest.mark.django_db(transaction=True)
def test_one_that_cannot_be_written_takes_no_other_along(caplog: pytest.LogCaptureFixture):
    with WriteBehindSnapshots(TableSnapshots(), NEVER) as store:
        kept = [store.put(snapshot_taken(time.time())) for _ in range(2)]
        bad = store.put(replace(snapshot_taken(time.time()), arguments={"no JSON": object()}))
        kept.append(store.put(snapshot_taken(time.time())))
    assert [TableSnapshots().get(each.id) for each in kept] == kept
    assert store.get(bad.id) is None
    assert "a snapshot was not written" in caplog.text


@pytest.mark.django_db
def test_batches_of_any_size_are_written_by_two_statements(behind: WriteBehindSnapshots):
    """A connection to SQLite keeps its last 128 statements, with the values that they last had."""
    statements = set()

    def note(execute: Any, sql: str, *arguments: Any) -> Any:
        statements.add(sql)
        return execute(sql, *arguments)

    with connection.execute_wrapper(note):
        for size in (1, 2, 3, 5, 9):
            kept = [behind.put(snapshot_taken(time.time()), [b"more rows"] * size) for _ in range(size)]
            behind.flush()
            assert [TableSnapshots().blocks(each, [size]) for each in kept] == [[b"more rows"]] * size
    assert len([each for each in statements if each.startswith("INSERT")]) == 2


@pytest.mark.django_db
def test_more_than_may_wait_is_written_at_once(behind: WriteBehindSnapshots, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("context_protection.stores.write_behind.MOST_BYTES", 10)
    waiting = [behind.put(snapshot_taken(time.time()), [b"some more rows"])]
    written = behind.put(snapshot_taken(time.time()))
    assert [TableSnapshots().get(each.id) is not None for each in (*waiting, written)] == [False, True]
