"""Cursors: sealed, bound, alive for ten minutes from their issue (FR-003, FR-007, FR-008, rulings 8 to 12)."""

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from cryptography.fernet import Fernet

from context_protection.core.cursors import KEPT, LONGEST_TOKEN, TTL, Origin, Sealer, Snapshot, Walk, Walks
from context_protection.core.errors import InvalidCursor, InvalidHandle
from tests.properties.desk import DictWalks

KEY = "k" * 40
ORIGIN = Origin("list_bookings", "key:1", {"status": "new", "order": "-id"})
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


class ForgetfulWalks(DictWalks):
    """Forgets what has expired, as real stores do."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.until: dict[str, float] = {}

    def put(self, walk: Walk, blocks: Sequence[bytes] = ()) -> Walk:
        names = [walk.id, *(f"{walk.id}.{number}" for number in range(1, len(blocks) + 1))]
        self.until.update(dict.fromkeys(names, walk.expires_at))
        return super().put(walk, blocks)

    def get(self, walk_id: str) -> Walk | None:
        return super().get(walk_id) if self.until.get(walk_id, 0) > self.clock() else None

    def blocks(self, walk: Walk, numbers: Sequence[int]) -> list[bytes | None]:
        found = super().blocks(walk, numbers)
        kept = [self.until.get(f"{walk.id}.{number}", 0) > self.clock() for number in numbers]
        return [data if there else None for data, there in zip(found, kept, strict=True)]


@pytest.fixture
def walks(sealer: Sealer, clock: Clock) -> Walks:
    return Walks(ForgetfulWalks(clock), sealer)


def begun(walks: Walks, blocks: tuple[bytes, ...] = ()) -> Walk:
    return walks.begin(Snapshot(ORIGIN, {"total": 9}, blocks))


def refusal(walks: Walks, token: str, **changes: Any) -> InvalidCursor:
    asked = {"operation": "list_bookings", "caller": "key:1", "arguments": {}} | changes
    with pytest.raises(InvalidCursor) as refused:
        walks.resume(token, **asked)
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


def test_a_walk_is_unpacked_as_it_was_packed(walks: Walks):
    walk = begun(walks, (b"\x00\xff[binary]",))
    assert Walk.unpack(walk.pack()) == walk
    assert Walk.unpack(memoryview(walk.pack())) == walk  # type: ignore[arg-type]


def test_a_walk_goes_on_for_who_began_it(walks: Walks):
    walk = begun(walks)
    assert walks.resume(walks.cursor(walk, 5), "list_bookings", "key:1", {"status": "new"}) == (walk, 5)


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
    walks: Walks, changes: dict[str, Any], reason: str, words: str
):
    error = refusal(walks, walks.cursor(begun(walks), 5), **changes)
    assert error.reason == reason
    assert words in error.message


def test_a_walk_that_is_gone_has_expired(walks: Walks, sealer: Sealer):
    assert refusal(walks, sealer.seal("never-stored", 1)).reason == "cursor_expired"


def test_the_life_of_a_walk_grows_with_its_cursors_in_all_its_blocks(walks: Walks, clock: Clock):
    walk = begun(walks, (b"first", b"second", b"third"))
    store = walks.store
    assert isinstance(store, DictWalks)
    for _ in range(20):  # more than three hours of a page every ten minutes
        token = walks.cursor(walk, 5)
        clock.now += 600
        walk, _ = walks.resume(token, "list_bookings", "key:1", {})
        assert walk.expires_at >= clock.now + TTL, "a cursor that this page issues will find its walk"
        assert [walks.block(walk, number) for number in range(3)] == [b"first", b"second", b"third"]
    assert Walk.unpack(store.kept[walk.id]).expires_at == walk.expires_at


def test_the_same_call_on_the_same_content_is_the_same_walk(walks: Walks, clock: Clock):
    walk = begun(walks, (b"first", b"second"))
    clock.now += 60
    assert begun(walks, (b"first", b"second")) == walk, "taken when it was taken first"
    assert begun(walks, (b"first", b"other")).id != walk.id
    assert begun(walks, (b"firsts", b"econd")).id != walk.id
    assert walks.begin(Snapshot(replace(ORIGIN, caller="key:2"), {"total": 9}, (b"first", b"second"))).id != walk.id


def test_the_order_of_arguments_makes_no_other_walk(walks: Walks):
    one, other = {"status": "new", "order": "-id"}, {"order": "-id", "status": "new"}
    begun_with = [walks.begin(Snapshot(replace(ORIGIN, arguments=each), {})) for each in (one, other)]
    assert begun_with[0].id == begun_with[1].id


def test_the_same_call_keeps_its_walk_alive(walks: Walks, clock: Clock):
    begun(walks, (b"first", b"second"))
    clock.now += KEPT + 60
    walk = begun(walks, (b"first", b"second"))
    assert walk.expires_at >= clock.now + KEPT
    clock.now += KEPT
    assert walks.block(walks.opened(walk.id, "key:1"), 1) == b"second"


def test_what_a_store_keeps_beside_a_walk_is_no_handle(walks: Walks):
    walk = begun(walks, (b"first", b"second"))
    for handle in (f"{walk.id}.origin", f"{walk.id}.1", f"{walk.id}\n"):
        with pytest.raises(InvalidHandle) as refused:
            walks.opened(handle, "key:1")
        assert refused.value.reason == "handle_invalid"


def test_a_handle_opens_the_walk_for_its_owner_for_an_hour_since_its_last_use(walks: Walks, clock: Clock):
    walk = begun(walks, (b"first",))
    for _ in range(3):
        clock.now += KEPT
        assert walks.block(walks.opened(walk.id, "key:1"), 0) == b"first"
    for handle, caller in ((walk.id, "key:2"), ("never-was", "key:1"), ("", "key:1"), ("x" * 10**6, "key:1")):
        with pytest.raises(InvalidHandle) as refused:
            walks.opened(handle, caller)
        assert refused.value.reason == "handle_invalid"


def test_an_expired_handle_names_the_call_that_makes_it_again_to_its_owner_alone(walks: Walks, clock: Clock):
    walk = begun(walks)
    clock.now += 3 * KEPT
    with pytest.raises(InvalidHandle) as refused:
        walks.opened(walk.id, "key:1")
    assert refused.value.reason == "handle_expired"
    assert 'list_bookings with {"status":"new","order":"-id"}' in refused.value.suggestion
    with pytest.raises(InvalidHandle) as refused:
        walks.opened(walk.id, "key:2")
    assert refused.value.reason == "handle_invalid"


def test_the_call_that_began_a_walk_makes_again_what_the_store_has_lost_of_it(walks: Walks, clock: Clock):
    walk = begun(walks, (b"first", b"second"))
    assert isinstance(walks.store, DictWalks)
    for minutes in (1, 90):  # while it is kept as it is, and when it has to be kept for longer
        clock.now += 60 * minutes
        del walks.store.kept[f"{walk.id}.1"]
        again = begun(walks, (b"first", b"second"))
        assert again.id == walk.id
        assert [walks.block(again, number) for number in range(2)] == [b"first", b"second"]


def test_a_handle_to_what_the_store_has_lost_has_expired(walks: Walks, clock: Clock):
    walk = begun(walks, (b"first", b"second"))
    assert isinstance(walks.store, DictWalks)
    del walks.store.kept[f"{walk.id}.1"]
    clock.now += 90 * 60
    with pytest.raises(InvalidHandle) as refused:
        walks.opened(walk.id, "key:1")
    assert refused.value.reason == "handle_expired"


def test_pages_in_quick_succession_write_nothing(walks: Walks, clock: Clock):
    walk = begun(walks, (b"first", b"second"))
    assert isinstance(walks.store, DictWalks)
    before = dict(walks.store.kept)
    for _ in range(5):
        clock.now += 60
        walks.resume(walks.cursor(walk, 5), "list_bookings", "key:1", {})
    assert walks.store.kept == before


def test_a_block_that_is_gone_means_that_the_cursor_has_expired(walks: Walks):
    walk = begun(walks, (b"first", b"second"))
    assert isinstance(walks.store, DictWalks)
    del walks.store.kept[f"{walk.id}.1"]
    with pytest.raises(InvalidCursor) as refused:
        walks.block(walk, 1)
    assert refused.value.reason == "cursor_expired"
