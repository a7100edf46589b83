"""Fields that ops withhold besides secrets: masked in every answer, named, and of no use to a question."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from telemetry import arguments as kept_arguments
from telemetry import recorder
from telemetry.models import CallArguments
from tests import crawler
from tests.caches import keep_responses
from tests.doors import Doors

pytestmark = pytest.mark.django_db

MASK = "[withheld: by policy]"
NAME, MAIL, PRICE = "Zoe Quill", "zoe@quill.example", 717.17
GUEST = {
    "id": 7,
    "guestName": NAME,
    "guestEmail": MAIL,
    "totalPrice": PRICE,
    "currency": "EUR",
    "status": "new",
    "listingMapId": 5,
    "guest": {"contact": {"email": MAIL}},
}
OTHER = {**GUEST, "id": 8, "guestName": "Abe Low", "guest": None, "totalPrice": 80, "hostNote": "Of Quill."}


@pytest.fixture(autouse=True)
def account() -> None:
    store.clear()
    list(store.save(BOOKINGS, [GUEST, OTHER]))


@pytest.fixture
def withhold(doors: Doors) -> Callable[..., None]:
    def withhold(names: str, **scope: str) -> None:
        whole = {"operation": "", "connector": "", "caller": "", **scope}
        TokenBudget.objects.update_or_create(**whole, defaults={"withheld_fields": names})
        revisions.bump()

    return withhold


Withhold = Callable[..., None]


def test_a_withheld_field_is_masked_and_named_in_every_form(doors: Doors, withhold: Withhold):
    withhold("guestName, guest.contact")
    record = crawler.record(doors.rest, "get_booking", {"id": 7})
    assert record["guestName"] == MASK
    assert record["guest"] == {"contact": MASK}
    assert record["guestEmail"] == MAIL
    for call in (
        ("get_booking", {"id": 7, "fields": "raw"}),
        ("get_booking", {"id": 7, "fields": "guestName,guest"}),
        ("list_bookings", {}),
        ("list_bookings", {"fields": "all"}),
        ("list_bookings", {"format": "table"}),
        ("list_bookings", {"fields": "guestName"}),
    ):
        for answer in (doors.rest(*call), doors.mcp(*call)):
            assert NAME not in json.dumps(answer), call
            assert MASK in json.dumps(answer), call
            assert "guestName" in answer["meta"]["withheld"], call


@pytest.mark.parametrize("name", ["status", "sourceStatus", "GUEST_NAME", "insertedOn", "propertyId", "listingMapId"])
def test_all_names_of_a_value_are_withheld_together(doors: Doors, withhold: Withhold, name: str):
    """Also where a canonical value is made of another field, or of the lack of one."""
    withhold(name)
    fields = {
        "status": ("status", "sourceStatus"),
        "sourceStatus": ("status", "sourceStatus"),
        "GUEST_NAME": ("guestName",),
        "insertedOn": ("insertedOn",),
    }.get(name, ("propertyId", "listingMapId"))
    for field in fields:
        answer = doors.rest("list_bookings", {"fields": field, "limit": 1})
        row = answer["items"][0]
        assert row == {field: MASK}
        error = doors.rest("list_bookings", {"where": {field: {"isnull": False}}})["error"]
        assert error["reason"] == "withheld_field"


@pytest.mark.parametrize(
    ("names", "question"),
    [
        ("guestName", {"where": {"guestName": NAME}}),
        ("guestName", {"where": {"or": [{"guestName": NAME}, {"id": 7}]}}),
        ("guestName", {"where": {"guestName": {"isnull": True}}}),
        ("guestName", {"aggregate": {"groupBy": ["guestName"], "metrics": [{"op": "count"}]}}),
        ("guestName", {"guestName": NAME}),
        ("guestName", {"order": "guestName"}),
        ("totalPrice", {"minTotalPrice": 50}),
        ("totalPrice", {"order": "-totalPrice"}),
        ("total", {"order": "-totalPrice"}),
        ("currency", {"aggregate": {"metrics": [{"op": "sum", "field": "totalPrice"}]}}),
        ("checkInDate", {"checkInFrom": "2020-01-01"}),
        ("arrivalDate", {"checkInFrom": "2020-01-01"}),
        ("guest", {"where": {"guest.contact.email": MAIL}}),
    ],
)
def test_nothing_can_be_asked_by_what_is_withheld(
    doors: Doors, withhold: Withhold, names: str, question: dict[str, Any]
):
    assert "error" not in doors.rest("list_bookings", question)
    withhold(names)
    error = doors.rest("list_bookings", question)["error"]
    assert error["reason"] == "withheld_field"
    assert "withheldFields" in error["message"]
    assert "operator" in error["message"]


def test_a_search_counts_only_what_the_answer_shows(doors: Doors, withhold: Withhold):
    assert len(doors.rest("list_bookings", {"search": "quill"})["items"]) == 2
    withhold("hostNote, guest")
    assert [row["id"] for row in doors.rest("list_bookings", {"search": "quill"})["items"]] == [7]
    withhold("hostNote, guest, guestName")
    assert doors.rest("list_bookings", {"search": "quill"})["items"] == []


def test_results_show_and_find_nothing_that_is_withheld(doors: Doors, withhold: Withhold):
    withhold("guestName, guestEmail, guest, hostNote")
    handle = doors.mcp("list_bookings", {"format": "handle"})["meta"]["resultHandle"]
    for tool, arguments in (
        ("result_get", {"fields": "all"}),
        ("result_search", {"text": "quill"}),
        ("result_query", {"sql": "SELECT * FROM rows"}),
        ("result_query", {"sql": "SELECT guestName FROM rows"}),
    ):
        answer = json.dumps(doors.mcp(tool, {"handle": handle, **arguments}))
        assert NAME not in answer, arguments
        assert MAIL not in answer, arguments
    assert doors.mcp("result_search", {"handle": handle, "text": "quill"})["meta"]["totalCount"] == 0
    error = doors.mcp("result_query", {"handle": handle, "sql": "SELECT guestName FROM rows"})["error"]
    assert error["reason"] == "unknown_column"


def test_a_change_ends_cursors_handles_and_cached_answers(
    doors: Doors, withhold: Withhold, monkeypatch: pytest.MonkeyPatch
):
    keep_responses(monkeypatch)
    first = doors.mcp("list_bookings", {"limit": 1, "fields": "all"})
    assert NAME in json.dumps(doors.rest("get_booking", {"id": 7}))
    TokenBudget.objects.create(connector="hostaway", default_page_size=20)
    revisions.bump()
    assert "error" not in doors.mcp("list_bookings", {"cursor": first["nextCursor"]}), "another setting ends none"
    withhold("guestName", connector="hostaway")
    assert NAME not in json.dumps(doors.rest("get_booking", {"id": 7}))
    assert doors.mcp("list_bookings", {"cursor": first["nextCursor"]})["error"]["reason"] == "cursor_invalid"
    handle = {"handle": first["meta"]["resultHandle"]}
    assert doors.mcp("result_get", handle)["error"]["reason"] == "handle_invalid"
    again = doors.rest("get_booking", {"id": 7})
    assert again["meta"]["withheld"] == ["guestName"]


def test_the_most_specific_scope_decides(doors: Doors, withhold: Withhold):
    def shown() -> dict[str, Any]:
        row: dict[str, Any] = doors.rest("list_bookings", {"fields": "guestName,status", "where": {"id": 7}})
        return row["items"][0]

    withhold("guestName")
    assert shown() == {"guestName": MASK, "status": "confirmed"}
    withhold("status", connector="hostaway")
    assert shown() == {"guestName": NAME, "status": MASK}
    withhold("guestName", connector="nsip", caller="tests")
    assert shown() == {"guestName": NAME, "status": MASK}
    withhold("none", caller="tests")
    assert shown() == {"guestName": NAME, "status": "confirmed"}


def test_a_key_that_may_see_a_secret_does_not_see_it_where_the_policy_withholds_it(doors: Doors, withhold: Withhold):
    list(store.save(BOOKINGS, [{"id": 9, "doorCode": "Zx4711"}]))
    doors.choose(reveal=["doorCode"])
    call = ("get_booking", {"id": 9, "fields": "doorCode"})
    assert doors.rest(*call)["doorCode"] == "Zx4711"
    withhold("doorCode")
    assert "Zx4711" not in json.dumps(doors.rest(*call))


def test_kept_arguments_do_not_hold_what_was_asked_in_vain(doors: Doors, withhold: Withhold):
    withhold("checkInDate, guestName")
    asked = {"checkInFrom": "2026-01-01", "guestName": NAME, "currency": "EUR"}
    assert doors.post("list_bookings", asked)["error"]["reason"] == "withheld_field"
    assert recorder.flush()
    assert kept_arguments.flush()
    kept = CallArguments.objects.get()
    assert kept.values == {"checkInFrom": MASK, "guestName": MASK, "currency": "EUR"}


def test_what_sluice_answers_about_itself_is_not_withheld(doors: Doors, withhold: Withhold):
    withhold("name, title, id")
    assert doors.mcp("search_tools", {"query": "bookings"})["items"][0]["name"] != MASK
