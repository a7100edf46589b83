"""Arguments: what is clear is accepted, and what is wrong is named with what corrects it."""

from dataclasses import replace
from typing import Any

import pytest

from context_protection.core.errors import CallError, InvalidArgument
from context_protection.core.policy import Kind
from gateway.catalog.arguments import DEEPEST, validated
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.catalog.query_string import from_query
from tests.doors import Doors
from tests.simulators.nsip_sheep import Sheep

pytestmark = pytest.mark.django_db

BOOKINGS = "list_bookings"
RAM = Sheep(640, 7331).lpn
NEEDED = {
    "get_listing": {"id": 200100},
    "get_booking": {"id": 43000000},
    "get_transaction": {"id": 700000},
    "read_document": {"id": "house-manual.md"},
    "result_get": {},
    "result_search": {"text": "a"},
    "result_query": {"sql": "SELECT 1"},
    "describe_tool": {"name": "get_booking"},
    "nsip_get_trait_ranges": {"breed_id": 640},
    "nsip_get_animal": {"search_string": RAM},
    "nsip_get_lineage": {"lpn_id": RAM},
    "nsip_get_progeny": {"lpn_id": RAM},
    "nsip_search_by_lpn": {"lpn_id": RAM},
}


def invented(kind: Kind = Kind.LIST, required: tuple[str, ...] = (), **parameters: Any) -> Operation:
    return Operation(
        name="get_booking_things",
        title="Things",
        description="Things.",
        kind=kind,
        parameters=parameters,
        required=required,
        fetch=lambda arguments, caller: None,  # type: ignore[arg-type,return-value]
        endpoint="",
    )


LENIENT = invented(
    id={"type": "integer"},
    status={"type": "string", "enum": ["confirmed", "in_progress"]},
    since={"type": "string", "format": "date"},
    changed={"type": "string", "format": "date-time"},
    proven={"type": "boolean"},
    share={"type": "number"},
    labels={"type": "array", "items": {"type": "string"}},
    numbers={"type": "array", "items": {"type": "integer"}},
    tags={"type": "string", "description": "Separated by commas."},
    code={"type": "string"},
    order={"type": "string", "pattern": "^-?(id|totalPrice)$", "default": "-id"},
    listingId={"type": ["integer", "null"]},
)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({"id": "43"}, {"id": 43}),
        ({"id": " +43.0 "}, {"id": 43}),
        ({"id": [43]}, {"id": 43}),
        ({"share": "0.5"}, {"share": 0.5}),
        ({"listingId": "7"}, {"listingId": 7}),
        ({"listing_id": 7}, {"listingId": 7}),
        ({"LISTINGID": 7}, {"listingId": 7}),
        ({"status": "CONFIRMED"}, {"status": "confirmed"}),
        ({"status": "In Progress"}, {"status": "in_progress"}),
        ({"since": "2026-11-20T23:30:00Z"}, {"since": "2026-11-20"}),
        ({"since": "2026/11/20"}, {"since": "2026-11-20"}),
        ({"since": "20.11.2026"}, {"since": "2026-11-20"}),
        ({"since": 20261120}, {"since": "2026-11-20"}),
        ({"changed": "2026-11-20"}, {"changed": "2026-11-20T00:00:00Z"}),
        ({"changed": "2026-11-20 12:30:00"}, {"changed": "2026-11-20T12:30:00Z"}),
        ({"proven": "True"}, {"proven": True}),
        ({"proven": 0}, {"proven": False}),
        ({"labels": "a, b"}, {"labels": ["a", "b"]}),
        ({"numbers": "1,2"}, {"numbers": [1, 2]}),
        ({"numbers": 1}, {"numbers": [1]}),
        ({"numbers": ["1", 2]}, {"numbers": [1, 2]}),
        ({"tags": ["a", "b"]}, {"tags": "a,b"}),
        ({"fields": ["id", "status"]}, {"fields": "id,status"}),
        ({"code": 43}, {"code": "43"}),
        ({"order": "totalPrice desc"}, {"order": "-totalPrice"}),
        ({"order": "totalprice:ASC"}, {"order": "totalPrice"}),
        ({"order": "-TotalPrice"}, {"order": "-totalPrice"}),
        ({"order": "+id"}, {"order": "id"}),
        ({"sort": "-totalPrice"}, {"order": "-totalPrice"}),
        ({"sort_by": "totalPrice", "order": "desc"}, {"order": "-totalPrice"}),
        ({"orderBy": "totalPrice", "sortOrder": "descending"}, {"order": "-totalPrice"}),
        ({"order": "asc"}, {"order": "id"}),
        ({"limit": "5", "page_size": 5}, None),
        ({"pageSize": "5"}, {"limit": 5}),
        ({"select": "id"}, {"fields": "id"}),
        ({"filter": {"id": 1}}, {"where": {"id": 1}}),
        ({"nextCursor": "c"}, {"cursor": "c"}),
    ],
)
def test_what_is_clear_is_accepted(given: dict[str, Any], meant: dict[str, Any] | None):
    if meant is None:
        with pytest.raises(InvalidArgument):
            validated(LENIENT, given)
    else:
        assert validated(LENIENT, given) == meant


