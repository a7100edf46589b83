"""No secret of the account leaves, whatever is asked, and however deep it stands."""

import json
import logging
from typing import Any

import pytest

from gateway.connectors.hostaway import shapes, store
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db
CANARY = "canary-4711"
# The sensitive keys of live accounts, as far as they are known.
KEYS = (
    "doorCode", "doorCodeVendor", "doorCodeInstruction", "doorSecurityCode", "door_code", "ccName", "ccNumber",
    "ccNumberEndingDigits", "ccExpirationYear", "ccExpirationMonth", "cvc", "wifiPassword", "wifiUsername",
    "wifi_password", "guestPortalUrl", "guestPortalRevampUrl", "guestAuthHash", "stripeGuestId", "stripeMessage",
    "braintreeGuestId", "braintreeMessage", "hostProxyEmail", "DOORCODE", "CcNumber",
)  # fmt: skip
NAMES = ("WiFi password", "Wi-Fi", "wifi name", "Door", "Front-door code", "Gate code", "Alarm code", "Key box", "PIN")
HARMLESS = ("Outdoor shower", "Cleaner", "Parking", "Blocks to the beach", "Indoor pool")


def custom(name: str, value: str) -> list[dict[str, Any]]:
    """A custom field in the forms that upstream has for one."""
    return [
        {"id": 1, "name": name, "value": value},
        {"id": 2, "customFieldId": 9, "value": value, "customField": {"id": 9, "name": name, "type": "text"}},
        {"title": name, "text": value},
    ]


def secret_record(identifier: int) -> dict[str, Any]:
    secrets = {key: f"{CANARY}-{key}" for key in KEYS}
    fields = [field for name in NAMES for field in custom(name, CANARY)]
    return {
        "id": identifier,
        "insertedOn": "2099-01-01 00:00:00",
        "guestName": "Ada",
        "name": "House",
        "amount": 7,
        "description": "A quiet house. " * 700,
        **secrets,
        "financeField": [{"name": "Cleaning", "total": 5, **secrets}],
        "reservationUnit": {"unit": {"deep": [secrets]}},
        "customFieldValues": [*fields, {"id": 3, "value": CANARY}],
        "listingCustomFields": {"wifi_password": CANARY, "door": CANARY, "sleeps": "6", "nested": fields},
        "transactions": [{"card": secrets}],
    }


@pytest.fixture(autouse=True)
def account() -> None:
    store.clear()
    for mapped in (store.BOOKINGS, store.LISTINGS, store.TRANSACTIONS):
        list(store.save(mapped, [secret_record(7), secret_record(8)]))


@pytest.fixture
def call(request: pytest.FixtureRequest, doors: Doors) -> Any:
    """A door, through which no canary comes."""

    def ask(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = getattr(doors, request.param)(operation, arguments)
        assert CANARY not in json.dumps(answer)
        return answer

    return ask


@pytest.mark.parametrize(
    ("call", "kind"),
    [("rest", "booking"), ("rest", "listing"), ("rest", "transaction"), ("mcp", "booking")],
    indirect=["call"],
)
def test_no_secret_is_in_any_answer_or_log(call: Any, kind: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    get, listed = f"get_{kind}", f"list_{kind}s"
    names = sorted(secret_record(7))
    shape = {"booking": shapes.BOOKING, "listing": shapes.LISTING, "transaction": shapes.TRANSACTION}[kind]
    sections = [name for name in shape.section_names if name not in names]
    record = crawler.record(call, get, {"id": 7})
    assert record["guestName"] == "Ada"
    assert record["listingCustomFields"]["sleeps"] == "6"
    nested = [name for name, value in secret_record(7).items() if isinstance(value, (list, dict))]
    for fields in ("all", *nested, *sections, "doorCode", "customFieldValues.*.value", "listingCustomFields.door"):
        call(get, {"id": 7, "fields": fields})
        call(listed, {"fields": fields})
    for form in ("table", "items"):
        answer = call(listed, {"fields": "all", "limit": 1, "format": form})
        assert "doorCode" in answer["meta"]["withheld"]
    assert CANARY not in caplog.text


@pytest.mark.parametrize("call", ["rest"], indirect=True)
@pytest.mark.parametrize(
    "name",
    [
        "doorCode",
        "wifi_password",
        "financeField",
        "reservationUnit.unit.deep",
        "customFieldValues",
        "listingCustomFields",
        "customFieldValues.0.value",
        "customFieldValues.value",
        "listingCustomFields.door",
        "transactions",
    ],
)
def test_no_secret_can_be_asked_for_or_guessed(call: Any, name: str):
    call("list_bookings", {"aggregate": {"groupBy": [name], "metrics": [{"op": "count"}]}})
    call("list_bookings", {"aggregate": {"metrics": [{"op": "max", "field": name}]}})
    found = call("list_bookings", {"where": {name: {"contains": "4711"}}})
    assert "error" in found or found["items"] == []


def test_no_secret_is_behind_a_handle(doors: Doors):
    for operation, arguments in (("list_bookings", {"limit": 1}), ("get_booking", {"id": 7})):
        handle = doors.mcp(operation, arguments)["meta"]["resultHandle"]
        for name, more in (
            ("result_get", {}),
            ("result_get", {"path": "customFieldValues"}),
            ("result_get", {"rows": "0", "fields": "all"}),
            ("result_search", {"text": "canary"}),
            ("result_query", {"sql": "SELECT * FROM rows"}),
        ):
            answer = doors.mcp(name, {"handle": handle, **more})
            assert CANARY not in json.dumps(answer)


@pytest.mark.parametrize("name", NAMES)
def test_custom_fields_whose_name_tells_of_a_secret_are_named_without_their_value(name: str):
    kept, removed = shapes.LISTING.without_withheld({"customFieldValues": custom(name, CANARY)})
    assert CANARY not in json.dumps(kept)
    assert name in json.dumps(kept)
    assert removed == ["customFieldValues.*.value", "customFieldValues.*.text"]


def test_custom_fields_of_what_stands_deeper_are_looked_at_too():
    fields = custom("Door", CANARY)
    record = {"listingUnits": [{"unit": 1}, {"customFieldValues": fields}], "listing": {"customFields": fields}}
    kept, removed = shapes.BOOKING.without_withheld(record)
    assert CANARY not in json.dumps(kept)
    assert kept["listingUnits"][0] == {"unit": 1}
    assert {"listingUnits.*.customFieldValues.*.value", "listing.customFields.*.value"} <= set(removed)


@pytest.mark.parametrize("name", HARMLESS)
def test_custom_fields_that_are_no_secrets_are_shown(name: str):
    record = {"customFieldValues": custom(name, "shown")}
    assert shapes.BOOKING.without_withheld(record) == (record, [])


def test_names_and_values_outside_of_custom_fields_are_shown():
    record = {"financeField": [{"name": "Door code fee", "value": 7}], "listingAmenities": [{"name": "Keypad"}]}
    assert shapes.BOOKING.without_withheld(record) == (record, [])


def test_a_custom_field_without_a_value_is_seen_to_have_none():
    record = {"customFieldValues": [{"name": "Door code", "value": ""}, {"name": "Wifi", "value": None}]}
    assert shapes.LISTING.without_withheld(record) == (record, [])
