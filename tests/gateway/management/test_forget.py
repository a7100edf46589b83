"""One command deletes what is stored of a caller, or what mentions a guest, and says what it deleted."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from context_protection.models import StoredWalk
from gateway.access.models import ApiKey
from telemetry import arguments, recorder
from telemetry.models import CallArguments, Rollup, StaleBucket, TelemetryRecord
from telemetry.rollups.builder import build_stale
from tests.doors import Doors

pytestmark = pytest.mark.django_db


def forget(**options: str) -> str:
    output = StringIO()
    call_command("forget", stdout=output, **options)
    return output.getvalue()


def called(doors: Doors, guest: str) -> None:
    doors.post("list_bookings", {"limit": 2})
    doors.post("list_bookings", {"search": guest, "orderBy": "nothing"})
    assert recorder.flush()
    assert arguments.flush()


@pytest.fixture
def other(db) -> Doors:
    _, secret = ApiKey.objects.issue("other")
    return Doors(secret)


def test_everything_of_a_caller_is_deleted_and_nothing_of_others(doors: Doors, other: Doors):
    called(doors, "Ada")
    called(other, "Ada")
    later = timezone.now() + timedelta(minutes=2)
    build_stale(now=later)
    said = forget(caller="tests")
    # Redis may have more of that key's id, from tests before.
    assert re.match(r"Deleted of tests: 2 records, 1 stored arguments, [1-9]\d* snapshots\.", said)
    assert "still works" in said
    assert set(TelemetryRecord.objects.values_list("caller", flat=True)) == {"other"}
    assert set(CallArguments.objects.values_list("caller", flat=True)) == {"other"}
    assert not Rollup.objects.filter(caller="tests").exists()

    assert StaleBucket.objects.exists()
    build_stale(now=later)
    assert sum(Rollup.objects.filter(scope="all", level=60).values_list("calls", flat=True)) == 2
    assert re.search(r" [1-9]\d* snapshots", forget(caller="other"))  # they were there until now


def test_what_mentions_a_guest_is_deleted_whatever_its_case(doors: Doors):
    called(doors, "Ada Lovelace")
    name = doors.rest("list_bookings", {"limit": 1})["items"][0]["guestName"]
    said = forget(guest="ada LOVELACE")
    assert "1 stored arguments" in said
    assert not CallArguments.objects.exists()
    assert TelemetryRecord.objects.count() == 2

    doors.rest("list_bookings", {"where": {"guestName": {"eq": name}}, "limit": 1})
    before = StoredWalk.objects.count()
    forget(guest=name)
    assert StoredWalk.objects.count() <= before
    assert name.encode() not in b"".join(bytes(each.data) for each in StoredWalk.objects.all())


def test_a_caller_that_left_nothing_and_a_text_that_is_everywhere_are_refused():
    with pytest.raises(CommandError, match="No data of a caller named 'nobody' is stored"):
        forget(caller="nobody")
    with pytest.raises(CommandError, match="at least 3 characters"):
        forget(guest="a")
