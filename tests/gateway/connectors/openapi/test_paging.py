"""How lists are paged is recognised, and each page leads to the next one, once."""

from typing import Any

import orjson
import pytest

from gateway.connectors.openapi import data, page_steps
from gateway.connectors.openapi.page_steps import Done, Step
from gateway.connectors.openapi.paging import Paging, PagingStyle
from gateway.upstreams.exchanges import Response
from tests.gateway.connectors.openapi.documents import ROW, listing, query, rows_of

WHOLE = {"type": "integer"}
TEXT = {"type": "string"}
LINK = {"Link": {"schema": TEXT}}


def beside(**properties: Any) -> dict[str, Any]:
    return rows_of("data", **properties)


def within(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("parameters", "schema", "expected"),
    [
        (["limit", "offset"], beside(total=WHOLE),
         Paging(PagingStyle.OFFSET, "limit", position="offset", total="total")),
        (["take", "skip"], beside(), Paging(PagingStyle.OFFSET, "take", position="skip")),
        (["per_page", "page"], beside(meta=within(total_count=WHOLE)),
         Paging(PagingStyle.PAGE, "per_page", position="page", start=1, total="meta.total_count")),
        (["pageSize", "pageNumber"], beside(hasNextPage={"type": "boolean"}),
         Paging(PagingStyle.PAGE, "pageSize", position="pageNumber", start=1, has_more="hasNextPage")),
        (["limit", "page"], beside(), Paging(PagingStyle.PAGE, "limit", position="page", start=1)),
        (["page", "size"], rows_of("content", totalElements=WHOLE, number=WHOLE),
         Paging(PagingStyle.PAGE, "size", position="page", start=0, total="totalElements")),
        (["page[number]", "page[size]"], beside(links=within(next=TEXT)),
         Paging(PagingStyle.PAGE, "page[size]", position="page[number]", start=1, next="links.next")),
        (["page_size", "page"], rows_of("results", count=WHOLE, next=TEXT),
         Paging(PagingStyle.PAGE, "page_size", position="page", start=1, next="next", total="count")),
        (["limit", "starting_after"], beside(has_more={"type": "boolean"}),
         Paging(PagingStyle.LAST_ID, "limit", position="starting_after", has_more="has_more")),
        (["page_size", "start_cursor"], rows_of("results", next_cursor=TEXT, has_more={"type": "boolean"}),
         Paging(PagingStyle.CURSOR, "page_size", position="start_cursor", next="next_cursor", has_more="has_more")),
        (["limit", "cursor"], rows_of("channels", response_metadata=within(next_cursor=TEXT)),
         Paging(PagingStyle.CURSOR, "limit", position="cursor", next="response_metadata.next_cursor")),
        (["maxResults", "pageToken"], rows_of("items", nextPageToken=TEXT),
         Paging(PagingStyle.CURSOR, "maxResults", position="pageToken", next="nextPageToken")),
        (["limit", "continue"], rows_of("items", metadata={"type": "object", "properties": {"continue": TEXT}}),
         Paging(PagingStyle.CURSOR, "limit", position="continue", next="metadata.continue")),
        (["limit", "after"], beside(paging=within(cursors=within(after=TEXT, before=TEXT))),
         Paging(PagingStyle.CURSOR, "limit", position="after", next="paging.cursors.after")),
        (["$top", "$skip"], rows_of("value", **{"@odata.nextLink": TEXT}),
         Paging(PagingStyle.OFFSET, "$top", position="$skip", next="@odata.nextLink")),
        (["$top"], rows_of("value", **{"@odata.nextLink": TEXT}),
         Paging(PagingStyle.NEXT_URL, "$top", next="@odata.nextLink")),
        (["PageSize", "PageToken"], rows_of("calls", next_page_uri=TEXT, uri=TEXT),
         Paging(PagingStyle.NEXT_URL, "PageSize", position="PageToken", next="next_page_uri")),
        (["limit"], beside(), None),
        (["q"], {"type": "array", "items": ROW}, None),
    ],
)  # fmt: skip
def test_a_list_tells_how_it_is_paged(parameters, schema, expected):
    whole = {"limit", "offset", "take", "skip", "per_page", "page", "pageSize", "size", "maxResults", "$top", "$skip"}
    made = listing(
        *(query(name, WHOLE if name in whole else TEXT) for name in parameters), schema=schema, operationId="x"
    )
    assert made.paging == expected


