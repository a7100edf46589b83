"""A text is deleted wherever it is stored: with any case and any signs, within a block or across two.

Each text ends in letters of its own, because other tests, in other processes too, store snapshots in the same Redis."""

from collections.abc import Callable
from random import choices

import pytest

from context_protection.core.cursors import NewSnapshot, SnapshotOrigin
from context_protection.core.memory_text import BLOCK, MemoryText
from context_protection.core.rows import MemoryRows
from context_protection.stores.erasure import Wanted, forget
from context_protection.stores.snapshots import snapshots
from gateway.mentions import mention_of, reach_of

pytestmark = pytest.mark.django_db

OWN = "".join(choices("abcdefghik", k=12))  # neither x nor y, which stand around it
NAME = "Loïc Crèvecœur" + OWN


def mentions_of(text: str) -> Wanted:
    return Wanted(is_mention=mention_of(text), reach=reach_of(text))


def stored(number: int, *blocks: bytes) -> None:
    snapshots.begin(NewSnapshot(SnapshotOrigin("read_document", "key:1/x", {"number": number}), {}, blocks))


def stored_rows(*guests: str) -> None:
    rows = MemoryRows([{"id": 1, "guest": guest} for guest in guests]).open()
    snapshots.begin(NewSnapshot(SnapshotOrigin("list_bookings", "key:1/x", {}), rows.plan, list(rows.blocks())))


@pytest.mark.parametrize("before", [0, BLOCK - 100, BLOCK - 13, BLOCK - 5, BLOCK - 1, BLOCK, 2 * BLOCK - 3])
@pytest.mark.parametrize("form", [str, str.upper])
def test_a_text_is_found_wherever_a_block_ends(before: int, form: Callable[[str], str]):
    stored(1, *MemoryText("x" * before + NAME + "y" * BLOCK).blocks())
    stored(2, *MemoryText("x" * before + NAME[:-1] + "y" * BLOCK).blocks())
    assert forget(mentions_of(form(NAME))) == 1
    assert forget(mentions_of(NAME[:-1])) == 1, "the other one is still stored"


def test_a_sign_that_is_cut_in_two_is_found():
    whole = NAME.encode()
    stored(1, b"x" + whole[:3], whole[3:] + b"y")  # within ï
    assert forget(mentions_of(NAME)) == 1


def test_the_end_of_one_snapshot_and_the_beginning_of_another_are_no_text():
    stored(1, b"x", NAME[:5].encode())
    stored(2, NAME[5:].encode(), b"x")
    assert forget(mentions_of(NAME)) == 0


@pytest.mark.parametrize("name", ['Anna "Annie" Smith', "Lodge\\Anna", "Anna\tSmith", "Straße", "İpek"])
@pytest.mark.parametrize("form", [str, str.upper, str.casefold])
def test_a_text_is_found_as_json_writes_it(name: str, form: Callable[[str], str]):
    stored_rows("Ben", name + OWN)
    assert forget(mentions_of(form(name + OWN))) == 1
