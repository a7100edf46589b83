"""A store that cannot be written costs an answer the way to its rest, and nothing else: the one exception to law 2."""

from collections.abc import Sequence
from typing import Any

import pytest

from context_protection.core.cursors import Sealer, Snapshot, Snapshots
from context_protection.core.errors import store_unavailable
from context_protection.core.payloads import REMAINDER_NOT_STORED
from context_protection.core.policy import Policy
from tests.properties.desk import Desk, DictSnapshots, MemoryText

ROWS = [{"id": number, "name": f"row {number}", "about": "words " * 30} for number in range(400)]
LARGE = {"id": 1, **{f"field{number}": "words and more words " * 40 for number in range(60)}}


class FullWalks(DictSnapshots):
    """Has no room until it is given some."""

    has_room = False

    def put(self, snapshot: Snapshot, blocks: Sequence[bytes] = ()) -> Snapshot:
        if not self.has_room:
            raise store_unavailable(1)
        return super().put(snapshot, blocks)


@pytest.fixture
def store() -> FullWalks:
    return FullWalks()


def desk(store: FullWalks, **given: Any) -> Desk:
    return Desk(
        policy=Policy(hard_cap=3000, token_budget_threshold=2000),
        snapshots=Snapshots(store, Sealer(["x" * 40])),
        **given,
    )


CALLS = {
    "list": ({"rows": ROWS}, {}),
    "list, whole": ({"rows": ROWS}, {"fields": "all"}),
    "record in parts": ({"rows": [LARGE]}, {"id": 1, "fields": "all"}),
    "text": ({"text": MemoryText("A line of a text.\n" * 5000)}, {}),
}


@pytest.mark.parametrize("call", CALLS)
def test_an_answer_whose_rest_cannot_be_stored_says_so_and_is_whole_when_it_can(store: FullWalks, call: str):
    given, arguments = CALLS[call]
    asked, operation = desk(store, **given), {"l": "list", "r": "get", "t": "read"}[call[0]]
    without = asked(operation, arguments)
    assert "nextCursor" not in without
    assert without["meta"]["notes"] == [REMAINDER_NOT_STORED]
    assert "snapshotAt" not in without["meta"]
    assert not asked.envelopes[-1].is_complete
    store.has_room = True
    whole = asked(operation, arguments)
    assert "notes" not in whole["meta"]
    assert asked.envelopes[-1].is_complete
    assert asked(operation, {**arguments, "cursor": whole["nextCursor"]})
    assert without.keys() - {"meta"} == whole.keys() - {"meta", "nextCursor"}
    asked.assert_never_over_the_cap()


def test_a_preview_leads_to_all_of_its_record_without_a_store(store: FullWalks):
    preview = desk(store, rows=[LARGE])("get", {"id": 1})
    assert preview["meta"]["detailsAvailable"]["arguments"] == {"id": 1, "fields": "all"}
    assert "notes" not in preview["meta"]
    assert "resultHandle" not in preview["meta"]


def test_an_answer_that_fits_needs_no_store(store: FullWalks):
    asked = desk(store, rows=ROWS[:3])
    assert "notes" not in asked("list", {})["meta"]
    assert asked.envelopes[-1].is_complete