def test_a_link_header_is_how_a_list_is_paged():
    node = {"headers": LINK, "content": {"application/json": {"schema": {"type": "array", "items": ROW}}}}
    made = listing(query("per_page", WHOLE), query("page", WHOLE), query("state"), responses={"200": node})
    assert made.paging == Paging(PagingStyle.LINK, "per_page", position="page")
    assert list(made.parameters) == ["state"]


def test_what_pages_a_list_is_no_argument_any_more():
    made = listing(
        query("limit", WHOLE), query("starting_after"), query("ending_before"), query("status"),
        schema=beside(has_more={"type": "boolean"}),
    )  # fmt: skip
    assert list(made.parameters) == ["status"]


def test_after_a_date_is_a_filter():
    made = listing(
        query("limit", WHOLE), query("after", {"type": "string", "format": "date-time"}), schema=beside(cursor=TEXT)
    )
    assert made.paging is None
    assert "after" in made.parameters


@pytest.mark.parametrize(
    ("said", "maximum"),
    [
        ({"maximum": 100}, 100),
        ({"description": "Limit can range between 1 and 100, and the default is 10."}, 100),
        ({"description": "The number of results per page (max 50)."}, 50),
        ({"description": "Up to 250 at once"}, 250),
        ({"description": "How many."}, None),
        ({"maximum": 2**31 - 1}, None),
    ],
)
def test_the_largest_page_is_told_by_the_schema_or_in_words(said, maximum):
    made = listing(query("limit", {**WHOLE, **said}), query("offset", WHOLE))
    assert made.paging.size_maximum == maximum


@pytest.mark.parametrize("said", [{"default": 0}, {"minimum": 0}, {"description": "Zero-based page."}])
def test_pages_that_are_counted_from_zero_are_recognised(said):
    assert listing(query("page", {**WHOLE, **said}), query("size", WHOLE)).paging.start == 0


def test_paging_can_be_kept_as_json_and_edited():
    paging = Paging(PagingStyle.PAGE, "per_page", 30, 100, "page", 0, "links.next", "more", "header:x-total")
    assert Paging.from_document(orjson.loads(orjson.dumps(paging.document()))) == paging
    with pytest.raises((ValueError, TypeError)):
        Paging.from_document({"style": "guess"})


# -- Steps ------------------------------------------------------------------------------------------

ROWS = [{"id": n, "name": f"row {n}"} for n in range(25)]


def answer(body: Any, headers: dict[str, str] | None = None) -> Response:
    return Response(200, {"content-type": "application/json", **(headers or {})}, orjson.dumps(body))


def walked(paging: Paging, serve: Any, size: int | None = 10) -> tuple[list[Any], list[Any], Done]:
    """The rows of all pages, how each was asked for, and how it ended."""
    step: Step | Done = page_steps.first(paging, size)
    rows: list[Any] = []
    asked: list[Any] = []
    while isinstance(step, Step):
        assert len(asked) < 20
        asked.append(step.url or dict(step.query))
        body, page, headers = serve(step)
        rows += page
        step = page_steps.following(paging, answer(body, headers), body, page, step)
    return rows, asked, step


def sliced(step: Step, start: int, most: int = 100) -> list[Any]:
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
    assert data.at({"@odata.nextLink": "u"}, "@odata.nextLink") == "u"
    assert data.at({"a": {"b.c": 1}}, "a.b.c") == 1
    assert data.at({"a": [1]}, "a.b") is None
    assert data.without({"a": {"b": [1], "c": 2}, "d": {"e": 1}}, "a.b") == {"a": {"c": 2}, "d": {"e": 1}}
