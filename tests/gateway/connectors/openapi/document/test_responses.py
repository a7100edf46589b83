"""Where the rows of a documented response are, or that it has none."""

from typing import Any

import pytest

from tests.gateway.connectors.openapi.documents import ROW, Node, answering, operation, query

TEXT: Node = {"type": "string"}
ROWS: Node = {"type": "array", "items": ROW}
TAGS: Node = {"type": "array", "items": TEXT}
SIX = dict.fromkeys(("color", "weight", "owner", "brand", "place", "mood"), TEXT)


def rows_at(path: str, **properties: Any) -> str | None:
    schema = {"type": "object", "properties": properties}
    return operation({"responses": answering(schema)}, path).rows


def test_an_array_named_as_the_path_goes_before_a_conventional_name():
    assert rows_at("/v1/orders", data=ROWS, orders=ROWS) == "orders"
    assert rows_at("/v1/orders/{id}/lines", items=ROWS, line=ROWS) == "line"


def test_of_conventional_names_the_more_usual_one_has_the_rows():
    assert rows_at("/x", items=ROWS, data=TAGS) == "data"
    assert rows_at("/x", values=ROWS, results=ROWS) == "results"


@pytest.mark.parametrize(("path", "name"), [("/x", "data"), ("/orders", "orders")])
def test_a_name_is_believed_beside_up_to_six_fields_of_its_own(path: str, name: str):
    assert rows_at(path, **{name: ROWS}, **SIX) == name
    assert rows_at(path, **{name: ROWS}, **SIX, shape=TEXT) is None
    assert rows_at(path, **{name: ROWS}, **SIX, total={"type": "integer"}) == name


def test_the_only_array_of_objects_has_the_rows():
    assert rows_at("/x", widgets=ROWS, flavors=TAGS) == "widgets"
    assert rows_at("/x", links=ROWS, flavors=TAGS) == "links"


def test_without_a_single_array_of_objects_the_only_telling_name_has_the_rows():
    assert rows_at("/x", widgets=ROWS, links=ROWS) == "widgets"
    assert rows_at("/x", widgets=TAGS, links=TAGS) == "widgets"


def test_where_two_arrays_may_have_the_rows_none_is_chosen():
    assert rows_at("/x", widgets=ROWS, gadgets=ROWS) is None
    assert rows_at("/x", widgets=TAGS, flavors=TAGS) is None


def test_an_array_of_any_name_has_the_rows_only_if_nothing_unusual_is_beside_it():
    assert rows_at("/x", widgets=ROWS, total={"type": "integer"}) == "widgets"
    assert rows_at("/x", widgets=ROWS, color=TEXT) is None


def test_what_has_an_id_is_a_record():
    assert rows_at("/orders", orders=ROWS, id=TEXT) is None


@pytest.mark.parametrize("path", ["/orders/{id}", "/orders/{id}/"])
def test_at_a_path_that_ends_with_a_parameter_fields_of_its_own_make_a_record(path: str):
    assert rows_at(path, data=ROWS, color=TEXT) is None
    assert rows_at(path, data=ROWS, total={"type": "integer"}) == "data"
    assert rows_at("/orders/{id}/lines", data=ROWS, color=TEXT) == "data"


def test_rows_may_be_one_object_further_in():
    inner = {"type": "object", "properties": {"widgets": ROWS}}
    assert rows_at("/x", response=inner) == "response.widgets"
    assert rows_at("/x", color=inner) is None


# -- What pages is a list ---------------------------------------------------------------------------

INNER = {"type": "object", "properties": {"items": ROWS, "next": TEXT, "total": {"type": "integer"}}}
OBJECT: Node = {"type": "object"}


def paged_rows_at(path: str, **properties: Any) -> str | None:
    schema = {"type": "object", "properties": properties}
    return operation({"parameters": [query("cursor")], "responses": answering(schema)}, path).rows


def test_an_operation_with_a_cursor_is_a_list_whatever_is_beside_its_rows():
    assert paged_rows_at("/threads/search", threads=ROWS, members=ROWS, firsts=ROWS) == "threads"
    assert paged_rows_at("/guilds/{id}/audit-logs", users=ROWS, audit_log_entries=ROWS) == "audit_log_entries"
    assert paged_rows_at("/access", level=TEXT, repositories=ROWS) == "repositories"
    assert paged_rows_at("/tags/{kind}", users=ROWS, errors=ROWS, teams=ROWS) == "users"
    assert paged_rows_at("/orders", id=TEXT, lines=ROWS) is None


def test_so_is_one_that_says_whether_more_rows_follow():
    assert rows_at("/impacts", extra=OBJECT, services=ROWS, has_more={"type": "boolean"}) == "services"
    assert rows_at("/impacts", extra=OBJECT, services=ROWS) is None


def test_the_only_object_that_is_a_page_has_the_rows():
    assert rows_at("/browse/new", albums=INNER) == "albums.items"
    assert rows_at("/browse/new", albums=INNER, message=TEXT) == "albums.items"
    assert rows_at("/search", albums=INNER, tracks=INNER) is None
    assert rows_at("/group", name=TEXT, users=INNER) is None
    assert rows_at("/teams/{id}/components", status=TEXT, meta={**INNER, "properties": {"components": ROWS}}) == (
        "meta.components"
    )


@pytest.mark.parametrize("name", ["next_marker", "prevMarker", "nextIterator", "bookmark"])
def test_a_position_beside_the_rows_does_not_make_a_record_of_them(name: str):
    assert rows_at("/taxonomies/{namespace}", entries=ROWS, limit={"type": "integer"}, **{name: TEXT}) == "entries"


@pytest.mark.parametrize(
    ("variants", "rows"), [([ROWS, TAGS], ""), ([ROWS, {"type": "null"}], ""), ([ROWS, ROW], None)]
)
def test_variants_that_are_all_arrays_are_a_list(variants: list[Node], rows: str | None):
    read = operation({"responses": answering({"anyOf": variants})}, "/tools")
    assert read.rows == rows


def test_rows_that_are_one_of_several_arrays_are_a_list():
    rows = {"oneOf": [ROWS, {"type": "array", "items": {"type": "object", "properties": {"team": TEXT}}}]}
    assert rows_at("/libraries/{key}/usages", rows=rows, next_page={"type": "boolean"}, cursor=TEXT) == "rows"


def test_conventional_names_may_begin_with_a_capital():
    assert rows_at("/scim/Users", schemas=TAGS, totalResults={"type": "integer"}, Resources=ROWS, itemsPerPage={}) == (
        "Resources"
    )


def test_a_status_alone_says_nothing_of_what_a_paged_operation_answers():
    only_ok = answering({"type": "object", "properties": {"ok": {"type": "boolean"}}})
    assert operation({"parameters": [query("cursor")], "responses": only_ok}).kind_is_unknown
    assert not operation({"responses": only_ok}).kind_is_unknown
