"""The OpenAPI document declares what the REST API answers: real bodies fit their schemas, and each fits one of them."""

import json
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from drf_spectacular.generators import SchemaGenerator

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import CODES
from context_protection.models import TokenBudget
from gateway.api import response_schemas
from gateway.api.error_examples import BY_STATUS
from tests.doors import Doors

pytestmark = pytest.mark.django_db

BOOKINGS, BOOKING = "/api/v1/bookings", "/api/v1/bookings/{id}"
LISTINGS, TRANSACTIONS, DOCUMENTS = "/api/v1/listings", "/api/v1/transactions", "/api/v1/documents"
READ = "/api/v1/documents/{id}"
TOOLS = "/api/v1/tools/{name}"
COUNT = {"metrics": [{"op": "count"}]}


@cache
def document() -> dict[str, Any]:
    generated: dict[str, Any] = json.loads(json.dumps(SchemaGenerator().get_schema(public=True)))
    return generated


def is_valid(schema: Any, body: Any) -> bool:
    whole = {**schema, "components": document()["components"]}
    return bool(jsonschema_rs.validator_for(whole, validate_formats=True).is_valid(body))


def declared(address: str, status: int, method: str = "get") -> Any:
    return document()["paths"][address][method]["responses"][str(status)]["content"]["application/json"]["schema"]


def kinds(address: str, response: Any, method: str = "get") -> list[str]:
    """The components that the body fits, of those that are declared for its address and status."""
    body, schema = response.json(), declared(address, response.status_code, method)
    assert is_valid(schema, body), body
    named = [each["$ref"] for each in schema.get("anyOf", [schema])]
    return [name.rpartition("/")[2] for name in named if is_valid({"$ref": name}, body)]


@pytest.mark.parametrize(
    ("address", "query", "kind"),
    [
        (BOOKINGS, {}, "ListPage"),
        (BOOKINGS, {"limit": 2, "fields": "raw"}, "ListPage"),
        (BOOKINGS, {"where": {"guestName": "nobody"}}, "ListPage"),
        (BOOKINGS, {"limit": 5, "format": "table"}, "TablePage"),
        (BOOKINGS, {"aggregate": COUNT}, "GroupsPage"),
        (BOOKINGS, {"format": "handle"}, "ResultHandle"),
        (BOOKINGS, {"search": "confirmed"}, "ListPage"),
        (LISTINGS, {"fields": "all"}, "ListPage"),
        (TRANSACTIONS, {"limit": 1}, "ListPage"),
        (DOCUMENTS, {}, "ListPage"),
    ],
)
def test_a_list_answers_as_declared(doors: Doors, address: str, query: dict[str, Any], kind: str):
    first = doors.response(address, query)
    assert kinds(address, first) == [kind]
    if cursor := first.json().get("nextCursor"):
        assert kinds(address, doors.response(address, {"cursor": cursor})) == [kind]


def test_a_list_answers_as_declared_where_paging_is_off(doors: Doors):
    TokenBudget.objects.create(operation="list_documents", pagination=False)
    revisions.bump()
    assert kinds(DOCUMENTS, doors.response(DOCUMENTS)) == ["UnpagedList"]


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ({}, "RecordPreview"),
        ({"fields": "all"}, "Record"),
        ({"fields": "guestName,totalPrice"}, "Record"),
        ({"format": "handle"}, "ResultHandle"),
    ],
)
def test_a_record_answers_as_declared(doors: Doors, query: dict[str, Any], kind: str):
    booking = doors.get(BOOKINGS, {"limit": 1})["items"][0]["id"]
    assert kinds(BOOKING, doors.response(BOOKING.format(id=booking), query)) == [kind]


def test_a_record_in_parts_answers_as_declared(doors: Doors):
    TokenBudget.objects.create(operation="get_listing", hard_cap=1000)
    revisions.bump()
    address = LISTINGS + "/{id}"
    listing = doors.get(LISTINGS, {"limit": 1})["items"][0]["id"]
    first = doors.response(address.format(id=listing), {"fields": "raw"})
    assert kinds(address, first) == ["Record"]
    assert kinds(address, doors.response(address.format(id=listing), {"cursor": first.json()["nextCursor"]})) == [
        "Record"
    ]


@pytest.mark.parametrize(
    ("query", "kind"),
    [({}, "TextChunk"), ({"startLine": 3, "endLine": 5}, "TextChunk"), ({"format": "handle"}, "ResultHandle")],
)
def test_a_text_answers_as_declared(doors: Doors, query: dict[str, Any], kind: str):
    documents = doors.get(DOCUMENTS)["items"]
    longest = max(documents, key=lambda each: each.get("chars", each.get("size", 0)))["id"]
    first = doors.response(READ.format(id=longest), query)
    assert kinds(READ, first) == [kind]
    if cursor := first.json().get("nextCursor"):
        assert kinds(READ, doors.response(READ.format(id=longest), {"cursor": cursor})) == [kind]


def test_any_operation_answers_as_declared(doors: Doors):
    address = TOOLS.format(name="list_bookings")
    assert kinds(TOOLS, doors.response(address, {"limit": 1})) == ["ListPage"]
    assert kinds(TOOLS, doors.response(TOOLS.format(name="list_booking"))) == ["Error"]


@pytest.mark.parametrize(
    ("address", "path", "query"),
    [
        (BOOKINGS, BOOKINGS, {"limit": 0}),
        (BOOKINGS, BOOKINGS, {"where": {"nonsense": 1}}),
        (BOOKINGS, BOOKINGS, {"cursor": "nonsense"}),
        (BOOKING, BOOKING.format(id=1), {}),
        (READ, READ.format(id="none"), {}),
    ],
)
def test_an_error_answers_as_declared(doors: Doors, address: str, path: str, query: dict[str, Any]):
    assert kinds(address, doors.response(path, query)) == ["Error"]


def test_a_call_without_a_key_answers_as_declared(db: None):
    response = Doors("").response(BOOKINGS)
    assert response.status_code == 401
    assert kinds(BOOKINGS, response) == ["Error"]


def test_an_answer_that_lacks_something_does_not_fit(doors: Doors):
    body = doors.get(BOOKINGS, {"limit": 1})
    for broken in (
        {**body, "meta": {}},
        {**body, "items": {}},
        {"items": body["items"], "nextCursor": body["nextCursor"]},
        {"error": {"code": 1}},
    ):
        assert not is_valid(declared(BOOKINGS, 200), broken), broken


def test_each_code_has_an_example_at_its_status():
    examples = [each for status in BY_STATUS.values() for each in status]
    assert {each.code for each in examples} == CODES.keys()
    for status, errors in BY_STATUS.items():
        assert {each.status for each in errors} == {status}
        for error in errors:
            assert is_valid(response_schemas.ref("Error"), error.document())
    shown = document()["paths"][BOOKINGS]["get"]["responses"]["503"]["content"]["application/json"]["examples"]
    assert {each["value"]["error"]["reason"] for each in shown.values()} >= {"upstream_busy", "store_unavailable"}
