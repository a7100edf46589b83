"""The role of a field, by its name and its values: the first that fits, in the order of the roles."""

from typing import Any

import pytest

from context_protection.core.inference.rankings import FEW, LONG_CHARS, Role, ranked


def roles(*records: dict[str, Any], enumerations: frozenset[str] = frozenset()) -> dict[str, Role]:
    found = ranked(records, frozenset(), enumerations)
    return {candidate.path: candidate.role for candidate in found}


@pytest.mark.parametrize(
    ("name", "value", "role"),
    [
        ("website", "https://example.com/a", Role.LINK),
        ("status", "https://example.com/a", Role.LINK),
        ("website", "https://example.com/" + "x" * LONG_CHARS, Role.LINK),
        ("title", "x" * (LONG_CHARS - 1), Role.TEXT),  # with its quotes
        ("title", "x" * (LONG_CHARS - 2), Role.NAME),
        ("name", True, Role.FLAG),
        ("isDefault", "yes", Role.FLAG),
        ("isDefault", "x" * LONG_CHARS, Role.TEXT),
        ("is", "yes", Role.PLAIN),
        ("hasStatus", "yes", Role.FLAG),
        ("customerId", "c-1", Role.REFERENCE),
        ("customerId", "2026-01-01", Role.REFERENCE),
        ("createdAt", "2026-01-01", Role.DATE),
        ("status", "2026-01-01", Role.DATE),
        ("created", 1_790_000_000, Role.DATE),
        ("created", 7, Role.PLAIN),
        ("weight", 1_790_000_000, Role.PLAIN),
        ("status", "open", Role.STATE),
        ("currencyType", "open", Role.STATE),
        ("currency", "EUR", Role.CURRENCY),
        ("currencyName", "Euro", Role.CURRENCY),
        ("currency", 978, Role.PLAIN),
        ("name", "Ann", Role.NAME),
        ("orderNumber", "A-17", Role.NAME),
        ("number", 4, Role.NAME),
        ("orderNumber", 1000, Role.NAME),
        ("bedroomsNumber", 999, Role.PLAIN),
        ("priceCode", "12", Role.NAME),
        ("countryCode", "DE", Role.PLAIN),
        ("version", "ledger@2.1.0", Role.NAME),
        ("version", 3, Role.PLAIN),
        ("apiVersion", "v1", Role.PLAIN),
        ("Paid", "/Date(1790000000000+0000)/", Role.DATE),
        ("totalPrice", 9.5, Role.AMOUNT),
        ("totalPrice", "9.50", Role.AMOUNT),
        ("totalPrice", "dear", Role.PLAIN),
        ("total", 9.5, Role.AMOUNT),
        ("taxRate", 9.5, Role.AMOUNT),
        ("totalWeight", 9.5, Role.PLAIN),
        ("color", "red", Role.PLAIN),
    ],
)
def test_a_name_and_a_value_tell_the_role(name: str, value: Any, role: Role):
    assert roles({"id": "of-the-record", name: value})[name] is role


@pytest.mark.parametrize(
    ("record", "path", "role"),
    [
        ({"uuid": "a"}, "uuid", Role.IDENTITY),
        ({"id": True}, "id", Role.FLAG),
        ({"customerId": "b", "id": "a"}, "id", Role.IDENTITY),
        ({"id": "of-the-record", "customer": {"id": "a"}}, "customer.id", Role.REFERENCE),
        ({"name": "of the record", "customer": {"name": "Ann"}}, "customer.name", Role.RELATION),
        ({"name": "of the record", "customer": {"currencyName": "Euro"}}, "customer.currencyName", Role.CURRENCY),
        ({"name": "of the record", "customer": {"status": "open"}}, "customer.status", Role.STATE),
    ],
)
def test_an_id_and_a_name_are_the_records_own_only_at_its_top(record: dict[str, Any], path: str, role: Role):
    assert roles(record)[path] is role


def test_texts_that_repeat_a_few_values_are_a_choice():
    records = [{"id": str(n), "color": ("red", "blue")[n % 2]} for n in range(FEW)]
    assert roles(*records)["color"] is Role.CHOICE
    assert roles(*records[:-1])["color"] is Role.PLAIN
    assert roles(*({**record, "color": "red"} for record in records))["color"] is Role.PLAIN
    assert roles(*({**record, "color": f"red {record['id']}"} for record in records))["color"] is Role.PLAIN


def test_an_enumeration_is_a_choice_unless_its_name_says_more():
    said = frozenset({"color", "status", "price"})
    assert roles({"color": "red"}, enumerations=said)["color"] is Role.CHOICE
    assert roles({"status": "red"}, enumerations=said)["status"] is Role.STATE
    assert roles({"price": "9.50"}, enumerations=said)["price"] is Role.AMOUNT


@pytest.mark.parametrize("other", ["1e400", "many", [1], {"a": 1}, None])
def test_numbers_may_be_followed_by_anything_else(other: Any):
    records = [{"id": f"of-{n}", "orderNumber": n % 7} for n in range(FEW)]

    assert roles(*records)["orderNumber"] is Role.PLAIN
    assert "orderNumber" in roles(*records, {"id": "of-the-last", "orderNumber": other})
