"""Bad input gets an error that names the parameter, the value, what is expected and what to do next: at every door
the same, never a 500, and nothing is logged as a crash (FR-002, FR-008, FR-017, FR-023)."""

import logging
from typing import Any

import pytest

from context_protection.core.cursors import TTL, Sealer
from context_protection.stores.snapshots import snapshots
from gateway.access.models import ApiKey
from tests.doors import Doors

pytestmark = pytest.mark.django_db

LIST = "list_bookings"


@pytest.fixture(params=["rest", "mcp", "post"])
def ask(request: pytest.FixtureRequest, doors: Doors, caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.INFO)
    yield getattr(doors, request.param)
    crashes = [record.message for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]
    assert crashes == []


def error_of(answer: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = answer["error"]
    assert error["code"] == (-32003 if error["reason"].startswith("cursor_") else -32602)
    assert error["reason"]
    assert error["message"]
    assert {"parameter", "value", "expected", "suggestion"} <= set(error["data"])
    return error


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (0, "below 1"),
        (-1, "below 1"),
        (201, "limit exceeds maximum of 200"),
        ("x", "whole number"),
        (1.5, "whole number"),
    ],
)
def test_a_limit_out_of_range_is_refused_and_named(ask: Any, limit: Any, words: str):
    error = error_of(ask(LIST, {"limit": limit}))
    assert words in error["message"]
    assert error["data"]["parameter"] == "limit"
    assert error["data"]["value"] == limit
    assert "1 to 200" in error["data"]["expected"]


@pytest.mark.parametrize("limit", [1, 200])
def test_the_ends_of_the_range_are_in_it(ask: Any, limit: int):
    assert "error" not in ask(LIST, {"limit": limit})


@pytest.mark.parametrize("garbage", ["x", "", "ünsinn", "A" * 5000, "eyJvZmZzZXQiOjUwfQ==", "gAAAAA"])
def test_garbage_is_no_cursor(ask: Any, garbage: str):
    error = error_of(ask(LIST, {"cursor": garbage}))
    assert error["reason"] == "cursor_invalid"
    assert "without cursor" in error["data"]["suggestion"]
    assert len(str(error)) < 700, "an error repeats no long value"


def test_a_cursor_with_any_character_changed_is_refused(doors: Doors):
    cursor = doors.rest(LIST, {})["nextCursor"]
    for place in range(0, len(cursor), 7):
        for letter in "Aa0_":
            if cursor[place] != letter:
                flipped = cursor[:place] + letter + cursor[place + 1 :]
                assert error_of(doors.rest(LIST, {"cursor": flipped}))["reason"] == "cursor_invalid"
    last = {"A": "B"}.get(cursor[-1], "A")
    assert error_of(doors.rest(LIST, {"cursor": cursor[:-1] + last}))["reason"] == "cursor_invalid"
    assert error_of(doors.rest(LIST, {"cursor": cursor[:-1]}))["reason"] == "cursor_invalid"


def test_a_cursor_shows_nothing_of_what_it_points_at(doors: Doors):
    import base64

    cursor = doors.rest(LIST, {"status": "confirmed"})["nextCursor"]
    content = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    for word in (b"confirmed", b"offset", b"list_bookings"):
        assert word not in content


def test_a_cursor_belongs_to_its_operation(ask: Any, doors: Doors):
    cursor = doors.rest(LIST, {})["nextCursor"]
    error = error_of(ask("list_transactions", {"cursor": cursor}))
    assert error["reason"] == "cursor_mismatch"


def test_a_cursor_belongs_to_its_caller(doors: Doors):
    cursor = doors.rest(LIST, {})["nextCursor"]
    _, other = ApiKey.objects.issue("somebody-else")
    from context_protection.configuration.revisions import revisions

    revisions.bump()
    assert error_of(Doors(other).rest(LIST, {"cursor": cursor}))["reason"] == "cursor_invalid"


@pytest.mark.parametrize("change", [{"status": "cancelled"}, {"order": "checkInDate"}, {"propertyId": 200100}])
def test_a_cursor_belongs_to_its_filters_and_order(ask: Any, doors: Doors, change: dict[str, Any]):
    cursor = doors.rest(LIST, {"status": "confirmed"})["nextCursor"]
    error = error_of(ask(LIST, {"cursor": cursor, **change}))
    assert error["reason"] == "cursor_mismatch"
    assert next(iter(change)) in error["message"]


def test_the_limit_may_change_during_a_walk(doors: Doors):
    cursor = doors.rest(LIST, {"limit": 10})["nextCursor"]
    assert len(doors.rest(LIST, {"cursor": cursor})["items"]) == 10
    assert len(doors.rest(LIST, {"cursor": cursor, "limit": 20})["items"]) == 20


@pytest.mark.parametrize(("age", "works"), [(0, True), (600, True), (TTL + 5, False)])
def test_a_cursor_works_for_ten_minutes_and_says_when_it_has_expired(
    doors: Doors, monkeypatch: pytest.MonkeyPatch, age: int, works: bool
):
    cursor = doors.rest(LIST, {})["nextCursor"]
    issued = snapshots.sealer.clock()
    monkeypatch.setattr(snapshots.sealer, "clock", lambda: issued + age)
    answer = doors.rest(LIST, {"cursor": cursor})
    if works:
        assert "items" in answer
    else:
        assert error_of(answer)["reason"] == "cursor_expired"


