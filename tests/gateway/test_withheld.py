"""Secrets in the answers of one process: nothing leaves, nothing tells whether a value is there, and exceptions are
those of the API key alone."""

import json
import logging
import re
from typing import Any

import pytest
from django.test import Client as Browser

from context_protection.configuration.revisions import revisions
from context_protection.core.redaction import Visibility
from gateway.access.models import ApiKey
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.models import Booking
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from telemetry import recorder, retention
from telemetry.models import TelemetryRecord, WithheldField
from tests import crawler
from tests.caches import keep_responses
from tests.canaries import FIELDS, LABELS, NOTES, is_code, leaked, planted
from tests.doors import Doors

pytestmark = pytest.mark.django_db

PLANTED = planted()
ABSENT = is_code(9_999)  # a value that is nowhere
RESOURCES = {"booking": BOOKINGS, "listing": LISTINGS, "transaction": TRANSACTIONS}


@pytest.fixture(autouse=True)
def account() -> None:
    store.clear()
    for mapped in RESOURCES.values():
        list(store.save(mapped, [{**PLANTED.record, "id": number} for number in (7, 8)]))
    store.save_document("manual.txt", "Manual", "text/plain", PLANTED.document)


def test_there_are_forty_canaries_and_each_is_of_its_own():
    assert len(set(PLANTED.canaries)) == len(PLANTED.canaries) >= 40


def test_none_is_stored_in_clear():
    for mapped in RESOURCES.values():
        for row in mapped.model._default_manager.values():
            assert not list(leaked(json.dumps(row, default=str), PLANTED.canaries))


@pytest.mark.parametrize("kind", list(RESOURCES))
def test_a_record_put_together_again_has_masks_where_the_secrets_were(doors: Doors, kind: str):
    record = crawler.record(doors.rest, f"get_{kind}", {"id": 7})
    assert not list(leaked(json.dumps(record), PLANTED.canaries))
    for name in (*FIELDS, *NOTES):
        assert re.search(r"\[withheld: [A-Za-z -]+\]", str(record[name])), name
    assert len(record["customFieldValues"]) == len(LABELS)
    assert all("[withheld: " in json.dumps(field) for field in record["customFieldValues"])
    assert record["guestName"] == "Ada"
    withheld = doors.rest(f"get_{kind}", {"id": 7, "fields": "doorCode"})["meta"]
    assert withheld["withheld"] == ["doorCode"]
    assert "Revealed fields" in withheld["notes"][0]


def test_a_document_is_masked_and_otherwise_whole(doors: Doors):
    text = crawler.text(doors.rest, "read_document", {"id": "manual.txt"})
    assert not list(leaked(text, PLANTED.canaries))
    assert text.count("[withheld: ") == 2
    assert text.endswith("The heating hums. " * 40)


def test_the_size_of_a_document_is_that_of_its_masked_text(doors: Doors):
    (row,) = doors.rest("list_documents", {"where": {"id": "manual.txt"}})["items"]
    text = crawler.text(doors.rest, "read_document", {"id": "manual.txt"})
    assert row["bytes"] == len(text.encode()) != len(PLANTED.document.encode())


@pytest.mark.parametrize("name", [*FIELDS, "doorCode.front", "doorCodes.front", "entry_codes"])
def test_a_withheld_field_cannot_be_asked(doors: Doors, name: str):
    for question in (
        {"where": {name: {"contains": "4711"}}},
        {"where": {name: {"isnull": False}}},
        {"where": {"or": [{name: "4711"}, {"id": 7}]}},
        {"aggregate": {"groupBy": [name], "metrics": [{"op": "count"}]}},
        {"aggregate": {"metrics": [{"op": "countDistinct", "field": name}]}},
    ):
        error = doors.rest("list_bookings", question)["error"]
        assert error["reason"] == "withheld_field"
        assert "Revealed fields" in error["message"]
        assert not list(leaked(json.dumps(error), PLANTED.canaries))


def test_no_error_offers_the_name_of_a_withheld_field(doors: Doors):
    for question in (
        {"where": {"dorCode": 1}},
        {"fields": "dorCode"},
        {"where": {"entryCod": 1}},
        {"order": "doorCod"},
    ):
        error = doors.rest("list_bookings", question)["error"]
        offered = f"{error['data']['expected']} {error['data']['suggestion']}"
        assert not any(name in offered for name in FIELDS)


def test_what_only_lists_withhold_can_still_be_asked(doors: Doors):
    list(store.save(BOOKINGS, [{"id": 9, "phone": "+49 30 5550", "guestName": "Bo"}]))
    found = doors.rest("list_bookings", {"where": {"phone": {"contains": "5550"}}, "fields": "id,phone"})
    assert found["items"] == [{"id": 9}]
    assert "phone" in found["meta"]["withheld"]


