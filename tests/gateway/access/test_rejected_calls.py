"""Calls that are rejected at the door have records too, and a flood of them does not fill the table."""

import pytest
from django.test import Client as HttpClient

from gateway.access import rejected_calls
from gateway.access.addresses import prefix_of
from gateway.access.rejected_calls import RateLimit
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors


def last_record() -> TelemetryRecord:
    assert recorder.flush()
    return TelemetryRecord.objects.latest("pk")


@pytest.fixture(autouse=True)
def fresh_allowance(monkeypatch):
    monkeypatch.setattr(rejected_calls, "_allowance", RateLimit(20))


@pytest.mark.django_db
@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer sk_wrong"}])
def test_a_call_without_a_valid_key_is_recorded_with_its_network(header):
    answer = HttpClient().get("/api/v1/bookings", headers=header, REMOTE_ADDR="203.0.113.9")
    record = last_record()
    assert (record.caller, record.client) == ("(no valid key)", "203.0.113.0/24")
    assert (record.operation, record.transport) == ("(none)", "rest")
    assert (record.outcome, record.origin, record.error_reason) == ("error", "caller", "not_authenticated")
    assert record.response_bytes == len(answer.content)
    assert record.claude_tokens > 0


@pytest.mark.django_db
def test_an_unknown_tool_and_a_body_that_is_no_json_are_recorded_with_their_caller(doors: Doors):
    doors.post("no_such_tool", {})
    assert (last_record().caller, last_record().error_reason) == ("tests", "unknown_operation")

    headers = {"Authorization": f"Bearer {doors.key}", "User-Agent": "reporting/2.4"}
    HttpClient().post("/api/v1/tools/list_bookings", "{", content_type="application/json", headers=headers)
    record = last_record()
    assert (record.caller, record.client, record.error_reason) == ("tests", "reporting", "invalid_json")


@pytest.mark.django_db
def test_a_call_that_the_dispatcher_recorded_is_not_recorded_twice(doors: Doors):
    before = TelemetryRecord.objects.count()
    doors.rest("get_booking", {"id": 99999999})
    assert recorder.flush()
    assert TelemetryRecord.objects.count() == before + 1


@pytest.mark.django_db
def test_of_a_flood_a_few_calls_a_second_are_recorded(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(rejected_calls, "_allowance", RateLimit(3, clock=lambda: now[0]))
    for _ in range(10):
        HttpClient().get("/api/v1/bookings")
    assert recorder.flush()
    assert TelemetryRecord.objects.filter(operation="(none)").count() == 3

    now[0] += 1
    HttpClient().get("/api/v1/bookings")
    assert recorder.flush()
    assert TelemetryRecord.objects.filter(operation="(none)").count() == 4


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.9", "203.0.113.0/24"),
        ("::ffff:203.0.113.9", "203.0.113.0/24"),
        ("2001:db8:1:2::9", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/48"),
        ("testserver", ""),
        ("", ""),
    ],
)
def test_records_have_the_network_of_an_address(address, network):
    assert prefix_of(address) == network
