"""Rollups equal a recount of the calls, whatever is stored late, and however often they are built."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from telemetry.models import Rollup, StaleBucket
from telemetry.models.rollups import Level
from telemetry.rollups import builder
from telemetry.rollups.builder import build_stale
from tests.telemetry.examples import NOON, a_call, calls_of_all_sorts, stored

pytestmark = pytest.mark.django_db
LATER = NOON + timedelta(days=2)


def sums(level, scope="all"):
    rows = Rollup.objects.filter(level=level, scope=scope)
    return sum(row.calls for row in rows), sum(row.total_estimated_tokens for row in rows)


@pytest.mark.parametrize("scope", list(Rollup.SCOPES))
def test_every_level_adds_up_to_the_calls(scope):
    calls = list(calls_of_all_sorts(100, span=timedelta(hours=30)))
    stored(*calls)
    assert build_stale(now=LATER) > 100
    for level in Rollup.LEVELS_OF_SCOPE[scope]:
        assert sums(level, scope) == (100, sum(call.estimated_tokens for call in calls))
    assert not StaleBucket.objects.exists()


def test_a_bucket_that_has_not_ended_is_not_built():
    stored(a_call(at=NOON))
    assert build_stale(now=NOON + timedelta(seconds=59)) == 0
    assert build_stale(now=NOON + timedelta(seconds=60)) == 1
    assert Rollup.objects.filter(level=Level.HOUR).count() == 0
    assert list(StaleBucket.objects.values_list("level", flat=True)) == [Level.HOUR]


def test_a_call_at_the_very_end_of_a_bucket_is_in_its_own_bucket():
    """SQLite rounds times to milliseconds, so this call would fall into the next minute, hour and day."""
    midnight = NOON + timedelta(hours=12)
    stored(a_call(at=midnight - timedelta(microseconds=1)), a_call(at=midnight))
    build_stale(now=LATER)
    for level in Level:
        starts = list(Rollup.objects.filter(level=level, scope="all").order_by("start").values_list("start", "calls"))
        assert starts == [(midnight - timedelta(seconds=level), 1), (midnight, 1)]


def test_a_late_call_is_added_to_each_level():
    stored(a_call(at=NOON, estimated_tokens=900))
    build_stale(now=LATER)
    stored(a_call(at=NOON + timedelta(seconds=1), estimated_tokens=100))
    build_stale(now=LATER)
    for level in Level:
        assert sums(level) == (2, 1000)


def test_building_twice_changes_nothing():
    stored(*calls_of_all_sorts(50))
    build_stale(now=LATER)
    before = list(Rollup.objects.order_by("level", "scope", "start", "operation", "caller", "outcome").values())
    assert build_stale(now=LATER) == 0
    StaleBucket.objects.bulk_create(
        StaleBucket(level=row["level"], start=row["start"])
        for row in {(r["level"], r["start"]): r for r in before}.values()
    )
    build_stale(now=LATER)
    again = list(Rollup.objects.order_by("level", "scope", "start", "operation", "caller", "outcome").values())
    assert sorted(map(without_id, again)) == sorted(map(without_id, before))


def without_id(row):
    """Sums of floats are rounded: Postgres adds them in any order."""
    shown = {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}
    return repr({name: value for name, value in shown.items() if name != "id"})


def test_a_late_call_does_not_replace_the_sums_of_deleted_calls():
    stored(a_call(at=NOON))
    build_stale(now=LATER)
    stored(a_call(at=NOON))
    build_stale(now=NOON + timedelta(days=60))
    assert sums(Level.DAY) == (1, 900)
    assert not StaleBucket.objects.exists()


def test_calls_that_staff_repeat_are_in_no_sum():
    stored(a_call(transport="replay"), a_call())
    build_stale(now=LATER)
    assert sums(Level.DAY) == (1, 900)


def test_a_call_that_is_stored_while_its_bucket_is_added_up_is_not_lost():
    stored(a_call(at=NOON), a_call(at=NOON + timedelta(minutes=1)))
    marked = [builder.Marked(*each) for each in StaleBucket.objects.order_by("start").values_list("start", "marks")]
    rows = builder._rows(Level.MINUTE, marked, LATER)
    stored(a_call(at=NOON + timedelta(seconds=1)))
    assert builder._replace(Level.MINUTE, marked, rows) == 1  # the other minute
    assert list(StaleBucket.objects.filter(level=Level.MINUTE).values_list("start", "marks")) == [(NOON, 2)]
    build_stale(now=LATER)
    assert sums(Level.MINUTE) == sums(Level.DAY) == (3, 2700)


@pytest.mark.django_db(transaction=True)
def test_writers_wait_only_while_sums_are_stored(monkeypatch):
    """On SQLite a transaction keeps all other writers waiting, so none reads calls, and each stores few rows."""
    monkeypatch.setattr(builder, "ROWS", 20)
    calls = list(calls_of_all_sorts(200, span=timedelta(minutes=40)))
    stored(*calls)
    with CaptureQueriesContext(connection) as asked:
        build_stale(now=LATER)
    is_within, transactions = False, 0
    for statement in (each["sql"] for each in asked):
        if statement.startswith("BEGIN"):
            is_within, transactions = True, transactions + 1
        elif statement.startswith("COMMIT"):
            is_within = False
        assert not (is_within and "telemetry_telemetryrecord" in statement), statement
    assert transactions > 10
    assert sums(Level.MINUTE) == sums(Level.DAY) == (200, sum(call.estimated_tokens for call in calls))


def test_a_day_is_built_from_its_calls_once_its_hours_may_be_deleted(settings):
    settings.TELEMETRY_HOUR_DAYS = 1
    stored(*[a_call(at=NOON - timedelta(hours=hours)) for hours in range(10)])
    build_stale(now=LATER)
    Rollup.objects.filter(level=Level.HOUR).delete()
    stored(a_call(at=NOON))
    build_stale(now=LATER)
    assert sums(Level.DAY) == (11, 9900)