@pytest.mark.parametrize("path", sorted(PLANTED.by_path))
def test_nothing_tells_whether_a_value_is_there(doors: Doors, path: str):
    """A real secret and one that is nowhere are answered alike, but for the value itself."""
    canary = PLANTED.by_path[path]
    handle = doors.post("list_bookings", {"limit": 1})["meta"]["resultHandle"]

    def told(value: str) -> list[str]:
        questions = [
            ("list_bookings", {"where": {path: {"contains": value}}}),
            ("list_bookings", {"where": {path.partition(".")[0]: {"contains": value}}}),
            ("list_bookings", {"where": {path: value}}),
            ("list_bookings", {"aggregate": {"metrics": [{"op": "count"}]}, "where": {"or": [{path: value}]}}),
            ("list_bookings", {"guestName": value}),
            ("result_search", {"handle": handle, "text": value}),
            ("result_search", {"handle": handle, "regex": value[:-1] + "."}),
            ("search_tools", {"query": value}),
            ("list_documents", {"title": value}),
        ]
        return [_without(value, doors.post(tool, arguments)) for tool, arguments in questions]

    assert told(canary) == told(ABSENT)


def _without(value: str, answer: dict[str, Any]) -> str:
    """What an answer says, but for the value that was asked for, its length, and what is new in every answer."""
    (answer.get("meta") or {}).clear()
    return json.dumps(answer).replace(value[:-1], "•").replace(ABSENT[:-1], "•")


@pytest.mark.parametrize(
    "sql", ['SELECT "doorCode" FROM rows', "SELECT entryCode FROM rows", "SELECT pinCode FROM rows"]
)
def test_sql_has_no_column_for_what_is_withheld(doors: Doors, sql: str):
    handle = doors.mcp("list_bookings", {"limit": 1})["meta"]["resultHandle"]
    error = doors.mcp("result_query", {"handle": handle, "sql": sql})["error"]
    assert error["reason"] == "unknown_column"
    assert not any(name in error["data"]["expected"] for name in FIELDS)
    everything = doors.mcp("result_query", {"handle": handle, "sql": "SELECT * FROM rows"})
    assert not list(leaked(json.dumps(everything), PLANTED.canaries))


# -- Exceptions of a key ----------------------------------------------------------------------------


@pytest.fixture
def insider(db: None) -> Doors:
    """A key that sees door codes, the network's key, and one custom field."""
    _, secret = ApiKey.objects.issue("insider", reveal=["Alarm code", "doorCode", "networkKey"])
    revisions.bump()
    return Doors(secret)


REVEALED = {name: PLANTED.by_path[name] for name in ("doorCode", "networkKey")}


def test_a_key_sees_what_it_reveals_and_nothing_else(insider: Doors):
    record = crawler.record(insider.rest, "get_booking", {"id": 7})
    assert {name: record[name] for name in REVEALED} == REVEALED
    alarm = PLANTED.by_path[f"customFieldValues.{LABELS.index('Alarm code')}"]
    shown = {*REVEALED.values(), alarm, PLANTED.by_path["reservationUnit.unit.deep"]}
    assert set(leaked(json.dumps(record), PLANTED.canaries)) == shown
    rows = crawler.walk(insider.mcp, "list_bookings", {"fields": "all"})
    assert {row["doorCode"] for row in rows} == {REVEALED["doorCode"]}


def test_a_key_may_ask_by_what_it_reveals(insider: Doors):
    list(store.save(BOOKINGS, [{"id": number, "doorCode": f"c{number % 3}"} for number in range(100, 160)]))
    asked = {"where": {"doorCode": "c1"}, "fields": "id,doorCode", "limit": 7}
    rows = crawler.walk(insider.mcp, "list_bookings", asked)
    assert sorted(row["id"] for row in rows) == list(range(100, 160, 3))
    groups = insider.rest("list_bookings", {"aggregate": {"groupBy": ["doorCode"], "metrics": [{"op": "count"}]}})
    assert {"doorCode": "c2", "count": 20} in groups["groups"]
    handle = insider.mcp("list_bookings", {"limit": 1})["meta"]["resultHandle"]
    counted = "SELECT count(*) AS n FROM rows WHERE \"doorCode\" = 'c0'"
    assert insider.mcp("result_query", {"handle": handle, "sql": counted})["items"] == [{"n": 20}]
    assert insider.rest("list_bookings", {"where": {"gateCode": 1}})["error"]["reason"] == "withheld_field"


def test_what_one_key_sees_no_other_does(insider: Doors, doors: Doors, monkeypatch: pytest.MonkeyPatch):
    """Neither a cached answer, nor a cursor, nor a handle."""
    keep_responses(monkeypatch)
    for call in (
        ("get_booking", {"id": 7, "fields": "doorCode"}),
        ("list_bookings", {"fields": "doorCode", "limit": 1}),
    ):
        for _ in range(2):
            assert REVEALED["doorCode"] in json.dumps(insider.rest(*call))
            assert not list(leaked(json.dumps(doors.rest(*call)), PLANTED.canaries))
    first = insider.mcp("list_bookings", {"fields": "all", "limit": 1})
    stolen = {"cursor": first["nextCursor"]}
    assert doors.mcp("list_bookings", stolen)["error"]["reason"] == "cursor_invalid"
    handle = {"handle": first["meta"]["resultHandle"]}
    assert doors.mcp("result_get", handle)["error"]["reason"] == "handle_invalid"


