"""How lists are paged is recognised from what their document says."""

from typing import Any

import orjson
import pytest

from gateway.connectors.openapi.document.paging import Paging, PagingStyle
from tests.gateway.connectors.openapi.documents import ROW, answering, listing, query, rows_of

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
        (["page", "size"], rows_of("content", numberOfElements=WHOLE, last={"type": "boolean"}),
         Paging(PagingStyle.PAGE, "size", position="page", start=0)),
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


NEXT_OFFSET = rows_of("data", next_page=within(offset=TEXT, path=TEXT, uri=TEXT))


@pytest.mark.parametrize(
    ("offset", "schema", "expected"),
    [
        (TEXT, NEXT_OFFSET, Paging(PagingStyle.CURSOR, "limit", position="offset", next="next_page.offset")),
        (WHOLE, NEXT_OFFSET, Paging(PagingStyle.OFFSET, "limit", position="offset")),
        (
            {**TEXT, "description": "Number of rows to skip."},
            beside(),
            Paging(PagingStyle.OFFSET, "limit", position="offset"),
        ),
        ({**TEXT, "description": "The offset token of the page before."}, beside(), None),
    ],
)
def test_an_offset_is_a_number_only_if_the_document_says_so(offset, schema, expected):
    made = listing(query("limit", WHOLE), query("offset", offset), schema=schema, operationId="x")
    assert made.paging == expected


def test_a_link_header_is_how_a_list_is_paged():
    node = {"headers": LINK, "content": {"application/json": {"schema": {"type": "array", "items": ROW}}}}
    made = listing(query("per_page", WHOLE), query("page", WHOLE), query("state"), responses={"200": node})
    assert made.paging == Paging(PagingStyle.LINK, "per_page", position="page")
    assert list(made.parameters) == ["state"]


NO_ID = {"type": "object", "properties": {"data": {"type": "array", "items": {"type": "object", "properties": {}}}}}
NEXT_CURSOR, NEXT_URL = {"next_cursor": TEXT}, {"nextUrl": TEXT}


@pytest.mark.parametrize(
    ("parameters", "properties", "expected"),
    [
        ({"cursor": TEXT, "offset": WHOLE}, NEXT_CURSOR, (PagingStyle.CURSOR, "cursor", "next_cursor")),
        ({"since_id": TEXT, "cursor": TEXT}, NEXT_CURSOR, (PagingStyle.CURSOR, "cursor", "next_cursor")),
        ({"since_id": TEXT}, NEXT_CURSOR, (PagingStyle.CURSOR, "since_id", "next_cursor")),
        ({"cursor": WHOLE, "offset": WHOLE}, NEXT_CURSOR, (PagingStyle.OFFSET, "offset", "")),
        ({"cursor": TEXT}, {"links": within(next=TEXT)}, (PagingStyle.NEXT_URL, "cursor", "links.next")),
        ({"cursor": TEXT, "offset": WHOLE}, NEXT_URL, (PagingStyle.NEXT_URL, "cursor", "nextUrl")),
        ({"cursor": WHOLE, "offset": WHOLE}, NEXT_URL, (PagingStyle.OFFSET, "offset", "nextUrl")),
        ({"cursor": TEXT, "offset": WHOLE}, {}, (PagingStyle.OFFSET, "offset", "")),
        ({"since_id": TEXT, "offset": WHOLE}, {}, (PagingStyle.LAST_ID, "since_id", "")),
        ({"page": WHOLE, "offset": WHOLE}, {}, (PagingStyle.OFFSET, "offset", "")),
        ({"page": WHOLE}, {**NEXT_CURSOR, **NEXT_URL}, (PagingStyle.PAGE, "page", "nextUrl")),
        ({"pageNum": TEXT}, NEXT_CURSOR, (PagingStyle.PAGE, "pageNum", "")),
        ({"page": TEXT}, {**NEXT_CURSOR, **NEXT_URL}, (PagingStyle.CURSOR, "page", "next_cursor")),
        ({"page": TEXT}, NEXT_URL, (PagingStyle.NEXT_URL, "page", "nextUrl")),
        ({"page": TEXT}, {}, (PagingStyle.PAGE, "page", "")),
        ({}, NEXT_URL, (PagingStyle.NEXT_URL, "", "nextUrl")),
        ({"cursor": TEXT}, {}, None),
    ],
)
def test_where_a_list_could_be_paged_in_several_ways_the_surer_one_is_taken(parameters, properties, expected):
    made = listing(*(query(name, schema) for name, schema in parameters.items()), schema=beside(**properties)).paging
    assert (made and (made.style, made.position, made.next)) == expected


