"""Answers from a copy say as of when it is; those of the sample account say nothing."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from context_protection.configuration.revisions import contents
from gateway.connectors.hostaway import freshness, sync
from gateway.connectors.hostaway.client import HostawayClient
from gateway.connectors.hostaway.models import SyncState
from tests.doors import Doors
from tests.gateway.connectors.hostaway.plain import PlainFetching
from tests.simulators.hostaway import ACCOUNT_ID, Hostaway, hostaway

pytestmark = pytest.mark.django_db
LISTS = ("list_listings", "list_bookings", "list_transactions")


@pytest.fixture
def upstream() -> Iterator[Hostaway]:
    with hostaway() as running:
        running.fill(listings=3, reservations=60, charges=5)
        yield running


@pytest.fixture
def copied(upstream: Hostaway, django_capture_on_commit_callbacks: Any) -> Iterator[None]:
    with django_capture_on_commit_callbacks(execute=True):
        sync.run(ACCOUNT_ID, HostawayClient(upstream.url, PlainFetching(upstream.url)))
    yield
    contents.bump()  # what this test has seen, and its rollback undone, no other test sees


@pytest.fixture(autouse=True)
def others() -> None:
    contents.bump()


def age(**of: Any) -> None:
    SyncState.objects.update(as_of=timezone.now() - timedelta(**of))
    contents.bump()


def test_the_sample_account_says_nothing(doors: Doors):
    for name in LISTS:
        assert not {"asOf", "stale"} & doors.rest(name, {}).get("meta", {}).keys()
    assert freshness.state() == ()


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("door", ["rest", "mcp"])
def test_lists_and_records_say_as_of_when_they_are(upstream: Hostaway, doors: Doors, door: str):
    ask = getattr(doors, door)
    for name, resource in zip(LISTS, ("listings", "reservations", "charges"), strict=True):
        as_of = SyncState.objects.get(resource=resource).as_of
        assert as_of is not None
        expected = as_of.strftime("%Y-%m-%dT%H:%M:%SZ")
        listed = ask(name, {"limit": 2})
        assert listed["meta"]["asOf"] == expected
        assert "stale" not in listed["meta"]
        get = name.replace("list_", "get_").removesuffix("s")
        identifier = listed["items"][0]["id"]
        assert ask(get, {"id": identifier})["meta"]["asOf"] == expected
        assert ask(get, {"id": identifier, "fields": "all"})["meta"]["asOf"] == expected
        assert ask(get, {"id": identifier, "fields": "id"})["meta"]["asOf"] == expected
        counted = ask(name, {"aggregate": {"metrics": ["count"]}})
        assert (counted["groups"][0]["count"] > 0, counted["meta"]["asOf"]) == (True, expected)


@pytest.mark.usefixtures("copied")
def test_a_copy_is_stale_after_three_intervals(doors: Doors, settings: Any):
    settings.HOSTAWAY_SYNC_SECONDS = 300
    age(seconds=890)
    assert "stale" not in doors.rest("list_bookings", {"limit": 1})["meta"]
    age(seconds=910)
    assert doors.rest("list_bookings", {"limit": 1})["meta"]["stale"] is True
    assert "stale" not in doors.rest("list_transactions", {"limit": 1})["meta"], "these are read every hour"
    age(hours=3, minutes=1)
    assert doors.rest("list_transactions", {"limit": 1})["meta"]["stale"] is True
    settings.HOSTAWAY_SYNC_SECONDS = 24 * 3600
    contents.bump()
    assert "stale" not in doors.rest("list_bookings", {"limit": 1})["meta"]


@pytest.mark.usefixtures("copied")
def test_a_copy_that_is_not_complete_yet_is_stale(doors: Doors):
    SyncState.objects.update(as_of=None)
    contents.bump()
    meta = doors.rest("list_bookings", {"limit": 1})["meta"]
    assert meta["stale"] is True
    assert "asOf" not in meta


@pytest.mark.usefixtures("copied")
def test_what_the_account_does_not_have_is_said(doors: Doors):
    SyncState.objects.filter(resource="charges").update(as_of=None, error="not_available")
    contents.bump()
    assert doors.rest("list_transactions", {})["meta"]["notes"] == [
        "Hostaway does not provide charges for this account."
    ]


@pytest.mark.usefixtures("copied")
def test_calls_do_not_ask_the_database_how_fresh_it_is(doors: Doors):
    doors.rest("list_bookings", {"limit": 1})
    with CaptureQueriesContext(connection) as queries:
        doors.rest("list_bookings", {"limit": 1})
        doors.rest("list_listings", {"limit": 1})
    assert not [query for query in queries if "syncstate" in query["sql"]]


@pytest.mark.usefixtures("copied")
def test_a_later_sync_is_seen_by_the_next_call(
    upstream: Hostaway, doors: Doors, django_capture_on_commit_callbacks: Any
):
    age(days=1)
    before = doors.rest("list_bookings", {"limit": 1})["meta"]
    with django_capture_on_commit_callbacks(execute=True):
        sync.run(ACCOUNT_ID, HostawayClient(upstream.url, PlainFetching(upstream.url)))
    after = doors.rest("list_bookings", {"limit": 1})["meta"]
    assert before["stale"] is True
    assert "stale" not in after
    assert after["asOf"] > before["asOf"]


@pytest.mark.usefixtures("copied")
def test_the_age_that_is_allowed_and_the_last_error_are_known_of_each_resource(settings: Any):
    settings.HOSTAWAY_SYNC_SECONDS = 300
    SyncState.objects.filter(resource="reservations").update(error="upstream_busy")
    listings, reservations, charges = freshness.state()
    assert [each.resource for each in (listings, reservations, charges)] == ["listings", "reservations", "charges"]
    assert (listings.error, reservations.error) == ("", "upstream_busy")
    assert (listings.age_allowed, charges.age_allowed) == (timedelta(seconds=300), timedelta(hours=1))
