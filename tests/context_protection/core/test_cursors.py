"""Cursors: sealed, bound, alive for ten minutes from their issue (FR-003, FR-007, FR-008, rulings 8 to 12)."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from cryptography.fernet import Fernet

from context_protection.core.cursors import (
    LIFETIME,
    LONGEST_TOKEN,
    TTL,
    NewSnapshot,
    Sealer,
    Snapshot,
    SnapshotOrigin,
    Snapshots,
)
from context_protection.core.errors import InvalidCursor, InvalidHandle
from tests.properties.desk import DictSnapshots

KEY = "k" * 40
ORIGIN = SnapshotOrigin("list_bookings", "key:1", {"status": "new", "order": "-id"})
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sealer(clock: Clock) -> Sealer:
    return Sealer([KEY], clock)


class ForgetfulWalks(DictSnapshots):
    """Forgets what has expired, as real stores do."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.until: dict[str, float] = {}

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        names = [snapshot.id, *(f"{snapshot.id}.{number}" for number in range(1, len(blocks) + 1))]
        self.until.update(dict.fromkeys(names, snapshot.expires_at))
        return super().put(snapshot, blocks)

    def get(self, snapshot_id: str) -> Snapshot | None:
        return super().get(snapshot_id) if self.until.get(snapshot_id, 0) > self.clock() else None

    def blocks(self, snapshot: Snapshot, numbers: Sequence[int]) -> list[bytes | None]:
        found = super().blocks(snapshot, numbers)
        kept = [self.until.get(f"{snapshot.id}.{number}", 0) > self.clock() for number in numbers]
        return [data if there else None for data, there in zip(found, kept, strict=True)]


@pytest.fixture
def snapshots(sealer: Sealer, clock: Clock) -> Snapshots:
    return Snapshots(ForgetfulWalks(clock), sealer)


def begun(snapshots: Snapshots, blocks: tuple[bytes, ...] = ()) -> Snapshot:
    return snapshots.begin(NewSnapshot(ORIGIN, {"total": 9}, blocks))


def refusal(snapshots: Snapshots, token: str, **changes: Any) -> InvalidCursor:
    asked = {"operation": "list_bookings", "caller": "key:1", "arguments": {}} | changes
    with pytest.raises(InvalidCursor) as refused:
        snapshots.resume(token, **asked)
    assert "without cursor" in refused.value.suggestion
    return refused.value


@pytest.mark.parametrize("position", [0, 50, ["2026-11-20T13:00:00+00:00", 7], ["a", "rows", 3], None])
def test_a_position_comes_out_as_it_went_in(sealer: Sealer, position: Any):
    assert sealer.open(sealer.seal("w1", position)) == ("w1", position)


def test_a_cursor_is_the_same_bytes_within_a_minute_and_none_of_another_position(sealer: Sealer, clock: Clock):
    one = sealer.seal("w1", 50)
    clock.now += 30
    assert sealer.seal("w1", 50) == one
    assert len({one[20:60], sealer.seal("w1", 51)[20:60], sealer.seal("w2", 50)[20:60]}) == 3, "not even in part"
    clock.now += 60
    assert sealer.seal("w1", 50) != one


def test_no_other_spelling_of_a_cursor_is_accepted(sealer: Sealer):
    """Base64 ignores the last bits of its last character, and lenient readers skip what is not of its alphabet."""
    for position in range(9):
        token = sealer.seal("w" * position, position)
        for other in (f"{token}====", f"{token}\n", f" {token}", f"{token[:9]} {token[9:]}", token.replace("-", "+")):
            if other != token:
                with pytest.raises(InvalidCursor):
                    sealer.open(other)
        for letter in ALPHABET.replace(token[-1], ""):
            with pytest.raises(InvalidCursor):
                sealer.open(token[:-1] + letter)


@pytest.mark.parametrize("token", ["", "=", "é" * 60, "A" * LONGEST_TOKEN, "A" * 10**6, "gAAAAA", "\0", "🏖️"])
def test_what_was_never_a_cursor_is_invalid(sealer: Sealer, token: str):
    with pytest.raises(InvalidCursor) as refused:
        sealer.open(token)
    assert refused.value.reason == "cursor_invalid"


def test_a_cursor_of_another_secret_is_invalid(sealer: Sealer, clock: Clock):
    with pytest.raises(InvalidCursor):
        sealer.open(Sealer(["other" * 10], clock).seal("w1", 1))


def test_the_secret_itself_seals_nothing(sealer: Sealer, clock: Clock):
    """Cursors have a key of their own, derived from the application's."""
    raw = Fernet(base64.urlsafe_b64encode(KEY[:32].encode()))
    with pytest.raises(InvalidCursor) as refused:
        sealer.open(raw.encrypt_at_time(b'["w1",1]', int(clock.now)).rstrip(b"=").decode())
    assert refused.value.reason == "cursor_invalid"


