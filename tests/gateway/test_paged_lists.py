"""Lists that upstream gives in pages of its own: walked, asked and looked into like any other, page by page."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from context_protection.core.payloads import Payload
from context_protection.core.policy import Kind
from context_protection.core.upstream_pages import MAX_EMPTY, MAX_ROWS, REPEATED, PagedRows, SourcePage
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.upstreams.errors import UpstreamUnavailable
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
        self.beside_page: dict[int, dict[str, Any]] = {}  # by the page's first row

    async def page(self, token: Any, size: int) -> SourcePage:
        await asyncio.sleep(0)
        start = token or 0
        self.pages.append(start)
        rows, end = self.rows[start : start + PAGE], start + PAGE
        follows = len(rows) == PAGE if not self.certain else end < len(self.rows)
        total = len(self.rows) if self.tells_total else None
        note = {"source": "upstream"}
        beside = {**self.beside, **self.beside_page.get(start, {})}
        return SourcePage(rows, end if follows else None, total, self.certain, note=note, beside=beside)


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


def test_a_row_that_moved_is_told_again_only_if_it_has_changed(doors: Doors, offered: Any):
    upstream = Counted(60)
    offered(upstream)
    cursor = doors.post("list_rows", {"limit": 20})["nextCursor"]
    upstream.rows.insert(0, {"id": 1000, "name": "New", "group": 0})
    upstream.rows[20] = {**upstream.rows[20], "name": "Changed"}
    assert ids(walked(doors, cursor=cursor)) == list(range(19, 60))


LOG = [{"id": number % PAGE, "event": f"event {number}"} for number in range(3 * PAGE)]


@pytest.mark.parametrize("arguments", [{"limit": 2 * PAGE}, {"limit": 7}, {"format": "items"}])
@pytest.mark.parametrize("tells_total", [True, False])
def test_entries_of_a_log_that_share_an_id_are_all_told(
    doors: Doors, offered: Any, tells_total: bool, arguments: dict[str, Any]
):
    upstream = Counted(0, tells_total=tells_total)
    upstream.rows = LOG
    offered(upstream)
    assert [row for page in walked(doors, **arguments) for row in page["items"]] == LOG


def test_a_total_that_upstream_does_not_send_is_told_of(doors: Doors, offered: Any):
    class Short(Counted):
        async def page(self, token: Any, size: int) -> SourcePage:
            return replace(await super().page(token, size), total=50)

    offered(Short(45))
    note = "Upstream gives 50 as the total, but sent 45 rows."
    assert doors.post("list_rows", {"limit": 50})["meta"]["notes"] == [note]
    counted = doors.post("list_rows", {"aggregate": {"metrics": ["count"]}})
    assert note in counted["meta"]["notes"]
    offered(Short(50))
    assert "notes" not in doors.post("list_rows", {"limit": 50, "kind": "whole"})["meta"]


def test_a_total_that_grows_while_pages_are_read_is_none_to_tell_of(doors: Doors, offered: Any):
    class Growing(Counted):
        async def page(self, token: Any, size: int) -> SourcePage:
            found = await super().page(token, size)
            return found if token else replace(found, total=44)

    offered(Growing(45))
    assert "notes" not in doors.post("list_rows", {"limit": 50})["meta"]


def test_equal_rows_without_an_identity_are_all_told(doors: Doors, offered: Any):
    upstream = Counted(0)
    upstream.rows = [{"color": "red", "n": number % 19} for number in range(50)]
    offered(upstream)
    pages = walked(doors, limit=30)
    assert sum(len(page["items"]) for page in pages) == 50


@pytest.mark.parametrize("limit", [7, 30, 200])
def test_pages_of_equal_rows_are_all_told_up_to_upstreams_total(doors: Doors, offered: Any, limit: int):
    upstream = Counted(0)
    upstream.rows = [{"hour": number % PAGE, "rain": 0} for number in range(10 * PAGE)]
    offered(upstream)
    pages = walked(doors, limit=limit)
    assert [row for page in pages for row in page["items"]] == upstream.rows
    assert not any("notes" in page["meta"] for page in pages)


class Circling(Counted):
    """Sends its first page again and again."""

    def __init__(self, rows: list[dict[str, Any]], total: int | None = None, ending: str = "") -> None:
        super().__init__(0)
        self.rows, self.total, self.ending = rows, total, ending

    async def page(self, token: Any, size: int) -> SourcePage:
        number = token or 0
        following, ending = (None, self.ending) if number and self.ending else (number + 1, "")
        return SourcePage(self.rows, following, self.total, ending=ending)


ROWS = Counted(PAGE).rows
EQUAL = [{"hour": number, "rain": 0} for number in range(PAGE)]
LOOPED = "Upstream says that more rows follow, but its next page repeats an earlier one."


@pytest.mark.parametrize(
    ("upstream", "note"),
    [
        (Circling(ROWS), REPEATED),
        (Circling(ROWS, total=500), REPEATED),
        (Circling(EQUAL), REPEATED),
        (Circling(ROWS, total=500, ending=LOOPED), LOOPED),
        (Circling(EQUAL, total=500, ending=LOOPED), LOOPED),
    ],
)
@pytest.mark.parametrize("limit", [15, 30])
def test_an_upstream_that_turns_in_a_circle_ends_and_says_so(
    doors: Doors, offered: Any, upstream: Circling, note: str, limit: int
):
    offered(upstream)
    pages = walked(doors, limit=limit)
    assert [row for page in pages for row in page["items"]] == upstream.rows
    assert pages[-1]["meta"]["notes"] == [note]


def test_a_list_that_has_reached_its_total_ends_without_a_note(doors: Doors, offered: Any):
    offered(Circling(ROWS, total=PAGE))
    (page,) = walked(doors, limit=30)
    assert len(page["items"]) == PAGE
    assert "notes" not in page["meta"]


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
    assert len(upstream.pages) == MAX_EMPTY


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
    upstream = Counted(MAX_ROWS + 1)
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


# -- Rows that alone exceed the cap -----------------------------------------------------------------

LONG = "A row of many words. " * 3000


def whole_rows(doors: Doors, **arguments: Any) -> list[dict[str, Any]]:
    """Every row of the walk as upstream sent it: as it came, or by the call that the page names for it."""
    found = []
    for row in crawler.walk(doors.mcp, "list_rows", {**arguments, "fields": "all"}):
        if "detailsAvailable" not in row:
            found.append(row)
        else:
            found.append(crawler.from_parts(doors.mcp, *crawler.details(row["detailsAvailable"])))
    return found


PLACES: list[set[int]] = [{0}, {5}, {PAGE - 1}, {PAGE}, {PAGE + 1}, {2 * PAGE + 3}, {0, 1, PAGE, 44}, {44}]


@pytest.mark.parametrize(
    ("places", "limit", "certain"),
    [*((places, 7, True) for places in PLACES), ({0, 1, PAGE, 44}, None, False), ({PAGE, 44}, 1, False)],
    ids=str,
)
def test_a_row_above_the_cap_is_had_whole_wherever_it_stands(
    doors: Doors, offered: Any, places: set[int], limit: int | None, certain: bool
):
    upstream = Counted(45, certain=certain)
    for place in places:
        upstream.rows[place]["text"] = LONG
    offered(upstream)
    arguments = {} if limit is None else {"limit": limit}
    assert whole_rows(doors, **arguments) == upstream.rows


def test_opening_a_row_that_was_read_asks_upstream_for_nothing(doors: Doors, offered: Any):
    upstream = Counted(10 * PAGE)
    upstream.rows[3]["text"] = LONG
    offered(upstream)
    page = doors.mcp("list_rows", {"fields": "all", "limit": 5})
    while "detailsAvailable" not in (row := crawler.rows(page)[0]):
        page = doors.mcp("list_rows", {"fields": "all", "limit": 5, "cursor": page["nextCursor"]})
    before = len(upstream.pages)
    assert crawler.from_parts(doors.mcp, *crawler.details(row["detailsAvailable"])) == upstream.rows[3]
    assert len(upstream.pages) == before


# -- An upstream that fails while pages are read ahead ----------------------------------------------


class Failing(Counted):
    """Fails at every page from row `fails_from` on, until that is None."""

    def __init__(self, rows: int, fails_from: int | None) -> None:
        super().__init__(rows)
        self.fails_from = fails_from

    async def page(self, token: Any, size: int) -> SourcePage:
        if self.fails_from is not None and (token or 0) >= self.fails_from:
            raise UpstreamUnavailable("The API does not answer.", reason="upstream_down", suggestion="Try again.")
        return await super().page(token, size)


def test_the_rows_in_hand_are_answered_when_the_next_page_fails(doors: Doors, offered: Any):
    upstream = Failing(70, fails_from=40)
    offered(upstream)
    first = doors.mcp("list_rows", {"limit": 50})
    assert [row["id"] for row in first["items"]] == list(range(40))
    assert first["meta"]["hasMore"]
    (note,) = first["meta"]["notes"]
    assert note == "Upstream failed while further rows were read: The API does not answer. The next page tries again."
    following = {"limit": 50, "cursor": first["nextCursor"]}
    assert doors.mcp("list_rows", following)["error"]["reason"] == "upstream_down"
    upstream.fails_from = None
    assert [row["id"] for row in doors.mcp("list_rows", following)["items"]] == list(range(40, 70))


def test_a_later_page_is_answered_as_far_as_upstream_goes(doors: Doors, offered: Any):
    upstream = Failing(100, fails_from=60)
    offered(upstream)
    page = doors.mcp("list_rows", {"limit": 30})
    found = [row["id"] for row in page["items"]]
    page = doors.mcp("list_rows", {"limit": 40, "cursor": page["nextCursor"]})
    found += [row["id"] for row in page["items"]]
    assert found == list(range(60))
    upstream.fails_from = None
    found += [row["id"] for row in crawler.walk(doors.mcp, "list_rows", {"limit": 40, "cursor": page["nextCursor"]})]
    assert found == list(range(100))


def test_a_failure_at_the_first_page_and_in_a_query_is_an_error(doors: Doors, offered: Any):
    offered(Failing(70, fails_from=0))
    assert doors.mcp("list_rows", {})["error"]["reason"] == "upstream_down"
    offered(Failing(70, fails_from=40))
    assert doors.mcp("list_rows", {"aggregate": {"metrics": ["count"]}})["error"]["reason"] == "upstream_down"


def test_pages_by_number_are_an_error_if_upstream_fails_before_them(doors: Doors, offered: Any):
    offered(Failing(500, fails_from=40))
    assert doors.mcp("list_rows", {"pages": "2-3"})["error"]["reason"] == "upstream_down"
    offered(Failing(500, fails_from=80))
    page = doors.mcp("list_rows", {"pages": "2-3"})
    assert [row["id"] for row in page["items"]] == list(range(50, 80))


def test_format_handle_reads_every_page_and_tells_the_exact_count(doors: Doors, offered: Any):
    upstream = Counted(107, tells_total=False)
    offered(upstream)
    answer = doors.post("list_rows", {"format": "handle", "limit": 10})
    assert (answer["meta"]["totalCount"], len(upstream.pages)) == (107, 6)
    assert answer["columns"] == {"id": "number 0", "name": "text Row 0", "group": "number 0"}
    sql = "SELECT count(*) AS n FROM a JOIN b USING (id) WHERE b.status IS NOT NULL"
    bookings = doors.mcp("list_bookings", {"format": "handle"})["meta"]["resultHandle"]
    handles = {"a": answer["meta"]["resultHandle"], "b": bookings}
    assert doors.post("result_query", {"handles": handles, "sql": sql})["items"] == [{"n": 0}]
    assert len(upstream.pages) == 6, "the rows are stored"


def test_format_handle_of_too_many_rows_says_how_to_ask_less(doors: Doors, offered: Any):
    upstream = Counted(MAX_ROWS + 1)
    offered(upstream)
    error = doors.post("list_rows", {"format": "handle"})["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("too_many_rows", "format")


OWNERS = {start: {"included": [{"id": f"owner of {start}"}]} for start in range(0, 100, PAGE)}


def owners(pages: list[dict[str, Any]]) -> list[list[int]]:
    """The pages of upstream's whose owners each answer has."""
    found = []
    for each in pages:
        beside = each["meta"].get("beside", {})
        parts = [beside, *beside.get("laterPages", ())]
        named = [owner["id"] for part in parts for owner in part.get("included", ())]
        found.append([int(name.removeprefix("owner of ")) for name in named])
    return found


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (20, [[0], [20], [40], [60], [80]]),
        (30, [[0, 20], [40], [60, 80], []]),
        (7, [[0], [], [20], [], [], [40], [], [], [60], [], [], [80], [], [], []]),
    ],
)
def test_what_a_page_has_beside_its_rows_comes_with_its_first_row(
    doors: Doors, offered: Any, limit: int, expected: list[list[int]]
):
    upstream = Counted(100)
    upstream.beside, upstream.beside_page = {"source": "the registry"}, OWNERS
    offered(upstream)
    pages = walked(doors, limit=limit)
    assert owners(pages) == expected
    assert [each["meta"].get("beside", {}).get("source") for each in pages] == ["the registry"] + [None] * (
        len(pages) - 1
    )
    assert ids(pages) == list(range(100))


def test_a_list_that_is_read_whole_has_what_all_its_pages_have_beside_their_rows(doors: Doors, offered: Any):
    upstream = Counted(100)
    upstream.beside_page = OWNERS
    offered(upstream)
    assert owners([doors.post("list_rows", {"where": {"id": {"lt": 3}}})]) == [[0, 20, 40, 60, 80]]


def test_much_beside_a_later_page_comes_by_its_call(doors: Doors, offered: Any):
    upstream = Counted(100)
    upstream.beside_page = {40: {"included": [{"id": number, "name": f"Owner {number}"} for number in range(300)]}}
    offered(upstream)
    pages = walked(doors, limit=20)
    assert [index for index, each in enumerate(pages) if "beside" in each["meta"]] == [2]
    hint = pages[2]["meta"]["beside"]
    name = hint["endpoint"].rpartition("/")[2]
    assert crawler.record(doors.post, name, hint["parameters"]) == upstream.beside_page[40]