OF_TWO_TYPES = invented(
    customer={"type": ["integer", "string"]},
    size={"type": ["string", "number"]},
    proven={"type": ["boolean", "string"]},
    labels={"type": ["array", "string"], "items": {"type": ["integer", "string"]}},
    changed={"type": "string", "format": "date-time"},
    count={"type": "integer"},
)


@pytest.mark.parametrize(
    "valid",
    [
        {"customer": "007"},
        {"customer": "7"},
        {"size": 5},
        {"proven": "yes"},
        {"labels": "a,b"},
        {"labels": ["1", 2]},
        {"changed": "2026-11-20T12:00:00Z"},
        {"changed": "2026-11-20T12:00:00.5+02:00"},
    ],
)
def test_a_valid_argument_stays_as_it_is_whatever_another_one_is(valid: dict[str, Any]):
    assert validated(OF_TWO_TYPES, valid) == valid
    assert validated(OF_TWO_TYPES, {**valid, "count": "5"}) == {**valid, "count": 5}


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ({"customer": "007"}, {"customer": "007"}),
        ({"customer": "+7"}, {"customer": "+7"}),
        ({"customer": "7"}, {"customer": 7}),
        ({"size": "1.50"}, {"size": "1.50"}),
        ({"size": "1.5"}, {"size": 1.5}),
        ({"count": "+5.0"}, {"count": 5}),
        ({"changed": "2026-11-20T12:00:00Z"}, {"changed": "2026-11-20T12:00:00Z"}),
    ],
)
def test_a_query_string_loses_no_sign_of_a_value_that_may_be_a_text(query: dict[str, str], arguments: dict[str, Any]):
    assert validated(OF_TWO_TYPES, from_query(OF_TWO_TYPES, query)) == arguments


@pytest.mark.parametrize(
    ("operation", "given", "meant"),
    [
        ("get_booking", {"booking_id": "43000000"}, {"id": 43000000}),
        ("get_booking", {"bookingId": 43000000}, {"id": 43000000}),
        ("read_document", {"document_id": "house-manual.md"}, {"id": "house-manual.md"}),
        ("nsip_get_lineage", {"lpn": "6401492020FLE249"}, {"lpn_id": "6401492020FLE249"}),
        ("nsip_get_animal", {"lpn_id": "6401492020FLE249"}, {"search_string": "6401492020FLE249"}),
        ("result_query", {"resultHandle": "h", "query": "SELECT 1"}, {"handle": "h", "sql": "SELECT 1"}),
        ("list_bookings", {"listing_map_id": "200285"}, {"propertyId": 200285}),
    ],
)
def test_other_names_of_arguments_are_accepted(operation: str, given: dict[str, Any], meant: dict[str, Any]):
    assert validated(catalogue.get(operation), given) == meant


@pytest.mark.parametrize("given", [{"listing_id": 5}, {"id": True}, {"id": "5x"}, {"id": "1e400"}, {"id": "9" * 17}])
def test_what_is_not_clear_is_an_error(given: dict[str, Any]):
    with pytest.raises(InvalidArgument):
        validated(catalogue.get("get_booking"), given)


@pytest.mark.parametrize("transport", ["get", "mcp", "post"])
def test_every_transport_accepts_the_same(transport: str, doors: Doors):
    def ask(given: dict[str, Any]) -> Any:
        answer = (
            doors.get("/api/v1/bookings", given) if transport == "get" else getattr(doors, transport)(BOOKINGS, given)
        )
        return [row["id"] for row in answer["items"]]

    given = {"STATUS": "Confirmed", "sort": "totalPrice desc", "check_in_from": "2026-01-01T00:00:00", "Limit": "3"}
    meant = {"status": "confirmed", "order": "-totalPrice", "checkInFrom": "2026-01-01", "limit": 3}
    assert ask(given) == ask(meant)