@pytest.mark.parametrize("second", [0, 59])
@pytest.mark.parametrize(("age", "works"), [(0, True), (600, True), (TTL + 1, False), (10**6, False)])
def test_a_cursor_lives_ten_minutes_and_up_to_a_minute_of_grace(
    sealer: Sealer, clock: Clock, second: int, age: int, works: bool
):
    clock.now += second
    token = sealer.seal("w1", 1)
    clock.now += age
    if works:
        assert sealer.open(token) == ("w1", 1)
    else:
        with pytest.raises(InvalidCursor) as refused:
            sealer.open(token)
        assert refused.value.reason == "cursor_expired"


@pytest.mark.parametrize(("ahead", "works"), [(0, True), (60, True), (61, False), (3600, False), (10**7, False)])
def test_a_cursor_may_be_a_minute_ahead_of_the_clock_and_no_more(sealer: Sealer, clock: Clock, ahead: int, works: bool):
    """Clocks of machines differ a little; a stamp far ahead would make a cursor that lives longer than promised."""
    stamp = int(clock.now) + ahead
    issued = sealer._sealing.encrypt_at_time(b'["w1",1]', stamp).rstrip(b"=").decode()
    if works:
        assert sealer.open(issued) == ("w1", 1)
    else:
        with pytest.raises(InvalidCursor) as refused:
            sealer.open(issued)
        assert refused.value.reason == "cursor_invalid"
        assert "in the future" in refused.value.message
        assert "without cursor" in refused.value.suggestion


def test_a_walk_is_unpacked_as_it_was_packed(snapshots: Snapshots):
    snapshot = begun(snapshots, (b"\x00\xff[binary]",))
    assert Snapshot.unpack(snapshot.pack()) == snapshot
    assert Snapshot.unpack(memoryview(snapshot.pack())) == snapshot  # type: ignore[arg-type]


def test_a_walk_goes_on_for_who_began_it(snapshots: Snapshots):
    snapshot = begun(snapshots)
    assert snapshots.resume(snapshots.cursor(snapshot, 5), "list_bookings", "key:1", {"status": "new"}) == (snapshot, 5)


@pytest.mark.parametrize(
    ("changes", "reason", "words"),
    [
        ({"caller": "key:2"}, "cursor_invalid", "another key"),
        ({"operation": "list_listings"}, "cursor_mismatch", "another operation"),
        ({"arguments": {"status": "cancelled"}}, "cursor_mismatch", "status cannot change"),
        ({"arguments": {"order": "id"}}, "cursor_mismatch", "order cannot change"),
        ({"arguments": {"status": "new", "propertyId": 7}}, "cursor_mismatch", "propertyId cannot change"),
    ],
)
def test_a_walk_is_bound_to_caller_operation_and_arguments(
    snapshots: Snapshots, changes: dict[str, Any], reason: str, words: str
):
    error = refusal(snapshots, snapshots.cursor(begun(snapshots), 5), **changes)
    assert error.reason == reason
    assert words in error.message


def test_a_walk_that_is_gone_has_expired(snapshots: Snapshots, sealer: Sealer):
    assert refusal(snapshots, sealer.seal("never-stored", 1)).reason == "cursor_expired"


def test_the_life_of_a_walk_grows_with_its_cursors_in_all_its_blocks(snapshots: Snapshots, clock: Clock):
    snapshot = begun(snapshots, (b"first", b"second", b"third"))
    store = snapshots.store
    assert isinstance(store, DictSnapshots)
    for _ in range(20):  # more than three hours of a page every ten minutes
        token = snapshots.cursor(snapshot, 5)
        clock.now += 600
        snapshot, _ = snapshots.resume(token, "list_bookings", "key:1", {})
        assert snapshot.expires_at >= clock.now + TTL, "a cursor that this page issues will find its walk"
        assert [snapshots.block(snapshot, number) for number in range(3)] == [b"first", b"second", b"third"]
    assert Snapshot.unpack(store.kept[snapshot.id]).expires_at == snapshot.expires_at


def test_the_same_call_on_the_same_content_is_the_same_walk(snapshots: Snapshots, clock: Clock):
    snapshot = begun(snapshots, (b"first", b"second"))
    clock.now += 60
    assert begun(snapshots, (b"first", b"second")) == snapshot, "taken when it was taken first"
    assert begun(snapshots, (b"first", b"other")).id != snapshot.id
    assert begun(snapshots, (b"firsts", b"econd")).id != snapshot.id
    assert (
        snapshots.begin(NewSnapshot(replace(ORIGIN, caller="key:2"), {"total": 9}, (b"first", b"second"))).id
        != snapshot.id
    )


