"""Numbers that an upstream writes as texts are not silently left out of totals and comparisons."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.core.policy import Kind
from context_protection.core.rows import MemoryRows
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from tests.doors import Doors

pytestmark = pytest.mark.django_db
ROWS = [
    {"id": number, "price": f"{number}.50", "paid": number, "made": "2026-11-20 10:00:00", "rooms": [number]}
    for number in range(1, 5)
]
SUM = {"metrics": [{"op": "sum", "field": "price", "as": "revenue"}]}


@pytest.fixture(autouse=True)
def orders() -> Iterator[None]:
    operation = Operation(
        name="list_orders",
        title="List orders",
        description="Orders.",
        kind=Kind.LIST,
        parameters={"kind": {"type": "string"}},
        fetch=lambda arguments, caller: MemoryRows(ROWS),
        endpoint="/api/v1/tools/list_orders",
    )
    catalogue.offer([operation])
    yield
    catalogue.withdraw(operation.name)


def notes_of(answer: dict[str, Any]) -> list[str]:
    found: list[str] = answer["meta"].get("notes", [])
    return [each for each in found if "are texts" in each]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"aggregate": SUM}, "price"),
        ({"where": {"price": {"gte": 2}}}, "price"),
        ({"where": {"price": {"gte": 2}}, "aggregate": {"metrics": ["count"]}}, "price"),
        ({"where": {"or": [{"id": 1}, {"made": {"gt": 5}}]}}, "made"),
    ],
)
def test_a_query_that_takes_texts_for_numbers_says_so(doors: Doors, arguments: dict[str, Any], name: str):
    (note,) = notes_of(doors.mcp("list_orders", arguments))
    assert note.startswith(f"{name}: the values are texts")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"where": {"price": "1.50"}},
        {"where": {"price": 1.5}},
        {"where": {"rooms": {"gte": 2}}},
        {"where": {"price": {"isnull": False}, "paid": {"gte": 2}}},
        {"aggregate": {"metrics": [{"op": "sum", "field": "paid"}, {"op": "max", "field": "price"}]}},
    ],
)
def test_other_queries_do_not(doors: Doors, arguments: dict[str, Any]):
    assert notes_of(doors.mcp("list_orders", arguments)) == []


def test_the_advice_of_the_note_leads_to_the_total(doors: Doors):
    (note,) = notes_of(doors.mcp("list_orders", {"aggregate": SUM}))
    cast = re.search(r"TRY_CAST\(.*?\)\)", note)
    assert cast
    handle = doors.mcp("list_orders", {"format": "handle"})["meta"]["resultHandle"]
    sql = "SELECT sum(…) AS revenue FROM rows".replace("…", cast[0].replace("…", "price"))
    assert doors.mcp("result_query", {"handle": handle, "sql": sql})["items"] == [{"revenue": 12}]