def test_cursors_outlive_a_rotation_of_the_secret():
    old, new = "o" * 40, "n" * 40
    token = Sealer([old]).seal("walk", 50)
    assert Sealer([new, old]).open(token) == ("walk", 50)


def test_an_unknown_field_is_refused_with_the_valid_ones(ask: Any):
    error = error_of(ask(LIST, {"fields": "id,gustName"}))
    assert error["reason"] == "unknown_field"
    assert error["data"]["value"] == "gustName"
    assert "guestName" in error["data"]["expected"]
    assert "guestName" in error["data"]["suggestion"]


@pytest.mark.parametrize(
    ("lines", "parameter"),
    [
        ({"startLine": 10001}, "startLine"),
        ({"startLine": 0}, "startLine"),
        ({"startLine": -3}, "startLine"),
        ({"startLine": 20, "endLine": 10}, "endLine"),
        ({"startLine": "one"}, "startLine"),
    ],
)
def test_lines_outside_the_text_are_refused(ask: Any, lines: dict[str, Any], parameter: str):
    error = error_of(ask("read_document", {"id": "sync-2026-11.log", **lines}))
    assert error["data"]["parameter"] == parameter


@pytest.mark.parametrize(
    ("operation", "arguments", "parameter"),
    [
        (LIST, {"sttus": "new"}, "sttus"),
        (LIST, {"status": "conformed"}, "status"),
        (LIST, {"checkInFrom": "2026-13-40"}, "checkInFrom"),
        (LIST, {"checkInFrom": "tomorrow"}, "checkInFrom"),
        (LIST, {"checkInFrom": "2026-12-01", "checkInTo": "2026-11-01"}, "checkInFrom"),
        (LIST, {"minTotalPrice": 10, "maxTotalPrice": 5}, "minTotalPrice"),
        (LIST, {"minTotalPrice": "cheap"}, "minTotalPrice"),
        (LIST, {"propertyId": 10**30}, "propertyId"),
        (LIST, {"guestName": "a\0b"}, "guestName"),
        (LIST, {"guestName": "x" * 201}, "guestName"),
        (LIST, {"order": "price; DROP TABLE"}, "order"),
        (LIST, {"format": "xml"}, "format"),
        (LIST, {"fields": " , "}, "fields"),
        ("get_booking", {"id": "abc"}, "id"),
        ("get_booking", {"id": 0}, "id"),
        ("get_booking", {"id": 2**63 - 1}, "id"),
        ("get_booking", {"id": 2**63}, "id"),
    ],
)
def test_every_wrong_argument_is_named(ask: Any, operation: str, arguments: dict[str, Any], parameter: str):
    error = error_of(ask(operation, arguments))
    assert error["data"]["parameter"] == parameter


@pytest.mark.parametrize("operation", ["get_booking", "get_listing", "get_transaction"])
def test_a_record_that_does_not_exist_says_how_to_find_one(ask: Any, operation: str):
    error = error_of(ask(operation, {"id": 1}))
    assert error["reason"] == "not_found"
    assert error["data"]["suggestion"].startswith("Find the id with list_")


def test_a_misspelt_argument_is_corrected_by_its_suggestion(doors: Doors):
    error = error_of(doors.post(LIST, {"staus": "confirmed"}))
    assert "status" in error["data"]["suggestion"]


@pytest.mark.parametrize("body", [[], "text", 3, None])
def test_a_body_that_is_no_object_is_refused(doors: Doors, body: Any):
    answer = doors.post(LIST, body)
    assert body is None or error_of(answer)["data"]["parameter"] == "body"


def test_an_unknown_operation_names_the_nearest(doors: Doors):
    for answer in (doors.post("list_booking", {}), doors.mcp("list_booking", {})):
        assert answer["error"]["code"] == -32601
        assert "list_bookings" in answer["error"]["data"]["suggestion"]


def test_statuses_of_the_rest_door(doors: Doors):
    assert doors.response("/api/v1/bookings", {"limit": 0}).status_code == 400
    assert doors.response("/api/v1/bookings/1").status_code == 404
    assert doors.response("/api/v1/nothing").status_code == 404
    assert doors.response("/api/v1/nothing").json()["error"]["reason"] == "unknown_address"


def test_a_failure_of_ours_says_nothing_of_ours(doors: Doors, monkeypatch: pytest.MonkeyPatch):
    from gateway.catalog.catalog import catalogue

    def broken(arguments: Any) -> Any:
        raise ZeroDivisionError("SELECT secret FROM /etc/passwd")

    monkeypatch.setitem(catalogue.get(LIST).__dict__, "fetch", broken)
    for answer in (doors.rest(LIST, {}), doors.mcp(LIST, {})):
        assert answer["error"]["code"] == -32603
        text = str(answer)
        assert "SELECT" not in text
        assert "ZeroDivision" not in text
        assert "request id" in text