@pytest.mark.parametrize(
    ("given", "suggestion"),
    [
        ({"limt": 5}, "Rename limt to limit."),
        ({"colour": "red"}, "Leave colour out."),
        ({"status": "confrmed"}, "Set status to confirmed."),
        ({"status": "zzz"}, "Leave status out."),
        ({"order": "-totlPrice"}, "Set order to -totalPrice."),
        ({"order": "-zzz"}, "Set order to -insertedOn."),
        ({"order": "zzz"}, "Set order to insertedOn."),
        ({"checkInFrom": "soon"}, "Set checkInFrom to 2026-11-20."),
        ({"guestName": {"contains": "x"}}, "Leave guestName out."),
    ],
)
def test_a_suggestion_corrects_the_call(given: dict[str, Any], suggestion: str):
    with pytest.raises(InvalidArgument) as refused:
        validated(catalogue.get(BOOKINGS), given)
    assert refused.value.suggestion == suggestion


@pytest.mark.parametrize("given", [{}, {"id": 0}, {"id": "abc"}, {"id": None}])
def test_what_is_required_is_never_left_out(given: dict[str, Any]):
    with pytest.raises(InvalidArgument) as refused:
        validated(catalogue.get("get_booking"), given)
    assert refused.value.suggestion == "Find the id with list_bookings."


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"limit": 5.0}, {"limit": 5}),
        ({"limit": None, "status": "new"}, {"status": "new"}),
        ({"minTotalPrice": 10.5}, {"minTotalPrice": 10.5}),
        ({}, {}),
    ],
)
def test_whole_numbers_are_whole_and_null_is_not_given(given: dict[str, Any], kept: dict[str, Any]):
    got = validated(catalogue.get(BOOKINGS), given)
    assert got == kept
    assert [type(value) for value in got.values()] == [type(value) for value in kept.values()]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("guestName", "a\0b"),
        ("guestName", "\ud800"),
        ("cursor", "\udfff"),
        ("fields", "id,\0"),
        ("minTotalPrice", float("inf")),
        ("minTotalPrice", float("nan")),
        ("propertyId", 2**53),
        ("propertyId", -(10**40)),
        ("limit", True),
        ("guestName", {"contains": "x"}),
    ],
)
def test_what_no_database_can_compare_with_is_refused(name: str, value: Any):
    with pytest.raises(InvalidArgument) as refused:
        validated(catalogue.get(BOOKINGS), {name: value})
    assert refused.value.parameter == name
    assert refused.value.reason


@pytest.mark.parametrize(
    "arguments",
    [
        {"\ud800": 1},
        {"a\0b": 1},
        {"x" * 10_000: 1},
        {"limit": ["\ud800"]},
        {"guestName": {"deep": "\udfff"}},
        {"guestName": {"\ud800": 1}},
        {"limit": [10**40]},
        {"limit": [[[[[[]]]]]] * 1000},
        {"status": ["new"] * 5000},
        {"guestName": "x" * 5000},
        {"order": "x" * 5000},
        {"cursor": "x" * 5000},
        {"fields": "x" * 5000},
        {"x" * 5000: "y" * 5000},
    ],
)
def test_an_error_about_anything_is_no_crash_and_stays_small(doors: Doors, arguments: dict[str, Any]):
    error = doors.post(BOOKINGS, arguments)["error"]
    assert error["code"] == (-32003 if "cursor" in arguments else -32602)
    assert len(str(error)) < 3000


def test_an_error_repeats_the_beginning_of_a_long_value_and_its_length(doors: Doors):
    data = doors.post(BOOKINGS, {"guestName": "z" * 5000})["error"]["data"]
    assert data["value"] == "z" * 80 + "… (5000 characters)"


def test_a_missing_argument_is_named_with_what_it_must_be():
    with pytest.raises(CallError) as refused:
        validated(catalogue.get("get_booking"), {})
    assert (refused.value.parameter, refused.value.reason) == ("id", "missing_argument")
    assert refused.value.expected == "a whole number of at least 1"


def test_a_misspelt_argument_is_told_before_the_one_that_is_missing_for_it():
    with pytest.raises(CallError) as refused:
        validated(catalogue.get("get_booking"), {"ids": 43000000})
    assert refused.value.reason == "unknown_argument"
    assert "id" in refused.value.suggestion