def test_the_order_of_arguments_makes_no_other_walk(snapshots: Snapshots):
    one, other = {"status": "new", "order": "-id"}, {"order": "-id", "status": "new"}
    begun_with = [snapshots.begin(NewSnapshot(replace(ORIGIN, arguments=each), {})) for each in (one, other)]
    assert begun_with[0].id == begun_with[1].id


def test_the_same_call_keeps_its_walk_alive(snapshots: Snapshots, clock: Clock):
    begun(snapshots, (b"first", b"second"))
    clock.now += LIFETIME + 60
    snapshot = begun(snapshots, (b"first", b"second"))
    assert snapshot.expires_at >= clock.now + LIFETIME
    clock.now += LIFETIME
    assert snapshots.block(snapshots.opened(snapshot.id, "key:1"), 1) == b"second"


def test_what_a_store_keeps_beside_a_walk_is_no_handle(snapshots: Snapshots):
    snapshot = begun(snapshots, (b"first", b"second"))
    for handle in (f"{snapshot.id}.origin", f"{snapshot.id}.1", f"{snapshot.id}\n"):
        with pytest.raises(InvalidHandle) as refused:
            snapshots.opened(handle, "key:1")
        assert refused.value.reason == "handle_invalid"


def test_a_handle_opens_the_walk_for_its_owner_for_an_hour_since_its_last_use(snapshots: Snapshots, clock: Clock):
    snapshot = begun(snapshots, (b"first",))
    for _ in range(3):
        clock.now += LIFETIME
        assert snapshots.block(snapshots.opened(snapshot.id, "key:1"), 0) == b"first"
    for handle, caller in ((snapshot.id, "key:2"), ("never-was", "key:1"), ("", "key:1"), ("x" * 10**6, "key:1")):
        with pytest.raises(InvalidHandle) as refused:
            snapshots.opened(handle, caller)
        assert refused.value.reason == "handle_invalid"


def test_an_expired_handle_names_the_call_that_makes_it_again_to_its_owner_alone(snapshots: Snapshots, clock: Clock):
    snapshot = begun(snapshots)
    clock.now += 3 * LIFETIME
    with pytest.raises(InvalidHandle) as refused:
        snapshots.opened(snapshot.id, "key:1")
    assert refused.value.reason == "handle_expired"
    assert 'list_bookings with {"status":"new","order":"-id"}' in refused.value.suggestion
    with pytest.raises(InvalidHandle) as refused:
        snapshots.opened(snapshot.id, "key:2")
    assert refused.value.reason == "handle_invalid"


def test_the_call_that_began_a_walk_makes_again_what_the_store_has_lost_of_it(snapshots: Snapshots, clock: Clock):
    snapshot = begun(snapshots, (b"first", b"second"))
    assert isinstance(snapshots.store, DictSnapshots)
    for minutes in (1, 90):  # while it is kept as it is, and when it has to be kept for longer
        clock.now += 60 * minutes
        del snapshots.store.kept[f"{snapshot.id}.1"]
        again = begun(snapshots, (b"first", b"second"))
        assert again.id == snapshot.id
        assert [snapshots.block(again, number) for number in range(2)] == [b"first", b"second"]


def test_a_handle_to_what_the_store_has_lost_has_expired(snapshots: Snapshots, clock: Clock):
    snapshot = begun(snapshots, (b"first", b"second"))
    assert isinstance(snapshots.store, DictSnapshots)
    del snapshots.store.kept[f"{snapshot.id}.1"]
    clock.now += 90 * 60
    with pytest.raises(InvalidHandle) as refused:
        snapshots.opened(snapshot.id, "key:1")
    assert refused.value.reason == "handle_expired"


def test_pages_in_quick_succession_write_nothing(snapshots: Snapshots, clock: Clock):
    snapshot = begun(snapshots, (b"first", b"second"))
    assert isinstance(snapshots.store, DictSnapshots)
    before = dict(snapshots.store.kept)
    for _ in range(5):
        clock.now += 60
        snapshots.resume(snapshots.cursor(snapshot, 5), "list_bookings", "key:1", {})
    assert snapshots.store.kept == before


def test_a_block_that_is_gone_means_that_the_cursor_has_expired(snapshots: Snapshots):
    snapshot = begun(snapshots, (b"first", b"second"))
    assert isinstance(snapshots.store, DictSnapshots)
    del snapshots.store.kept[f"{snapshot.id}.1"]
    with pytest.raises(InvalidCursor) as refused:
        snapshots.block(snapshot, 1)
    assert refused.value.reason == "cursor_expired"
