"""Every error of a cursor or a handle, in full: its message, what was expected and what to do next."""

from typing import Any

import pytest

from context_protection.core.cursors import (
    TTL,
    NewSnapshot,
    Sealer,
    Snapshot,
    SnapshotOrigin,
    Snapshots,
    derived_key,
    invalid_handle,
)
from context_protection.core.errors import CallError, InvalidCursor, InvalidHandle, store_unavailable
from tests.properties.desk import DictSnapshots

KEY = "k" * 40
ORIGIN = SnapshotOrigin("list_bookings", "key:1", {"status": "new"})
NOW = 1_800_000_000.0
NOT_OURS = "The cursor was not issued by this server, or has been altered."


class Clock:
    now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def snapshots(clock: Clock) -> Snapshots:
    return Snapshots(DictSnapshots(), Sealer([KEY], clock))


def cursor_error(reason: str, message: str, token: str) -> dict[str, Any]:
    return {
        "code": -32003,
        "reason": reason,
        "message": message,
        "data": {
            "parameter": "cursor",
            "value": token if len(token) <= 80 else f"{token[:79]}…",
            "expected": "the nextCursor of an answer of this operation, with the same filters, order and key",
            "suggestion": "Start again without cursor; use each nextCursor within 10 minutes.",
        },
    }


def document(error: CallError) -> dict[str, Any]:
    shown: dict[str, Any] = error.document()["error"]
    return shown


@pytest.mark.parametrize("token", ["nonsense", "é", "a" * 10_000, "gAAAAAB="])
def test_a_token_that_is_not_ours(snapshots: Snapshots, token: str):
    with pytest.raises(InvalidCursor) as raised:
        snapshots.resume(token, "list_bookings", "key:1", {})
    assert document(raised.value)["reason"] == "cursor_invalid"
    assert document(raised.value)["message"] == NOT_OURS
    assert raised.value.value == token


@pytest.mark.parametrize(
    ("operation", "caller", "arguments", "reason", "message"),
    [
        ("list_bookings", "key:2", {}, "cursor_invalid", "The cursor was issued to another key."),
        ("list_listings", "key:1", {}, "cursor_mismatch", "The cursor was issued by another operation."),
        (
            "list_bookings",
            "key:1",
            {"status": "pending"},
            "cursor_mismatch",
            "The cursor was issued for another status; status cannot change from page to page.",
        ),
    ],
)
def test_a_cursor_of_another_call(
    snapshots: Snapshots, operation: str, caller: str, arguments: dict[str, Any], reason: str, message: str
):
    token = snapshots.cursor(snapshots.begin(NewSnapshot(ORIGIN, {}, [b"rows"])), 3)
    with pytest.raises(InvalidCursor) as raised:
        snapshots.resume(token, operation, caller, arguments)
    shown = document(raised.value)
    assert shown["data"].pop("value")[:20] == token[:20]
    expected = cursor_error(reason, message, token)
    del expected["data"]["value"]
    assert shown == expected


@pytest.mark.parametrize(
    ("seconds", "reason", "message"),
    [
        (TTL + 61, "cursor_expired", "The cursor has expired."),
        (-120, "cursor_invalid", "The cursor's time of issue is in the future."),
    ],
)
def test_a_cursor_of_another_time(snapshots: Snapshots, clock: Clock, seconds: int, reason: str, message: str):
    token = snapshots.cursor(snapshots.begin(NewSnapshot(ORIGIN, {}, [b"rows"])), 3)
    clock.now += seconds
    with pytest.raises(InvalidCursor) as raised:
        snapshots.resume(token, "list_bookings", "key:1", {})
    assert (raised.value.reason, raised.value.message, raised.value.value) == (reason, message, token)


def test_a_cursor_whose_snapshot_is_gone(snapshots: Snapshots):
    token = snapshots.sealer.seal("A" * 16, 1)
    with pytest.raises(InvalidCursor) as raised:
        snapshots.resume(token, "list_bookings", "key:1", {})
    assert (raised.value.reason, raised.value.message) == ("cursor_expired", "The cursor has expired.")
    assert raised.value.value == token


