"""The arguments of failed calls are there for a week, without a secret; those of others only where ops asked for it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client as HttpClient
from django.utils import timezone

from gateway.dispatch.measurements import SHORT
from gateway.tracing import identity
from telemetry import arguments, recorder, retention
from telemetry.arguments import LONGEST, CallWithArguments, storage, switches
from telemetry.models import CallArguments, KeptTool, TelemetryRecord
from telemetry.pages.call_arguments import arguments_of
from tests.doors import Doors

SECRET = "sk-ant-api03-Zx7q4711canarycanary"
TOKEN = "ZX74711CANARYABC"
PLANTED = {
    "where": {"doorCode": "Zx74711q", "note": "The door code is Zx74848q.", SECRET: 1},
    "search": f"Bearer {SECRET}",
    "orderBy": "nothing",
    "wifiPassword": "Zx74985q",
    "listing": f"AKIA{TOKEN}",
}
CANARIES = (SECRET, TOKEN, "Zx74711q", "Zx74848q", "Zx74985q")


def stored() -> CallArguments:
    assert recorder.flush()
    assert arguments.flush()
    return CallArguments.objects.latest("pk")


@pytest.mark.django_db
@pytest.mark.parametrize("door", ["post", "mcp"])
def test_a_failed_calls_arguments_and_answer_are_kept_without_their_secrets(doors: Doors, door: str):
    answer = getattr(doors, door)("list_bookings", PLANTED)
    row = stored()
    assert (row.operation, row.caller) == ("list_bookings", "tests")
    assert row.names == sorted(PLANTED)
    assert row.values["orderBy"] == "nothing"
    assert row.expires_at - row.at == timedelta(days=7)
    assert json.loads(row.answer)["error"]["reason"] == answer["error"]["reason"]
    written = json.dumps([row.values, row.hidden, row.answer, row.names])
    assert [each for each in CANARIES if each in written] == []
    hidden = {each["name"]: each for each in row.hidden}
    assert hidden["wifiPassword"]["characters"] == len("Zx74985q")
    assert hidden["where.doorCode"]["rule"] == "door code"
    assert "search" in hidden


@pytest.mark.django_db
def test_a_call_that_was_answered_is_kept_only_where_ops_switched_it_on(doors: Doors):
    doors.post("list_bookings", {"limit": 2})
    assert recorder.flush()
    assert arguments.flush()
    assert not CallArguments.objects.exists()

    KeptTool.objects.create(operation="list_bookings")
    switches.refresh()
    doors.post("list_bookings", {"limit": 2})
    doors.post("list_listings", {"limit": 2})
    assert recorder.flush()
    assert arguments.flush()
    assert [(each.operation, each.values, each.answer) for each in CallArguments.objects.all()] == [
        ("list_bookings", {"limit": 2}, "")
    ]
    KeptTool.objects.all().delete()
    switches.refresh()


@pytest.mark.django_db
def test_arguments_that_are_too_long_are_not_stored_but_the_answer_is(doors: Doors):
    doors.post("list_bookings", {"search": "x" * LONGEST, "orderBy": "nothing"})
    row = stored()
    assert row.values is None
    assert json.loads(row.answer)["error"]


@pytest.mark.django_db
def test_with_zero_days_nothing_is_stored(doors: Doors, settings):
    settings.TELEMETRY_ARGUMENT_DAYS = 0
    doors.post("list_bookings", {"orderBy": "nothing"})
    assert recorder.flush()
    assert arguments.flush()
    assert not CallArguments.objects.exists()


@pytest.mark.django_db
def test_a_call_that_cannot_be_masked_costs_only_itself(monkeypatch):
    def mask(operation, value):
        if operation == "broken":
            raise RuntimeError
        return arguments.Masked(value)

    monkeypatch.setattr("telemetry.arguments.masks._mask", mask)
    now = datetime.now(UTC).timestamp()
    for name in ("broken", "sound"):
        arguments.keep(CallWithArguments(now, name, name, "tests", '{"a": "\\u0000\\ud800"}', b""))
    assert recorder.flush()
    assert arguments.flush()
    assert list(CallArguments.objects.values_list("request_id", flat=True)) == ["sound"]
    assert (arguments.state().stored, arguments.state().dropped) == (1, 1)


@pytest.mark.django_db
def test_without_a_mask_no_value_is_stored(monkeypatch):
    monkeypatch.setattr("telemetry.arguments.masks._mask", None)
    call = CallWithArguments(datetime.now(UTC).timestamp(), "a", "tool", "tests", '{"a": 1}', b'{"error": {}}')
    storage.store([call])
    row = CallArguments.objects.get()
    assert (row.values, row.answer) == (None, "")


@pytest.mark.django_db
def test_arguments_are_purged_when_their_days_are_over(doors: Doors):
    doors.post("list_bookings", {"orderBy": "nothing"})
    assert recorder.flush()
    assert arguments.flush()
    assert retention.purge_old_arguments(now=timezone.now() + timedelta(days=6)) == 0
    assert retention.purge_old_arguments(now=timezone.now() + timedelta(days=7, minutes=1)) == 1


@pytest.mark.django_db
def test_a_call_without_a_key_leaves_no_arguments():
    HttpClient().post("/api/v1/tools/list_bookings", json.dumps(PLANTED), content_type="application/json")
    assert recorder.flush()
    assert arguments.flush()
    assert not CallArguments.objects.exists()


@pytest.mark.django_db
def test_two_calls_with_one_chosen_id_keep_their_own_arguments(doors: Doors):
    """Clients may choose X-Request-ID, and may choose the same twice."""
    for order in ("first", "second"):
        with identity.named("mine"):
            doors.post("list_bookings", {"orderBy": order})
    assert recorder.flush()
    assert arguments.flush()
    calls = list(TelemetryRecord.objects.filter(request_id="mine").order_by("pk"))
    found = [arguments_of(call.measurement, may_see_values=True).values for call in calls]
    assert found == [{"orderBy": "first"}, {"orderBy": "second"}]


@pytest.mark.django_db
def test_a_batch_that_is_stored_twice_is_there_once():
    call = CallWithArguments(datetime.now(UTC).timestamp(), "a", "tool", "tests", '{"a": 1}', b"")
    for _ in range(2):
        storage.store([call])
    assert CallArguments.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("length", [10, SHORT, LONGEST - 100])
def test_arguments_of_any_length_that_is_kept_are_kept_once(doors: Doors, length: int):
    text = "a quay " * (length // 7)
    doors.post("list_bookings", {"orderBy": text})
    assert recorder.flush()
    assert arguments.flush()
    assert [row.values for row in CallArguments.objects.all()] == [{"orderBy": text}]