MORE = {"has_more": {"type": "boolean"}}
OPAQUE = {**TEXT, "description": "An opaque cursor."}
OF_USERS = {"type": "array", "items": within(user=within(id=TEXT), nick=TEXT)}


@pytest.mark.parametrize(
    ("parameters", "schema", "expected"),
    [
        ({"after": TEXT, "before": TEXT}, beside(**MORE),
         Paging(PagingStyle.LAST_ID, position="after", has_more="has_more", backwards="before")),
        ({"after": OPAQUE}, beside(**MORE, last_id=TEXT),
         Paging(PagingStyle.CURSOR, position="after", next="last_id", has_more="has_more")),
        ({"after": TEXT}, beside(), Paging(PagingStyle.LAST_ID, position="after")),
        ({"before": TEXT}, beside(), Paging(PagingStyle.LAST_ID, position="before")),
        ({"after": OPAQUE}, beside(), None),
        ({"after": {**TEXT, "description": "A cursor: the ID of an object."}}, beside(),
         Paging(PagingStyle.LAST_ID, position="after")),
        ({"after": TEXT}, OF_USERS, Paging(PagingStyle.LAST_ID, position="after", key="user.id")),
        ({"cursor": TEXT}, beside(next_page={"type": "boolean"}, cursor=TEXT),
         Paging(PagingStyle.CURSOR, position="cursor", next="cursor", has_more="next_page")),
        ({"page": WHOLE}, beside(next={"type": ["boolean", "null"]}),
         Paging(PagingStyle.PAGE, position="page", start=1, has_more="next")),
        ({"after": TEXT, "page": WHOLE}, beside(**MORE),
         Paging(PagingStyle.PAGE, position="page", start=1, has_more="has_more")),
        ({"iterator": TEXT}, beside(next_iterator=TEXT),
         Paging(PagingStyle.CURSOR, position="iterator", next="next_iterator")),
        ({"offset": WHOLE}, {"type": "object", "properties": {"albums": beside(next=TEXT, total=WHOLE)}},
         Paging(PagingStyle.OFFSET, position="offset", next="albums.next", total="albums.total")),
        ({"startIndex": {**WHOLE, "default": 1}}, beside(), Paging(PagingStyle.OFFSET, position="startIndex", start=1)),
        ({"startIndex": {**WHOLE, "description": "The 1-based index of the first row."}}, beside(),
         Paging(PagingStyle.OFFSET, position="startIndex", start=1)),
    ],
)  # fmt: skip
def test_a_list_is_paged_by_what_its_answers_and_rows_have(parameters, schema, expected):
    made = listing(*(query(name, given) for name, given in parameters.items()), schema=schema)
    assert made.paging == expected


def test_rows_without_an_id_are_not_paged_by_their_last_one():
    made = listing(query("since_id"), query("offset", WHOLE), schema=NO_ID).paging
    assert made is not None
    assert made.style is PagingStyle.OFFSET


@pytest.mark.parametrize(
    ("names", "position"),
    [(["offset", "cursor", "page"], "page"), (["offset", "cursor"], "cursor"), (["offset"], "offset"), ([], "")],
)
def test_a_link_header_goes_before_urls_and_numbers_and_the_page_is_its_position(names, position):
    given = [query(name, WHOLE) for name in names]
    made = listing(*given, responses=answering(beside(nextUrl=TEXT), LINK)).paging
    assert made == Paging(PagingStyle.LINK, position=position)


def test_a_cursor_in_the_response_goes_before_a_link_header():
    made = listing(query("cursor"), query("page", WHOLE), responses=answering(beside(**NEXT_CURSOR), LINK)).paging
    assert made == Paging(PagingStyle.CURSOR, position="cursor", next="next_cursor")


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
        ({"description": "Between 1 and 10,000"}, 10_000),
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