def test_a_block_that_is_gone(snapshots: Snapshots):
    snapshot = snapshots.begin(NewSnapshot(ORIGIN, {}, [b"one"]))
    for read in (lambda: snapshots.block(snapshot, 4), lambda: list(snapshots.blocks_from(snapshot, 4))):
        with pytest.raises(InvalidCursor) as raised:
            read()
        assert document(raised.value) == cursor_error("cursor_expired", "The cursor has expired.", "")


def test_blocks_are_added_once_and_read_in_their_order(snapshots: Snapshots):
    snapshot = snapshots.begin(NewSnapshot(ORIGIN, {}, [b"one", b"two"]))
    assert snapshots.add_block(snapshot, 2, b"three") == b"three"
    assert snapshots.add_block(snapshot, 2, b"another") == b"three", "the block that was added first stays"
    assert list(snapshots.blocks_from(snapshot, 0)) == [b"one", b"two", b"three"]
    assert list(snapshots.blocks_from(snapshot, 2)) == [b"three"]
    assert snapshots.blocks(snapshot, [2, 0]) == [b"three", b"one"]


def test_a_snapshot_is_stored_for_its_own_call_and_content_alone(snapshots: Snapshots):
    new = NewSnapshot(ORIGIN, {"n": 1}, [b"one"])
    assert not snapshots.has_stored(new)
    snapshots.begin(new)
    assert snapshots.has_stored(new)
    assert not snapshots.has_stored(NewSnapshot(ORIGIN, {"n": 2}, [b"one"]))
    assert not snapshots.has_stored(NewSnapshot(ORIGIN, {"n": 1}, [b"two"]))


def test_a_handle_that_nothing_is_known_of(snapshots: Snapshots):
    with pytest.raises(InvalidHandle) as raised:
        snapshots.opened("A" * 16, "key:1")
    assert raised.value.made_by == ""
    assert document(raised.value) == {
        "code": -32003,
        "reason": "handle_invalid",
        "message": "There is no such result.",
        "data": {
            "parameter": "handle",
            "value": "A" * 16,
            "expected": "the resultHandle of an answer that the same key received",
            "suggestion": "Call the list whose rows you want to examine with format=handle, and set handle to its "
            "meta.resultHandle.",
        },
    }


def test_a_handle_whose_call_is_still_known():
    error = invalid_handle("A" * 16, ORIGIN)
    assert error.made_by == "list_bookings"
    assert document(error) == {
        "code": -32003,
        "reason": "handle_expired",
        "message": "The result has expired.",
        "data": {
            "parameter": "handle",
            "value": "A" * 16,
            "expected": "a handle that was issued or used within the last hour",
            "suggestion": 'Call list_bookings with {"status":"new"} again; its answer carries a new resultHandle.',
        },
    }


def test_a_malformed_handle_is_looked_up_nowhere(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    snapshots = Snapshots(DictSnapshots(), Sealer([KEY], clock))
    looked_up: list[str] = []
    for lookup in ("get", "origin"):
        monkeypatch.setattr(snapshots.store, lookup, looked_up.append)
    with pytest.raises(InvalidHandle):
        snapshots.opened("'; DROP TABLE", "key:1")
    assert looked_up == []


def test_keys_and_names_are_derived_as_they_were():
    """Another derivation would make every cursor and handle in use invalid."""
    assert derived_key(KEY, b"sluice cursor") == b"dLOTUPUqTB5JiAr3hNYMWmQp1NZMFuWuebKJphW7YRQ="
    assert Sealer([KEY]).name(b"a", b"bc") == "rVUHfo8F8ebMzzpc"
    assert Sealer([KEY]).name(b"ab", b"c") != "rVUHfo8F8ebMzzpc"


def test_a_version_of_a_text_has_one_handle_of_its_own(snapshots: Snapshots):
    handle = snapshots.handle_of_text("read", "a.md", "1")
    assert handle == snapshots.handle_of_text("read", "a.md", "1")
    others = [("list", "a.md", "1"), ("read", "b.md", "1"), ("read", "a.md", "2")]
    assert len({handle, *(snapshots.handle_of_text(*each) for each in others)}) == 4


def test_nothing_counts_as_stored_while_the_store_is_unavailable():
    class Unavailable(DictSnapshots):
        def recall(self, snapshot_id: str) -> Snapshot | None:
            raise store_unavailable(1)

    unavailable = Snapshots(Unavailable(), Sealer([KEY]))
    assert not unavailable.has_stored(NewSnapshot(ORIGIN, {}, [b"one"]))
