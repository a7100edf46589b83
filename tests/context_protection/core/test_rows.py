"""A list that is in memory: its walk keeps the rows themselves (ruling 10)."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from context_protection.core import rows
from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import BlockReader
from context_protection.core.rows import BLOCK_ROWS, MemoryRows
from tests import crawler
from tests.properties.desk import Desk


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"row {n}"} for n in range(count)]


def reader(blocks: Sequence[bytes]) -> BlockReader:
    return lambda numbers: [blocks[number] for number in numbers]


def test_pages_come_from_the_snapshot_whatever_upstream_answers_later():
    desk = Desk(numbered(450))
    rows: list[dict[str, Any]] = []
    for page in crawler.pages(desk, "list", {"limit": 90}):
        rows += crawler.rows(page)
        desk.rows = [{"id": -1, "name": "later"}] * 3
    assert rows == numbered(450)


def test_a_page_across_two_blocks_is_whole():
    rows = MemoryRows(numbered(3 * BLOCK_ROWS))
    blocks = rows.open().blocks()
    assert len(blocks) == 3
    page = MemoryRows([]).page({"rows": 3 * BLOCK_ROWS}, reader(blocks), BLOCK_ROWS - 5, 10)
    assert [row["id"] for row in page.rows] == list(range(BLOCK_ROWS - 5, BLOCK_ROWS + 5))
    assert page.positions[-1] == BLOCK_ROWS + 5


def test_only_the_blocks_of_a_page_are_read():
    blocks = MemoryRows(numbered(5 * BLOCK_ROWS)).open().blocks()
    read: list[int] = []

    def block(numbers: Sequence[int]) -> list[bytes]:
        read.extend(numbers)
        return [blocks[number] for number in numbers]

    MemoryRows([]).page({"rows": 5 * BLOCK_ROWS}, block, 2 * BLOCK_ROWS, BLOCK_ROWS)
    assert read == [2]


def test_all_of_a_walk_is_every_row_of_its_blocks():
    count = 2 * BLOCK_ROWS + 50
    opening = MemoryRows(numbered(count)).open()
    blocks = opening.blocks()
    assert list(MemoryRows([]).everything(opening.plan, reader(blocks))) == numbered(count)


def test_the_last_page_is_the_last_also_where_it_is_full():
    rows = MemoryRows(numbered(100))
    rows.open()
    assert rows.page({"rows": 100}, None, None, 50).more
    last = rows.page({"rows": 100}, None, 50, 50)
    assert not last.more
    assert len(last.rows) == 50


def test_an_empty_list_is_a_page_without_rows():
    page = MemoryRows([]).page({"rows": 0}, None, None, 50)
    assert (list(page.rows), page.more, page.field_count) == ([], False, 0)


def test_a_field_that_only_a_late_row_has_can_be_queried_with_its_currency():
    late = MemoryRows([*numbered(500), {"id": 500, "refund": {"amount": 7, "currency": "EUR"}}]).queryable
    column = late.resolve("refund.amount", "where")
    assert (column.source, column.unit) == ("refund.amount", "refund.currency")
    with pytest.raises(InvalidArgument) as refused:
        late.resolve("refund.sum", "where")
    assert refused.value.reason == "unknown_field"


def test_lengths_are_those_of_compact_json():
    page = rows.MemoryPage([{"a": "静か"}], MemoryRows([]).shape, [1], more=False)
    assert page.chars(1) == [len('{"a":"静か"}')]


@pytest.mark.parametrize("written", [0, 1, BLOCK_ROWS, BLOCK_ROWS + 1, 2 * BLOCK_ROWS + 5])
def test_blocks_are_the_same_whatever_was_written_before(written: int):
    at = datetime(2026, 11, 28, tzinfo=UTC)
    rows = MemoryRows([{"n": n, "at": at, "näme": "静か"} for n in range(2 * BLOCK_ROWS + 5)])
    opening = rows.open()
    rows.page(opening.plan, None, None, written).chars(written)
    blocks = opening.blocks()
    assert b"".join(blocks) == b"".join(MemoryRows(rows.rows).open().blocks())
    assert [len(orjson.loads(block)) for block in blocks] == [BLOCK_ROWS, BLOCK_ROWS, 5]
