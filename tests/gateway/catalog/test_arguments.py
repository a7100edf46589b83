"""Arguments: what is wrong is named, and the suggestion applied as it stands makes the call pass (N-SC-004)."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.core.errors import CallError, InvalidArgument
from context_protection.core.policy import DEFAULTS, Kind
from gateway.catalog.arguments import DEEPEST, validated
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
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
SUGGESTED = re.compile(r"Set (\w+) to (?:a value such as )?(.+?)(?:, or leave it out|, and follow .*)?\.")


def wrong_values(name: str, schema: dict[str, Any]) -> Iterator[Any]:
    if "enum" in schema:
        yield from (schema["enum"][0][:-1] + "z", "nonsense", 5)
    elif "pattern" in schema:
        yield from ("insertedOm", "-Id", "nonsense", 5)
    elif schema.get("format") == "date":
        yield from ("tomorrow", "2026-13-40", "20.11.2026", 5)
    elif schema["type"] == "integer":
        yield from ("x", 1.5, [1]) if "minimum" not in schema else ("x", 1.5, schema["minimum"] - 1, -7)
        if "maximum" in schema:
            yield schema["maximum"] + 1
    elif schema["type"] == "number":
        yield from ("cheap", [1])
    elif name != "cursor":
        yield 5


def mistakes() -> list[tuple[str, str, Any]]:
    return [
        (operation.name, name, value)
        for operation in catalogue
        for name, schema in operation.schema(DEFAULTS)["properties"].items()
        for value in wrong_values(name, schema)
    ]


def applied(suggestion: str, operation: Operation) -> dict[str, Any] | None:
    """The one argument that the suggestion spells out; None where it spells none out."""
    found = SUGGESTED.fullmatch(suggestion)
    if found is None:
        return None
    name, value = found.groups()
    kind = operation.schema(DEFAULTS)["properties"][name]["type"]
    return {name: int(value) if kind == "integer" else float(value) if kind == "number" else value}


def test_four_of_five_mistakes_are_repaired_by_their_own_suggestion(doors: Doors):
    handle = doors.post(BOOKINGS, {})["meta"]["resultHandle"]
    repaired: list[tuple[str, str, Any]] = []
    failed: list[tuple[str, str, Any]] = []
    for operation, name, value in mistakes():
        known = {"handle": handle} if operation.startswith("result_") else {}
        arguments = {**known, **NEEDED.get(operation, {}), name: value}
        error = doors.post(operation, arguments)["error"]
        assert error["data"]["parameter"] == name, (operation, name, value)
        change = applied(error["data"]["suggestion"], catalogue.get(operation))
        if change is not None:
            again = doors.post(operation, {**arguments, **change})
            (failed if "error" in again else repaired).append((operation, name, value))
    assert len(repaired) > 50
    assert len(repaired) >= 0.8 * (len(repaired) + len(failed)), failed


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
        ("limit", "5"),
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
    assert error["code"] == -32602
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
