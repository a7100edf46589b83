"""The recorded calls that a preview can answer again."""

import json
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from context_protection.configuration.policies import policy_for
from context_protection.models import StoredWalk
from context_protection.stores.redis_client import connect
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.staff.preview.answers import previewed
from gateway.staff.preview.recorded_calls import RecordedCall, recorded_call, recorded_calls, source_of
from telemetry import recorder
from telemetry.models import CallArguments, TelemetryRecord
from tests.doors import Doors

pytestmark = pytest.mark.django_db


def bookings() -> Operation:
    return catalogue.get("list_bookings")


def offered(*, may_see_values: bool = True) -> list[RecordedCall]:
    assert recorder.flush()
    return list(recorded_calls(bookings(), may_see_values=may_see_values))


def keep(values: dict[str, object], hidden: list[dict[str, object]]) -> None:
    """The arguments of the newest call."""
    call = TelemetryRecord.objects.latest("pk")
    CallArguments.objects.create(
        request_id=call.request_id,
        at=call.created_at,
        expires_at=timezone.now() + timedelta(days=1),
        operation=call.operation,
        names=list(values),
        values=values,
        hidden=hidden,
    )


def test_a_call_whose_snapshot_is_stored_is_answered_again(doors: Doors):
    sent = doors.mcp("list_bookings", {"limit": 3, "fields": "id,status"})
    [call] = offered(may_see_values=False)
    assert call.shown == {}
    source = source_of(bookings(), call)
    assert source is not None
    again = json.loads("".join(previewed(source, policy_for("list_bookings")).lines))
    assert again["items"] == sent["items"]


def forget_snapshots() -> None:
    """Those of the recorded calls, wherever they are stored."""
    assert recorder.flush()
    StoredWalk.objects.all().delete()
    if settings.REDIS_URL:
        redis = connect(settings.REDIS_URL)
        for chain in TelemetryRecord.objects.exclude(chain="").values_list("chain", flat=True):
            for key in redis.keys(f"*{chain}*"):
                redis.delete(key)


def test_a_call_without_snapshot_and_arguments_is_not_offered(doors: Doors):
    doors.mcp("list_bookings", {"limit": 3})
    forget_snapshots()
    assert offered() == []


def test_a_call_whose_arguments_are_kept_is_offered_and_shows_them_to_those_who_may(doors: Doors):
    doors.mcp("list_bookings", {"limit": 3})
    forget_snapshots()
    assert recorder.flush()
    keep({"limit": 3}, [])
    assert [call.shown for call in offered(may_see_values=False)] == [{}]
    [call] = offered()
    assert call.shown == {"limit": 3}
    source = source_of(bookings(), call)
    assert source is not None
    assert previewed(source, policy_for("list_bookings")).items == 3
    assert "Sluice's own store" in source.basis


def test_masked_arguments_would_be_another_call(doors: Doors):
    doors.mcp("list_bookings", {"limit": 3})
    forget_snapshots()
    assert recorder.flush()
    keep({"limit": 3}, [{"name": "limit", "characters": 1, "rule": "phone"}])
    assert offered() == []


def test_later_pages_are_not_offered(doors: Doors):
    first = doors.mcp("list_bookings", {"limit": 3})
    doors.mcp("list_bookings", {"cursor": first["nextCursor"]})
    assert [call.names for call in offered()] == [("limit",)]


def test_a_call_is_found_by_its_id(doors: Doors):
    doors.mcp("list_bookings", {"limit": 3})
    [call] = offered()
    assert recorded_call(bookings(), call.request_id, may_see_values=True) == call
    assert recorded_call(bookings(), "another", may_see_values=True) is None
