"""One command deletes what is stored of a caller, or what mentions a guest, and says what it deleted.

With Redis, it would also delete what tests in other processes have stored. So each text ends in letters of its own, and
each key has an id of its own."""

import json
import re
from datetime import timedelta
from io import StringIO
from random import choices, randrange

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from context_protection.core.compression import compress
from context_protection.models import StoredWalk
from gateway.access.models import ApiKey
from gateway.connectors.hostaway.models import Booking
from telemetry import arguments, recorder
from telemetry.models import CallArguments, Rollup, StaleBucket, TelemetryRecord
from telemetry.rollups.builder import build_stale
from telemetry.storage import store
from tests.doors import Doors
from tests.telemetry.examples import a_call

pytestmark = pytest.mark.django_db

OWN = "".join(choices("abcdefghik", k=12))


def forget(**options: str) -> str:
    output = StringIO()
    call_command("forget", stdout=output, **options)
    return output.getvalue()


def called(doors: Doors, guest: str) -> None:
    doors.post("list_bookings", {"limit": 2})
    doors.post("list_bookings", {"search": guest, "orderBy": "nothing"})
    assert recorder.flush()
    assert arguments.flush()


def issued(name: str) -> str:
    _, secret = ApiKey.objects.issue(name, id=randrange(2**32, 2**62))
    return secret


@pytest.fixture
def api_key(db) -> str:
    return issued("tests")


@pytest.fixture
def other(db) -> Doors:
    return Doors(issued("other"))


def test_everything_of_a_caller_is_deleted_and_nothing_of_others(doors: Doors, other: Doors):
    called(doors, "Ada")
    called(other, "Ada")
    later = timezone.now() + timedelta(minutes=2)
    build_stale(now=later)
    said = forget(caller="tests")
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
    called(doors, f"Ada Lovelace{OWN}")
    name = f"Bram{OWN}"
    Booking.objects.filter(pk=Booking.objects.first().pk).update(guest_name=name)
    said = forget(guest=f"ada LOVELACE{OWN}")
    assert "1 stored arguments" in said
    assert not CallArguments.objects.exists()
    assert TelemetryRecord.objects.count() == 2

    assert doors.rest("list_bookings", {"where": {"guestName": {"eq": name}}, "limit": 1})["items"]
    assert " 0 snapshots" not in forget(guest=name)
    assert name.encode() not in b"".join(bytes(each.data) for each in StoredWalk.objects.all())


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        ('Anna "Nan" Smith', 'anna "nan" smith'),
        ("C:\\Users\\anna", "c:\\users\\anna"),
        ("Kein Gast MÜLLER", "müller"),
        ("Frau Straße", "FRAU STRASSE"),
        ("Ana 🌻 Lima", "ana 🌻 lima"),
    ],
)
@pytest.mark.parametrize("written", [str, json.dumps, lambda text: json.dumps(json.dumps(text))])
def test_a_mention_is_found_however_json_has_escaped_it(stored, text, written):
    at, stored, text = timezone.now(), stored + OWN, text + OWN
    for n, fields in enumerate(({"values": {"q": written(stored)}}, {"answer": written(stored)})):
        CallArguments.objects.create(request_id=f"r{n}", at=at, expires_at=at, operation="x", **fields)
    store([a_call(error_message=written(stored)), a_call(argument_names=written(stored)), a_call(error_message="Ben")])
    StoredWalk.objects.create(id="walk.0", data=compress(written(stored).encode()), expires_at=at.timestamp())
    said = forget(guest=text)
    assert said.endswith("2 stored arguments, 1 snapshots, and the messages of 2 records.\n")
    assert not CallArguments.objects.exists()
    assert set(TelemetryRecord.objects.values_list("error_message", "argument_names")) == {("", ""), ("Ben", "")}


@pytest.mark.parametrize(("text", "stored"), [("Ted", "name\tEd"), ("Nana", "guests:\nAna"), ("Tina", "1\tIna")])
@pytest.mark.parametrize("written", [str, json.dumps])
def test_the_sign_before_a_name_is_no_letter_of_another_name(text, stored, written):
    at = timezone.now()
    StoredWalk.objects.create(id="walk.0", data=compress(written(stored + OWN).encode()), expires_at=at.timestamp())
    forget(guest=text + OWN)
    assert StoredWalk.objects.filter(id="walk.0").exists()


def test_a_caller_that_left_nothing_and_a_text_that_is_everywhere_are_refused():
    with pytest.raises(CommandError, match="No data of a caller named 'nobody' is stored"):
        forget(caller="nobody")
    with pytest.raises(CommandError, match="at least 3 characters"):
        forget(guest="a")
    with pytest.raises(CommandError, match="at least 3 characters"):
        forget(guest="\\" * 5)
