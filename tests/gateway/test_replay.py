"""A recorded reading call can be run again; no figure counts it, nothing is changed by it, and no secret is shown."""

import json

import pytest

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway import replay
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from telemetry import recorder
from telemetry.metrics import metrics_text
from telemetry.models import TelemetryRecord
from tests.doors import Doors

pytestmark = pytest.mark.django_db


def bytes_sent() -> list[bytes]:
    """The lines of /metrics that count them."""
    return [line for line in metrics_text()[0].splitlines() if line.startswith(b"sluice_response_bytes_total{")]


def test_a_replay_answers_as_the_call_does_now_and_is_recorded_as_a_replay(doors: Doors):
    counted = bytes_sent()
    found = replay.run("list_bookings", {"limit": 2}, "tests")
    assert found.outcome == "paginated"
    assert len(json.loads(found.body)["items"]) == 2
    assert found.tokens > 0
    assert recorder.flush()
    record = TelemetryRecord.objects.latest("pk")
    assert (record.transport, record.caller, record.operation) == ("replay", "tests", "list_bookings")
    assert bytes_sent() == counted


def test_an_error_is_an_answer_too(doors: Doors):
    found = replay.run("get_booking", {"id": 99999999}, "tests")
    assert found.outcome == "error"
    assert json.loads(found.body)["error"]["reason"] == "not_found"


def test_a_tool_that_is_hidden_from_the_caller_stays_hidden(doors: Doors):
    doors.choose(hidden_tools=["list_bookings"])
    found = replay.run("list_bookings", {}, "tests")
    assert json.loads(found.body)["error"]["reason"] == "unknown_operation"


def test_nothing_is_revealed_to_staff_that_is_revealed_to_the_key(doors: Doors):
    doors.choose(reveal=["doorCode"])
    assert replay.caller_for_staff("tests").reveal == frozenset()
    assert replay.caller_for_staff("a key that is gone") == replay.STAFF


def test_what_is_withheld_from_all_keys_is_withheld_from_staff(doors: Doors):
    TokenBudget.objects.create(connector="hostaway", withheld_fields="guestName")
    TokenBudget.objects.create(caller="tests", withheld_fields="currency")
    revisions.bump()
    for caller, withheld in (("a key that is gone", "guestName"), ("tests", "currency")):
        row = json.loads(replay.run("list_bookings", {"limit": 1}, caller).body)["items"][0]
        assert {name for name, value in row.items() if value == "[withheld: by policy]"} == {withheld}


def test_an_operation_that_acts_is_never_replayed(doors: Doors, large_api: list[str]):
    acting: Operation = catalogue.get("cancel_booking")
    found = replay.run(acting.name, {}, "tests")
    assert json.loads(found.body)["error"]["reason"] == "tool_acts"