def test_what_a_key_reveals_no_longer_is_gone_with_the_next_call(insider: Doors, monkeypatch: pytest.MonkeyPatch):
    keep_responses(monkeypatch)
    call = ("get_booking", {"id": 7, "fields": "doorCode"})
    assert REVEALED["doorCode"] in json.dumps(insider.rest(*call))
    asked = {"where": {"doorCode": {"isnull": False}}, "limit": 1}
    first = insider.mcp("list_bookings", {**asked, "fields": "all"})
    insider.choose(reveal=[])
    assert not list(leaked(json.dumps(insider.rest(*call)), PLANTED.canaries))
    for tool, arguments in (
        ("list_bookings", {"cursor": first["nextCursor"]}),
        ("result_get", {"handle": first["meta"]["resultHandle"], "fields": "all"}),
    ):
        answer = insider.mcp(tool, arguments)
        assert answer["error"]["reason"] in {"cursor_invalid", "handle_invalid"}


def test_a_value_that_no_key_opens_stays_masked(insider: Doors, settings: Any):
    settings.SECRET_KEY, settings.CREDENTIAL_KEYS = "another key of 32 characters, at least", ()
    booking = Booking.objects.get(id=7)
    from gateway.connectors.hostaway import originals

    restored = originals.restored(booking.data, booking.sealed, Visibility(frozenset({"doorCode"})))
    assert restored == json.loads(booking.data)


# -- What operators see -----------------------------------------------------------------------------


def test_operators_see_what_was_withheld_and_how_often(doors: Doors, admin_client: Browser):
    for _ in range(3):
        doors.rest("get_booking", {"id": 7, "fields": "doorCode,hostNote"})
    doors.rest("read_document", {"id": "manual.txt"})
    recorder.flush()
    counted = {(row.operation, row.field, row.how): row.count for row in WithheldField.objects.filter(kind="door code")}
    assert counted["get_booking", "doorCode", "field"] == 3
    assert counted["get_booking", "hostNote", "text"] == 3
    assert counted["read_document", "", "text"] == 1
    page = admin_client.get("/admin/telemetry/withheldfield/").content.decode()
    assert "hostNote" in page
    assert "Masked in a text" in page
    for address in ("?how=text", "?operation=get_booking", "?q=door"):
        assert admin_client.get(f"/admin/telemetry/withheldfield/{address}").status_code == 200
    assert admin_client.get("/admin/telemetry/withheldfield/add/").status_code == 403


def test_counts_are_forgotten_after_the_retention(settings: Any):
    row = {"operation": "x", "field": "doorCode", "kind": "door code", "how": "field", "count": 1}
    WithheldField.objects.create(day="2020-01-01", **row)
    assert retention.purge_old_withheld() == 1


def test_neither_logs_nor_telemetry_nor_pages_hold_a_canary(
    doors: Doors, admin_client: Browser, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    for kind in RESOURCES:
        crawler.record(doors.rest, f"get_{kind}", {"id": 7})
        crawler.walk(doors.rest, f"list_{kind}s", {"fields": "all"})
    crawler.text(doors.rest, "read_document", {"id": "manual.txt"})
    doors.rest("list_bookings", {"where": {"doorCode": 1}})
    recorder.flush()
    rows = [*TelemetryRecord.objects.values(), *WithheldField.objects.values()]
    assert rows
    pages = [
        admin_client.get(address).content.decode()
        for address in ("/admin/telemetry/telemetryrecord/", "/admin/telemetry/withheldfield/", "/admin/", "/")
    ]
    for text in (json.dumps(rows, default=str), caplog.text, *pages):
        assert not list(leaked(text, PLANTED.canaries))


# -- The key's form ---------------------------------------------------------------------------------


def test_exceptions_are_set_in_the_admin_and_kept_in_the_history(admin_client: Browser):
    key, _ = ApiKey.objects.issue("desk")
    address = f"/admin/access/apikey/{key.pk}/change/"
    answer = admin_client.post(address, {"name": "desk", "reveal": "doorCode, Gate code\nwifiPassword,, doorCode"})
    assert answer.status_code == 302
    key.refresh_from_db()
    assert key.reveal == ["Gate code", "doorCode", "wifiPassword"]
    assert key.history.first().reveal == key.reveal
    assert "Gate code, doorCode, wifiPassword" in admin_client.get(address).content.decode()
    assert "Gate code, doorCode, wifiPassword" in admin_client.get("/admin/access/apikey/").content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("city", "is not withheld"),
        ("d" * 201, "longer than 200"),
        (",".join(f"doorCode{number}" for number in range(101)), "at most 100"),
    ],
)
def test_exceptions_that_mean_nothing_are_refused_in_words(admin_client: Browser, given: str, said: str):
    key, _ = ApiKey.objects.issue("desk")
    page = admin_client.post(f"/admin/access/apikey/{key.pk}/change/", {"name": "desk", "reveal": given})
    assert said in page.content.decode()
    key.refresh_from_db()
    assert key.reveal == []