@pytest.mark.parametrize("depth", [DEEPEST + 1, 500])
def test_what_is_nested_too_deeply_is_refused(depth: int):
    nested: Any = 1
    for _ in range(depth):
        nested = {"or": [nested]} if depth % 2 else [nested]
    with pytest.raises(InvalidArgument) as refused:
        validated(catalogue.get(BOOKINGS), {"where": {"id": nested}})
    assert refused.value.parameter == "where"
    assert refused.value.expected == f"nested at most {DEEPEST} deep"


NESTED = Operation(
    name="order_things",
    title="Order",
    description="Orders.",
    kind=Kind.ACTION,
    parameters={
        "code": {"type": "string", "pattern": "^v[0-9]+$"},
        "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "lines": {
            "type": "array",
            "maxItems": 2,
            "items": {
                "type": "object",
                "properties": {"count": {"type": "integer", "minimum": 1}},
                "required": ["count"],
            },
        },
    },
    required=("code",),
    fetch=lambda arguments, caller: None,  # type: ignore[arg-type,return-value]
    endpoint="",
)


@pytest.mark.parametrize(
    ("given", "parameter", "value", "expected"),
    [
        ({"code": "x"}, "code", "x", "a text that matches ^v[0-9]+$"),
        ({"share": 0}, "share", 0, "a number of at most 1 above 0"),
        ({"lines": [{"count": 1}] * 3}, "lines", None, "a list of at most 2 elements"),
        ({"lines": [{"count": 1}, {"count": 0}]}, "lines.1.count", 0, "a whole number of at least 1"),
        ({"lines": [{}]}, "lines.0.count", None, "a whole number of at least 1"),
    ],
)
def test_what_is_wrong_is_named_where_it_stands(given: dict[str, Any], parameter: str, value: Any, expected: str):
    with pytest.raises(InvalidArgument) as refused:
        validated(NESTED, {"code": "v1", **given})
    assert (refused.value.parameter, refused.value.expected) == (parameter, expected)
    assert parameter in refused.value.message
    assert value is None or refused.value.value == value


def test_with_a_cursor_what_is_required_is_its_walks():
    assert validated(NESTED, {"cursor": "c"}) == {"cursor": "c"}
    with pytest.raises(InvalidArgument, match="code is missing"):
        validated(NESTED, {})


def test_a_text_of_which_nothing_is_known_has_no_invented_example():
    """Once: "Set code to a value such as ….\""""
    with pytest.raises(CallError) as refused:
        validated(invented(required=("code",), code={"type": "string"}), {})
    assert refused.value.suggestion == "Call get_booking_things again with code as a text."


# -- Strict operations ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "parameter", "suggestion"),
    [
        ({"code": "v1", "share": "0.5"}, "share", "Set share to 0.5."),
        ({"code": "v1", "lines": '[{"count": 1}]'}, "lines", 'Set lines to [{"count":1}].'),
        ({"Code": "v1"}, "Code", "Rename Code to code."),
    ],
)
def test_a_strict_operation_takes_no_other_form(given: dict[str, Any], parameter: str, suggestion: str):
    assert validated(NESTED, given)
    with pytest.raises(InvalidArgument) as refused:
        validated(replace(NESTED, is_strict=True), given)
    assert refused.value.parameter == parameter
    assert refused.value.suggestion == suggestion


@pytest.mark.parametrize(
    ("operation", "name", "text", "told"),
    [
        (BOOKINGS, "minTotalPrice", "1e+20", "a number of at most 15 digits"),
        (BOOKINGS, "minTotalPrice", "1e+400", "a finite number"),
        ("get_booking", "id", "9223372036854775807", "a number of at most 15 digits"),
        ("get_booking", "id", "-1", "a whole number of at least 1"),
        ("get_booking", "id", "one", "a whole number of at least 1"),
    ],
)
def test_the_error_for_a_number_sent_as_a_text_is_that_of_numbers(operation: str, name: str, text: str, told: str):
    with pytest.raises(InvalidArgument) as refused:
        validated(catalogue.get(operation), {name: text})
    assert refused.value.message == f"{name} must be {told}."
    assert text not in refused.value.suggestion


def test_where_takes_a_number_that_is_too_long_as_a_text():
    with pytest.raises(InvalidArgument) as refused:
        validated(catalogue.get(BOOKINGS), {"where": {"id": 12345678901234567890}})
    assert refused.value.suggestion == 'Send a longer number as a text: {"id":"12345678901234567890"}.'
    assert validated(catalogue.get(BOOKINGS), {"where": {"id": "12345678901234567890"}})
