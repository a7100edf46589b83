"""Lists that upstream gives in pages of its own: walked, asked and looked into like any other, page by page."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from context_protection.core.payloads import Payload
from context_protection.core.policy import Kind
from context_protection.core.upstream_pages import MOST_EMPTY, MOST_ROWS, PagedRows, SourcePage
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from tests import crawler
from tests.doors import Doors

PAGE = 20  # rows of upstream's


class Counted:
    """An upstream of so many rows that counts its pages."""

    def __init__(self, rows: int, *, tells_total: bool = True, certain: bool = True) -> None:
        self.rows = [{"id": number, "name": f"Row {number}", "group": number % 3} for number in range(rows)]
        self.tells_total, self.certain = tells_total, certain
        self.pages: list[int] = []
        self.beside: dict[str, Any] = {}

    async def page(self, token: Any, size: int) -> SourcePage:
        await asyncio.sleep(0)
        start = token or 0
        self.pages.append(start)
        rows, end = self.rows[start : start + PAGE], start + PAGE
        follows = len(rows) == PAGE if not self.certain else end < len(self.rows)
        total = len(self.rows) if self.tells_total else None
        note = {"source": "upstream"}
        return SourcePage(rows, end if follows else None, total, self.certain, note=note, beside=self.beside)


@pytest.fixture
def offered() -> Iterator[Callable[[Counted], Operation]]:
    names = []

    def offer(upstream: Counted) -> Operation:
        async def fetch(arguments: Mapping[str, Any], caller: Caller) -> Payload:
            return PagedRows(upstream)

        operation = Operation(
            name="list_rows",
            title="List rows",
            description="Rows.",
            kind=Kind.LIST,
            parameters={"kind": {"type": "string"}},
            fetch=fetch,
            endpoint="/api/v1/tools/list_rows",
        )
        catalogue.offer([operation])
        names.append(operation.name)
        return operation

    yield offer
    for name in names:
        catalogue.withdraw(name)


def walked(doors: Doors, **arguments: Any) -> list[dict[str, Any]]:
    """All pages of the walk."""
    pages = [doors.post("list_rows", dict(**arguments))]
    while "nextCursor" in pages[-1]:
        assert len(pages) < 200
        pages.append(doors.post("list_rows", {"cursor": pages[-1]["nextCursor"]}))
    return pages


def ids(pages: list[dict[str, Any]]) -> list[int]:
    return [row["id"] for page in pages for row in page["items"]]


@pytest.mark.parametrize("certain", [True, False])
@pytest.mark.parametrize("tells_total", [True, False])
@pytest.mark.parametrize("rows", [0, 1, 19, 20, 21, 60, 100, 107])
@pytest.mark.parametrize("limit", [7, 20, 45])
def test_every_row_comes_once_whatever_the_pages(
    doors: Doors, offered: Any, rows: int, limit: int, tells_total: bool, certain: bool
):
    upstream = Counted(rows, tells_total=tells_total, certain=certain)
    offered(upstream)
    pages = walked(doors, limit=limit)
    assert ids(pages) == list(range(rows))
    assert all(page["items"] for page in pages) or rows == 0
    assert [page["meta"]["hasMore"] for page in pages] == [True] * (len(pages) - 1) + [False]
    assert len(upstream.pages) == len(set(upstream.pages))  # no page of upstream's is read twice


def test_a_page_reads_no_more_of_upstream_than_it_needs(doors: Doors, offered: Any):
    upstream = Counted(1000)
    offered(upstream)
    first = doors.post("list_rows", {"limit": 20})
    assert upstream.pages == [0]
    assert first["meta"]["totalCount"] == 1000
    assert first["meta"]["source"] == "upstream"
    doors.post("list_rows", {"cursor": first["nextCursor"], "limit": 25})
    assert upstream.pages == [0, 20, 40]


def test_without_upstreams_total_none_is_told(doors: Doors, offered: Any):
    offered(Counted(100, tells_total=False))
    assert "totalCount" not in doors.post("list_rows", {"limit": 20})["meta"]


def test_the_same_cursor_gives_the_same_rows_without_asking_again(doors: Doors, offered: Any):
    upstream = Counted(100)
    offered(upstream)
    cursor = doors.post("list_rows", {"limit": 20})["nextCursor"]
    once = doors.post("list_rows", {"cursor": cursor})
    upstream.rows = [{"id": -number} for number in range(100)]
    assert doors.post("list_rows", {"cursor": cursor}) == once
    assert upstream.pages == [0, 20]


def test_a_row_that_moved_onto_the_next_page_is_not_told_twice(doors: Doors, offered: Any):
    upstream = Counted(60)
    offered(upstream)
    cursor = doors.post("list_rows", {"limit": 20})["nextCursor"]
    upstream.rows.insert(0, {"id": 1000, "name": "New", "group": 0})
    assert ids(walked(doors, cursor=cursor)) == list(range(20, 60))


def test_equal_rows_without_an_identity_are_all_told(doors: Doors, offered: Any):
    upstream = Counted(0)
    upstream.rows = [{"color": "red", "n": number % 19} for number in range(50)]
    offered(upstream)
    pages = walked(doors, limit=30)
    assert sum(len(page["items"]) for page in pages) == 50


def test_an_upstream_that_turns_in_a_circle_ends(doors: Doors, offered: Any):
    upstream = Counted(PAGE)

    async def again(token: Any, size: int) -> SourcePage:
        return SourcePage(upstream.rows, (token or 0) + 1)

    upstream.page = again  # type: ignore[method-assign]
    offered(upstream)
    assert ids(walked(doors, limit=15)) == list(range(PAGE))


class Endless(Counted):
    """Always another page, and never a row."""

    async def page(self, token: Any, size: int) -> SourcePage:
        self.pages.append(token)
        return SourcePage((), len(self.pages), certain=False)


@pytest.mark.parametrize("arguments", [{}, {"aggregate": {"metrics": ["count"]}}])
def test_an_upstream_without_rows_and_without_an_end_is_told_of(doors: Doors, offered: Any, arguments: dict[str, Any]):
    upstream = Endless(0)
    offered(upstream)
    error = doors.mcp("list_rows", arguments)["error"]
    assert error["reason"] == "upstream_empty_pages"
    assert len(upstream.pages) == MOST_EMPTY


def test_a_question_reads_all_rows(doors: Doors, offered: Any):
    upstream = Counted(107)
    offered(upstream)
    found = doors.post("list_rows", {"where": {"group": 1}, "limit": 10})
    assert found["meta"]["totalCount"] == 36
    groups = doors.post("list_rows", {"aggregate": {"groupBy": ["group"], "metrics": [{"op": "count"}]}})["groups"]
    assert sorted(group["count"] for group in groups) == [35, 36, 36]


def test_a_walk_over_what_was_asked_for_needs_no_upstream(doors: Doors, offered: Any):
    upstream = Counted(107)
    offered(upstream)
    pages = walked(doors, where={"group": 1}, limit=10)
    assert ids(pages) == list(range(1, 107, 3))
    assert len(upstream.pages) == 6


def test_a_question_about_too_many_rows_says_how_to_ask_less(doors: Doors, offered: Any):
    upstream = Counted(MOST_ROWS + 1)
    offered(upstream)
    error = doors.post("list_rows", {"where": {"group": 1}})["error"]
    assert error["reason"] == "too_many_rows"
    assert error["data"]["parameter"] == "where"
    assert upstream.pages == [0]


def test_a_handle_looks_into_rows_that_nobody_has_come_to(doors: Doors, offered: Any):
    upstream = Counted(107)
    offered(upstream)
    handle = doors.post("list_rows", {"limit": 10})["meta"]["resultHandle"]
    counted = doors.post("result_query", {"handle": handle, "sql": 'SELECT count(*) AS n, sum(id) AS s FROM "rows"'})[
        "items"
    ]
    assert counted == [{"n": 107, "s": sum(range(107))}]


@pytest.mark.parametrize("rows", [30, 107])
def test_what_stands_beside_the_rows_can_be_had(doors: Doors, offered: Any, rows: int):
    upstream = Counted(rows)
    upstream.beside = {"object": "list"}
    offered(upstream)
    assert doors.post("list_rows", {})["meta"]["beside"] == {"object": "list"}
    upstream.beside = {"facets": [{"name": f"facet {number}", "count": number} for number in range(90)]}
    hint = doors.mcp("list_rows", {"limit": 10})["meta"]["beside"]
    assert crawler.from_parts(doors.mcp, hint["tool"], hint["arguments"]) == upstream.beside


def test_both_doors_give_the_same_rows(doors: Doors, offered: Any):
    offered(Counted(45))
    assert doors.mcp("list_rows", {"limit": 30})["items"] == doors.post("list_rows", {"limit": 30})["items"]
