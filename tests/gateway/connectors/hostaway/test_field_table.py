"""What a field table declares is what its list does; a table that contradicts its model is refused at the import."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import F, TextField

from context_protection.core.query.columns import Type
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.field_table import FieldTable
from gateway.connectors.hostaway.fields import INTEGER, MOMENT, Filter, ResourceField
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from tests.doors import Doors

pytestmark = pytest.mark.django_db

TABLES = (BOOKINGS, LISTINGS, TRANSACTIONS)
LOW = {
    Type.NUMBER: 1,
    Type.TEXT: "cancelled",
    Type.DATE: "2026-01-01",
    Type.MOMENT: "2026-01-01 10:00:00",
}
HIGH = {
    Type.NUMBER: 9,
    Type.TEXT: "pending",
    Type.DATE: "2026-12-31",
    Type.MOMENT: "2026-12-31 10:00:00",
}
FILTERS = [
    pytest.param(table, field, wanted, id=f"{table.name}-{wanted.parameter}")
    for table in TABLES
    for field in table.fields
    for wanted in field.filters
]


@pytest.mark.parametrize(("table", "field", "wanted"), FILTERS)
def test_every_filter_lets_its_rows_pass_and_no_others(
    table: FieldTable, field: ResourceField, wanted: Filter, doors: Doors
):
    low, high = (value[field.type.query] for value in (LOW, HIGH))
    table.model._default_manager.all().delete()
    list(store.save(table, [{"id": 100, field.path: low}, {"id": 900, field.path: high}]))
    if field.name == "id":
        low, high = 100, 900
    is_upper = wanted.lookup == "lte"
    argument = low if is_upper else high
    given = argument[:10] if field.type is MOMENT else argument
    rows = doors.mcp(f"list_{table.name}s", {wanted.parameter: given})["items"]
    assert [row["id"] for row in rows] == [100 if is_upper else 900]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="Postgres plans by statistics")
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_a_list_by_short_columns_reads_no_rows(table: FieldTable):
    indexed = {index.fields[0] for index in table.model._meta.indexes if index.fields}
    indexed |= {field.name for field in table.model._meta.concrete_fields if field.db_index or field.unique}
    long = {field.name for field in table.model._meta.concrete_fields if isinstance(field, TextField)}
    columns = {field.column for field in table.fields if field.filters} - indexed - long
    assert columns
    rows = table.model._default_manager.order_by("-inserted_on", "-id").values_list("pk")
    plans = {column: rows.exclude(**{column: None}).explain() for column in columns}
    outside = [column for column, plan in plans.items() if "COVERING INDEX" not in plan]
    assert outside == [], "add these columns to `_newest_first` of the model"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_the_sample_account_has_every_field_with_a_column(table: FieldTable):
    written = table.model._default_manager.values_list("data", flat=True)
    keys = {key for data in written for key in json.loads(data)}
    missing = [field.path for field in table.fields if field.column and field.path not in keys]
    assert missing == [], "add these fields to the rows of gateway/connectors/hostaway/sample"


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_order_sorts(table: FieldTable, doors: Doors):
    for name, column in table.orders.items():
        rows = table.model._default_manager.order_by(F(column).asc(nulls_last=True), "id")
        listed = doors.mcp(f"list_{table.name}s", {"order": name, "limit": 5})["items"]
        assert [row["id"] for row in listed] == [row.id for row in rows[:5]]


def spellings(table: FieldTable, field: ResourceField) -> list[str]:
    """The names of the field that `where` and `fields` accept."""
    canonical = {each.name for each in table.fields}
    upstreams = [field.path] if field.path not in canonical else []
    aliases = [each.name for each in table.aliases if each.path == field.path and not each.convert]
    return [field.name, field.name.upper(), *upstreams, *map(str.swapcase, upstreams), *aliases]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_an_order_is_known_by_all_names_of_its_field(table: FieldTable, doors: Doors):
    for field in table.fields:
        if not field.column:
            continue
        for sign in ("", "-"):
            expected = doors.post(f"list_{table.name}s", {"order": sign + field.name, "limit": 3})
            assert expected["items"], expected
            for name in spellings(table, field):
                assert (
                    doors.post(f"list_{table.name}s", {"order": sign + name, "limit": 3})["items"] == expected["items"]
                )
                assert doors.post(f"list_{table.name}s", {"fields": name, "limit": 1})["items"]


def test_orders_by_upstreams_names_and_aliases(doors: Doors):
    for other, canonical in {
        "arrivalDate desc": "-checkInDate",
        "-listing_map_id": "-propertyId",
        "total": "totalPrice",
        "numberOfGuests": "guests",
    }.items():
        assert doors.mcp("list_bookings", {"order": other}) == doors.mcp("list_bookings", {"order": canonical})
    assert doors.mcp("list_listings", {"order": "-price.basePrice"}) == doors.mcp("list_listings", {"order": "-price"})


def fields_but(name: str) -> tuple[ResourceField, ...]:
    return tuple(field for field in BOOKINGS.fields if field.name != name)


MISTAKES: dict[str, tuple[ResourceField, ...]] = {
    "columns of the model without a field: nights": fields_but("nights"),
    "columns that the model does not have: elephants": (
        *BOOKINGS.fields,
        ResourceField("elephants", INTEGER, column="elephants"),
    ),
    "fields declared twice: taxAmount": (*BOOKINGS.fields, ResourceField("taxAmount")),
    "parameters declared twice: status": (
        *fields_but("nights"),
        ResourceField("nights", INTEGER, column="nights", filters=(Filter("status", "Nights."),)),
    ),
    "filters on fields without a column: elephants": (
        *BOOKINGS.fields,
        ResourceField("elephants", INTEGER, filters=(Filter("minElephants", "Elephants."),)),
    ),
}


@pytest.mark.parametrize(("message", "fields"), MISTAKES.items(), ids=MISTAKES)
def test_a_table_that_contradicts_its_model_is_refused(message: str, fields: Any):
    with pytest.raises(ImproperlyConfigured, match=message):
        replace(BOOKINGS, fields=fields)


def test_a_field_without_a_type_is_only_shown():
    with pytest.raises(TypeError, match="guestNote has no type"):
        ResourceField("guestNote").column_value({"guestNote": "Late."})
