"""Each page leads to the next one, once."""

from typing import Any

import orjson
import pytest

from gateway.connectors.openapi.document.paging import Paging, PagingStyle
from gateway.connectors.openapi.response import dotted_paths, page_steps
from gateway.connectors.openapi.response.page_steps import Done, PageStep
from gateway.upstreams.request import Response

ROWS = [{"id": n, "name": f"row {n}"} for n in range(25)]


PAGED_BY_CURSOR = Paging(PagingStyle.CURSOR, "limit", position="cursor", next="next")


def answer(body: Any, headers: dict[str, str] | None = None) -> Response:
    return Response(200, {"content-type": "application/json", **(headers or {})}, orjson.dumps(body))


def walked(paging: Paging, serve: Any, size: int | None = 10) -> tuple[list[Any], list[Any], Done]:
    """The rows of all pages, how each was asked for, and how it ended."""
    step: PageStep | Done = page_steps.first(paging, size)
    rows: list[Any] = []
    asked: list[Any] = []
    while isinstance(step, PageStep):
        assert len(asked) < 20
        asked.append(step.url or dict(step.query))
        body, page, headers = serve(step)
        rows += page
        step = page_steps.following(paging, answer(body, headers), body, page, step)
    return rows, asked, step


def sliced(step: PageStep, start: int, most: int = 100) -> list[Any]:
    return ROWS[start : start + min(int(step.query.get("limit", 10)), most)]


def test_offsets_go_on_by_the_rows_that_came():
    def serve(step):
        page = sliced(step, int(step.query.get("offset", 0)))
        return page, page, {}

    rows, asked, end = walked(Paging(PagingStyle.OFFSET, "limit", size_maximum=100, position="offset"), serve)
    assert rows == ROWS
    assert asked == [{"limit": 10}, {"limit": 10, "offset": 10}, {"limit": 10, "offset": 20}]
    assert end == Done()


def test_an_upstream_that_gives_fewer_than_it_was_asked_for_is_walked_to_its_end():
    def serve(step):
        page = sliced(step, int(step.query.get("offset", 0)), most=4)
        return page, page, {}

    assert walked(Paging(PagingStyle.OFFSET, "limit", position="offset"), serve)[0] == ROWS


@pytest.mark.parametrize("most", [4, 10])
def test_an_upstream_that_ignores_its_documented_size_is_walked_to_its_end(most: int):
    """It sends pages of its default size, or of a round number."""

    def serve(step):
        start = int(step.query.get("offset", 0))
        return ROWS[start : start + most], ROWS[start : start + most], {}

    paging = Paging(PagingStyle.OFFSET, "limit", size_default=4, size_maximum=20, position="offset")
    assert walked(paging, serve, size=20)[0] == ROWS


def test_a_short_page_within_the_documented_size_is_the_last():
    paging = Paging(PagingStyle.OFFSET, "limit", size_default=4, size_maximum=20, position="offset")
    rows, asked, _ = walked(paging, lambda step: (ROWS[:7], ROWS[:7], {}), size=20)
    assert (len(rows), len(asked)) == (7, 1)


def test_rows_may_be_counted_from_one():
    def serve(step):
        page = sliced(step, int(step.query.get("startIndex", 1)) - 1)
        return page, page, {}

    paging = Paging(PagingStyle.OFFSET, "limit", size_maximum=100, position="startIndex", start=1)
    assert walked(paging, serve)[0] == ROWS


@pytest.mark.parametrize("start", [0, 1])
def test_pages_are_counted_from_where_upstream_begins(start):
    def serve(step):
        page = sliced(step, (step.query["page"] - start) * 10)
        return page, page, {}

    rows, asked, _ = walked(Paging(PagingStyle.PAGE, "limit", size_maximum=10, position="page", start=start), serve)
    assert rows == ROWS
    assert [each["page"] for each in asked] == [start, start + 1, start + 2]


def test_a_total_ends_a_walk_of_full_pages_also_from_a_header():
    def serve(step):
        page = ROWS[:20][int(step.query.get("offset", 0)) :][:10]
        return page, page, {"x-total-count": "20"}

    paging = Paging(PagingStyle.OFFSET, "limit", position="offset", total="header:x-total-count")
    rows, asked, _ = walked(paging, serve)
    assert (len(rows), len(asked)) == (20, 2)


def test_a_count_of_the_page_is_not_taken_for_the_total():
    def serve(step):
        page = sliced(step, int(step.query.get("offset", 0)))
        return {"count": len(page)}, page, {}

    assert (
        walked(Paging(PagingStyle.OFFSET, "limit", size_maximum=9, position="offset", total="count"), serve)[0] == ROWS
    )


def test_what_upstream_says_of_more_counts_most():
    def serve(step):
        page = sliced(step, int(step.query.get("offset", 0)), most=5)
        return {"more": step.query.get("offset", 0) < 20}, page, {}

    assert (
        walked(Paging(PagingStyle.OFFSET, "limit", size_maximum=9, position="offset", has_more="more"), serve)[0]
        == ROWS
    )


def test_an_empty_next_link_ends_counted_pages():
    def serve(step):
        return {"next": None}, ROWS[:10], {}

    rows, asked, _ = walked(Paging(PagingStyle.PAGE, "limit", position="page", start=1, next="next"), serve)
    assert (len(rows), len(asked)) == (10, 1)


