"""Amounts of several currencies are never added, ranked or compared without a word."""

from typing import Any

import pytest

from context_protection.core import list_queries
from context_protection.core.rows import MemoryRows
from context_protection.models import TokenBudget
from tests.doors import Doors

pytestmark = pytest.mark.django_db
SEVERAL = "EUR, GBP, IDR, JPY, MXN, PLN, THB, USD, ZAR"


def notes(answer: dict[str, Any]) -> list[str]:
    found: list[str] = answer["meta"].get("notes", [])
    return found


@pytest.mark.parametrize(
    "arguments",
    [
        {"order": "-totalPrice"},
        {"order": "totalPrice", "limit": 3},
        {"minTotalPrice": 500},
        {"minTotalPrice": 500, "order": "-totalPrice", "format": "handle"},
        {"minTotalPrice": 500, "where": {"cleaningFee": {"gte": 50.5}}},
        {"where": {"totalPrice": {"gte": 500}}},
        {"where": {"cleaningFee": {"lt": 50.5}}},
        {"where": {"or": [{"totalPrice": {"gt": 500}}, {"nights": 3}]}},
        {"where": {"totalPrice": {"gt": 0.5}}, "aggregate": {"metrics": [{"op": "count"}]}},
    ],
)
@pytest.mark.parametrize("ask", ["mcp", "rest"])
def test_what_compares_amounts_of_several_currencies_names_them(doors: Doors, ask: str, arguments: dict[str, Any]):
    answer = getattr(doors, ask)("list_bookings", arguments)
    (note,) = notes(answer)
    assert SEVERAL in note
    assert "currency" in note
    if "nextCursor" in answer:
        assert not notes(doors.mcp("list_bookings", {"cursor": answer["nextCursor"]})), "once is enough"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"order": "-checkInDate"},
        {"order": "-totalPrice", "currency": "EUR"},
        {"order": "-totalPrice", "where": {"currency": "EUR"}},
        {"minTotalPrice": 0},
        {"where": {"cleaningFee": {"gt": 0}}},
        {"where": {"currency": "JPY", "totalPrice": {"gte": 50_000}}},
        {"where": {"nights": {"gte": 3}}},
    ],
)
def test_amounts_of_one_currency_and_zero_are_compared_without_a_word(doors: Doors, arguments: dict[str, Any]):
    assert notes(doors.mcp("list_bookings", arguments)) == []


def test_groups_that_are_ordered_by_amounts_of_several_currencies_say_so(doors: Doors):
    revenue = {"metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}], "orderBy": "-revenue"}
    (note,) = notes(doors.mcp("list_bookings", {"aggregate": {"groupBy": ["currency"], **revenue}}))
    assert "revenue" in note
    assert "order" in note
    by_count = {"groupBy": ["currency"], "metrics": [{"op": "count"}], "orderBy": "-count"}
    assert notes(doors.mcp("list_bookings", {"aggregate": by_count})) == []
    euros = {"where": {"currency": "EUR"}, "aggregate": {"groupBy": ["currency"], **revenue}}
    assert notes(doors.mcp("list_bookings", euros)) == []


def test_sql_that_mixes_currencies_names_them_also_over_the_result_of_another(doors: Doors):
    handle = doors.mcp("list_bookings", {"format": "handle"})["meta"]["resultHandle"]
    first = doors.mcp("result_query", {"handle": handle, "sql": "SELECT id, totalPrice AS p, currency AS c FROM rows"})
    assert notes(first) == []
    later = doors.mcp("result_query", {"handle": first["meta"]["resultHandle"], "sql": "SELECT sum(p) FROM rows"})
    assert SEVERAL in notes(later)[0]
    summed = {"handle": handle, "sql": "SELECT propertyId, sum(totalPrice) AS p FROM rows GROUP BY propertyId"}
    mixed = doors.mcp("result_query", summed)
    assert SEVERAL in notes(mixed)[0]
    again = {"handles": {"m": mixed["meta"]["resultHandle"]}, "sql": "SELECT max(p) FROM m"}
    assert SEVERAL in notes(doors.mcp("result_query", again))[0], "a sum does not become clean by being stored"


INVOICES = [
    {"id": 1, "total_price": 5, "currency": "EUR", "tax": {"amount": 1, "currency": "EUR"}},
    {"id": 2, "total_price": 7, "currency": "USD", "tax": {"amount": 2, "currency": "USD"}},
]


@pytest.mark.parametrize("field", ["total_price", "tax.amount"])
def test_amounts_of_an_api_that_nobody_declared_are_grouped_by_the_currency_beside_them(field: str):
    aggregate = {"metrics": [{"op": "sum", "field": field, "as": "sum"}]}
    rows = list_queries.run(MemoryRows(INVOICES), {"aggregate": aggregate})
    opening = rows.open()
    assert opening.total == 2
    assert "in several units" in opening.note["notes"][0]
    compared = list_queries.run(MemoryRows(INVOICES), {"where": {field: {"gte": 1}}}).open()
    assert "EUR, USD" in compared.note["notes"][0]


@pytest.mark.parametrize("field", ["id", "tax.id", "count"])
def test_numbers_that_are_no_amounts_are_added_up(field: str):
    row = {"id": 1, "count": 2, "currency": "EUR", "tax": {"id": 3}}
    aggregate = {"metrics": [{"op": "sum", "field": field, "as": "sum"}]}
    opening = list_queries.run(MemoryRows([row, {**row, "currency": "USD"}]), {"aggregate": aggregate}).open()
    assert (opening.total, dict(opening.note)) == (1, {})


@pytest.mark.parametrize("ask", ["mcp", "rest"])
@pytest.mark.parametrize(
    "arguments", [{"order": "-totalPrice"}, {"minTotalPrice": 500}, {"where": {"totalPrice": {"gte": 500}}}]
)
def test_currencies_that_are_withheld_are_not_named(doors: Doors, ask: str, arguments: dict[str, Any]):
    TokenBudget.objects.create(connector="hostaway", withheld_fields="currency")
    answer = getattr(doors, ask)("list_bookings", arguments)
    assert answer["items"]
    assert notes(answer) == []
    assert "EUR" not in str(answer)