def test_cursors_are_given_back_until_there_is_none():
    def serve(step):
        start = int(str(step.query.get("cursor", "c0"))[1:])
        cursor = f"c{start + 10}" if start < 20 else ""
        return {"meta": {"next": cursor}}, ROWS[start : start + 10], {}

    rows, asked, _ = walked(Paging(PagingStyle.CURSOR, "limit", position="cursor", next="meta.next"), serve)
    assert rows == ROWS
    assert asked[1:] == [{"limit": 10, "cursor": "c10"}, {"limit": 10, "cursor": "c20"}]


@pytest.mark.parametrize(
    "prefix", ["https://a.example/rows?cursor=", "/rows?cursor=", "?cursor=", "rows?limit=10&cursor="]
)
def test_a_url_in_place_of_a_cursor_is_requested(prefix: str):
    def serve(step):
        start = int(step.url.rpartition("=")[2] or 0)
        return {"next": f"{prefix}{start + 10}" if start < 20 else None}, ROWS[start : start + 10], {}

    rows, asked, _ = walked(PAGED_BY_CURSOR, serve)
    assert rows == ROWS
    assert asked[1:] == [f"{prefix}10", f"{prefix}20"]


@pytest.mark.parametrize("cursor", ["/a+b/c==", "a/b", "eyJpZCI6MX0="])
def test_a_cursor_in_base64_is_no_url(cursor: str):
    step = page_steps.first(PAGED_BY_CURSOR, 10)
    following = page_steps.following(PAGED_BY_CURSOR, answer({}), {"next": cursor}, ROWS[:10], step)
    assert isinstance(following, PageStep)
    assert following.query == {"limit": 10, "cursor": cursor}


def test_a_cursor_of_zero_is_the_end():
    def serve(step):
        start = int(step.query.get("cursor", 0))
        return {"next": (start + 10) % 30}, sliced(step, start), {}

    paging = Paging(PagingStyle.CURSOR, "limit", position="cursor", next="next")
    rows, _, end = walked(paging, serve)
    assert (rows, end) == (ROWS, Done())


def test_a_cursor_of_an_empty_page_is_followed_too():
    pages = {"": ([], "a"), "a": (ROWS[:5], "")}

    def serve(step):
        rows, cursor = pages[str(step.query.get("cursor", ""))]
        return {"next": cursor}, rows, {}

    assert walked(Paging(PagingStyle.CURSOR, "limit", position="cursor", next="next"), serve)[0] == ROWS[:5]


def test_the_last_row_leads_on():
    def serve(step):
        start = int(step.query.get("starting_after", -1)) + 1
        return {"has_more": start + 10 < 25}, ROWS[start : start + 10], {}

    paging = Paging(PagingStyle.LAST_ID, "limit", position="starting_after", has_more="has_more")
    rows, asked, _ = walked(paging, serve)
    assert rows == ROWS
    assert asked[1] == {"limit": 10, "starting_after": 9}


def test_links_in_the_header_are_followed_as_they_are():
    def serve(step):
        start = int(step.url.rpartition("=")[2] or 0)
        next_url = f"https://x.org/a;b,c?o={start + 10}"
        links = f'<https://x.org/a?page=0>; rel="first", <{next_url}>; rel="prev next"; title="a, b"'
        return ROWS[start : start + 10], ROWS[start : start + 10], {"link": links} if start < 20 else {}

    rows, asked, _ = walked(Paging(PagingStyle.LINK, "limit"), serve)
    assert rows == ROWS
    assert asked[1] == "https://x.org/a;b,c?o=10"


@pytest.mark.parametrize("form", [str, lambda url: {"href": url}])
def test_urls_in_the_body_are_followed_also_relative_ones(form):
    def serve(step):
        start = int(step.url.rpartition("=")[2] or 0)
        return {"@odata.nextLink": form(f"/a?o={start + 10}") if start < 20 else None}, ROWS[start : start + 10], {}

    assert walked(Paging(PagingStyle.NEXT_URL, next="@odata.nextLink"), serve)[0] == ROWS


def test_a_cursor_that_comes_again_ends_the_walk_as_a_loop():
    def serve(step):
        return {"next": {"a": "b", "b": "a"}.get(str(step.query.get("cursor")), "a")}, [{"id": len(str(step))}], {}

    *_, end = walked(Paging(PagingStyle.CURSOR, "limit", position="cursor", next="next"), serve)
    assert end == Done(looped=True)


def test_an_upstream_that_does_not_heed_the_position_is_a_loop():
    def serve(step):
        return ROWS[:10], ROWS[:10], {}

    _, asked, end = walked(Paging(PagingStyle.OFFSET, "limit", position="offset"), serve)
    assert end == Done(looped=True)
    assert len(asked) == 2


def test_no_more_is_asked_for_than_upstream_gives():
    assert page_steps.first(Paging(PagingStyle.OFFSET, "limit", size_maximum=100), 500).query == {"limit": 100}
    assert page_steps.first(Paging(PagingStyle.OFFSET), 500).query == {}


def test_paths_find_names_with_dots():
    assert dotted_paths.at({"@odata.nextLink": "u"}, "@odata.nextLink") == "u"
    assert dotted_paths.at({"a": {"b.c": 1}}, "a.b.c") == 1
    assert dotted_paths.at({"a": [1]}, "a.b") is None
    assert dotted_paths.without({"a": {"b": [1], "c": 2}, "d": {"e": 1}}, "a.b") == {"a": {"c": 2}, "d": {"e": 1}}
