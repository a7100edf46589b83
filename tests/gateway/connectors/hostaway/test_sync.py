"""The copy of a live account: complete, kept up to date, and never the worse for what goes wrong on the way."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db.models import F
from django.test import Client as Browser
from django.utils import timezone

from context_protection.core.redaction import redact
from gateway.connectors.hostaway import leases, sample, store, sync, sync_runs, sync_states
from gateway.connectors.hostaway.client import HostawayClient
from gateway.connectors.hostaway.models import (
    Booking,
    Document,
    Lease,
    Listing,
    SyncState,
    Transaction,
    WebhookEvent,
)
from gateway.connectors.hostaway.sync import SyncResult
from tests.gateway.connectors.hostaway.plain import PlainFetching
from tests.simulators.hostaway import ACCOUNT_ID, Hostaway, hostaway

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def upstream() -> Iterator[Hostaway]:
    with hostaway() as running:
        running.fill(listings=3, reservations=250, charges=5)
        yield running


Sync = Callable[..., SyncResult]


@pytest.fixture
def run(upstream: Hostaway) -> Sync:
    client = HostawayClient(upstream.url, PlainFetching(upstream.url))
    return lambda account=ACCOUNT_ID, **options: sync.run(account, client, **options)


def state(resource: str = "reservations") -> SyncState:
    return SyncState.objects.get(resource=resource)


def stored(model: Any) -> dict[int, dict[str, Any]]:
    return {identifier: orjson.loads(data) for identifier, data in model.objects.values_list("id", "data")}


def masked(rows: dict[int, Any]) -> dict[int, Any]:
    return {identifier: redact(row)[0] for identifier, row in rows.items()}


def assert_is_a_copy(upstream: Hostaway) -> None:
    assert stored(Booking) == masked(upstream.reservations)
    assert stored(Listing) == masked(upstream.listings)
    assert stored(Transaction) == masked(upstream.charges)


def a_day_passes() -> None:
    """All that is known moves a day into the past."""
    for model in (Booking, Listing, Transaction):
        model.objects.update(seen_at=F("seen_at") - DAY)
    SyncState.objects.update(full_at=F("full_at") - DAY, as_of=F("as_of") - DAY)


class Killed(BaseException):
    """A worker's end in the middle of its work."""


def kill_after(pages: int, resource: str = "reservations") -> Callable[..., None]:
    seen = []

    def progress(name: str, rows: int, total: int | None) -> None:
        seen.append(name)
        if seen.count(resource) == pages:
            raise Killed

    return progress


# -- The whole account ------------------------------------------------------------------------------


def test_the_first_sync_copies_everything_in_the_place_of_the_sample_account(upstream: Hostaway, run: Sync):
    store.save_document("mine.txt", "Mine", "text/plain", "my own")
    changed = next(each.name for each in sample.documents())
    store.save_document(changed, "Mine as well", "text/plain", "of the sample's name, but my own")
    assert run() is SyncResult.DONE
    assert_is_a_copy(upstream)
    assert set(Document.objects.values_list("id", flat=True)) == {"mine.txt", changed}
    assert (state().account, state().is_adopted, state().error) == (ACCOUNT_ID, True, "")


@pytest.mark.parametrize("mode", ["failing", "garbage", "down", "html", "fail", "busy"])
def test_the_sample_account_serves_until_upstream_has_answered(upstream: Hostaway, run: Sync, mode: str):
    before = stored(Booking)
    upstream.mode = mode
    run()
    assert stored(Booking) == before
    assert not SyncState.objects.filter(is_adopted=True).exists()


def test_an_account_with_nothing_in_it_is_an_empty_store(upstream: Hostaway, run: Sync):
    for rows in (upstream.listings, upstream.reservations, upstream.charges):
        rows.clear()
    assert run() is SyncResult.DONE
    assert_is_a_copy(upstream)


def test_another_account_takes_the_place_of_the_one_before(upstream: Hostaway, run: Sync):
    run()
    upstream.reservations = {1: {"id": 1, "guestName": "Ada", "updatedOn": "2026-11-20 10:00:00"}}
    assert run("another") is SyncResult.DONE
    assert_is_a_copy(upstream)
    assert set(SyncState.objects.values_list("account", flat=True)) == {"another"}


def test_a_store_that_is_filled_anew_stops_being_the_copy(upstream: Hostaway, run: Sync):
    run()
    call_command("load_sample_data", "--bookings", "7", stdout=StringIO())
    assert not SyncState.objects.exists()
    run()
    assert_is_a_copy(upstream)


def test_filling_the_store_while_a_sync_runs_ends_the_sync(upstream: Hostaway, run: Sync):
    def progress(name: str, rows: int, total: int | None) -> None:
        if name == "reservations" and rows == 100:
            store.clear()

    assert run(progress=progress) is SyncResult.UNFINISHED
    assert not Booking.objects.exists()
    assert not SyncState.objects.exists()


def test_rows_that_are_no_objects_with_an_id_are_counted_and_the_others_are_stored(upstream: Hostaway, run: Sync):
    odd: list[Any] = [{"name": "no id"}, {"id": "x"}, {"id": -1}, {"id": 2**63}, {"id": True}, None, [], 7]
    rows = [{"id": 1}, *odd, {"id": "2"}]
    others = upstream._resource
    upstream._resource = lambda path, query: (  # type: ignore[method-assign]
        upstream._list(rows, query) if path == "/listings" else others(path, query)
    )
    run()
    assert set(Listing.objects.values_list("id", flat=True)) == {1, 2}
    assert state("listings").refused_rows == len(odd)


@pytest.mark.parametrize("odd", [rb'"cut \ud83d"', b"123456789012345678901", b"NaN"])
def test_a_value_that_few_parsers_read_stops_no_sync(upstream: Hostaway, run: Sync, odd: bytes):
    """Programs that truncate texts by UTF-16 units send half of an emoji, which is valid in JSON's escapes."""
    marked = min(upstream.reservations)
    upstream.reservations[marked]["guestNote"] = "here"
    complete = upstream._list

    def with_odd_value(rows: Any, query: Any) -> Any:
        status, document = complete(rows, query)
        return status, json.dumps(document).encode().replace(b'"here"', odd)

    upstream._list = with_odd_value  # type: ignore[method-assign]
    assert run() is SyncResult.DONE
    assert stored(Booking).keys() == upstream.reservations.keys()
    note = stored(Booking)[marked]["guestNote"]
    assert note == odd.decode().replace(r"\ud83d", "?").strip('"'), "no digit is lost"


# -- What has changed -------------------------------------------------------------------------------


def test_later_syncs_ask_only_for_what_has_changed(upstream: Hostaway, run: Sync):
    run()
    upstream.requests.clear()
    today = timezone.now().strftime("%Y-%m-%d")
    upstream.reservations = {
        key: {**row, "updatedOn": "2026-01-01 00:00:00"} for key, row in upstream.reservations.items()
    }
    first = next(iter(upstream.reservations))
    upstream.change(first, f"{today} 23:59:59", guestName="Grace")
    assert run() is SyncResult.DONE
    (call,) = upstream.calls("/reservations")
    assert call.query["latestActivityStart"] <= today
    assert Booking.objects.get(id=first).guest_name == "Grace"
    assert upstream.calls("/guestPayments/charges") == [], "these are read whole, once an hour"


def test_what_has_not_changed_is_not_written_again(upstream: Hostaway, run: Sync):
    run()
    Booking.objects.update(chars=1)
    run(full=True)
    assert set(Booking.objects.values_list("chars", flat=True)) == {1}


def test_an_older_object_never_overwrites_a_newer_one(upstream: Hostaway, run: Sync):
    upstream.reservations = {1: {"id": 1, "guestName": "old", "updatedOn": "2026-11-20 10:00:00"}}
    run()
    Booking.objects.update(updated_on="2026-11-20T10:00:01Z", guest_name="new", data='{"id":1}')
    run(full=True)
    assert Booking.objects.get(id=1).guest_name == "new"
    upstream.change(1, "2026-11-20 10:00:02", guestName="newest")
    run(full=True)
    assert Booking.objects.get(id=1).guest_name == "newest"


def test_rows_that_move_to_the_front_between_two_pages_are_not_lost(upstream: Hostaway, run: Sync):
    """In upstream's order what is changed comes first, also before the pages that were read."""
    last = min(upstream.reservations.values(), key=lambda row: (row["updatedOn"], row["id"]))["id"]

    def after_page(path: str) -> None:
        if path == "/reservations" and len(upstream.calls(path)) == 0:
            upstream.change(last, "2099-01-01 00:00:00", guestName="moved")

    upstream.after_page = after_page
    run()
    assert_is_a_copy(upstream)


# -- What is gone -----------------------------------------------------------------------------------


def test_what_upstream_does_not_have_any_more_is_removed_once_a_day(upstream: Hostaway, run: Sync):
    run()
    gone = next(iter(upstream.reservations))
    del upstream.reservations[gone]
    upstream.listings.popitem()
    run()
    assert Booking.objects.filter(id=gone).exists(), "changes do not tell"
    a_day_passes()
    run()
    assert_is_a_copy(upstream)
    assert state().gone_before is None


def test_what_a_reading_has_missed_but_upstream_has_is_kept(upstream: Hostaway, run: Sync):
    run()
    missed = next(iter(upstream.reservations))
    hidden = upstream._list
    upstream._list = lambda rows, query: hidden([row for row in rows if row["id"] != missed], query)  # type: ignore[method-assign]
    a_day_passes()
    run()
    assert Booking.objects.filter(id=missed).exists()
    assert [seen.status for seen in upstream.calls(f"/reservations/{missed}")] == [200]


def test_an_answer_without_all_rows_removes_nothing(upstream: Hostaway, run: Sync):
    run()
    complete = upstream._list

    def cut(rows: Any, query: Any) -> Any:
        status, document = complete(rows, query)
        return status, {**document, "result": document["result"][:10]}

    upstream._list = cut  # type: ignore[method-assign]
    a_day_passes()
    run()
    assert Booking.objects.count() == 250
    assert not any("/reservations/" in seen.path for seen in upstream.requests)


def test_more_rows_are_gone_than_a_run_looks_for(upstream: Hostaway, run: Sync, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sync_runs, "MAX_LOOKED_FOR", 2)
    run()
    for _ in range(5):
        upstream.reservations.popitem()
    a_day_passes()
    for left in (248, 246, 245):
        run()
        assert Booking.objects.count() == left
    assert_is_a_copy(upstream)


def test_a_charge_is_removed_when_two_readings_have_missed_it(upstream: Hostaway, run: Sync):
    run()
    upstream.charges.popitem()
    for left in (5, 4):
        a_day_passes()
        run()
        assert Transaction.objects.count() == left
    assert stored(Transaction) == upstream.charges


# -- What goes wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize("pages", [1, 2])
def test_a_killed_sync_is_gone_on_with_and_reads_no_page_twice(upstream: Hostaway, run: Sync, pages: int):
    with pytest.raises(Killed):
        run(progress=kill_after(pages))
    assert Booking.objects.count() == 100 * pages
    assert run() is SyncResult.DONE
    assert_is_a_copy(upstream)
    whole = [
        call.query.get("afterId") for call in upstream.calls("/reservations") if "latestActivityStart" not in call.query
    ]
    assert len(whole) == 3
    assert len(set(whole)) == 3


def test_a_sync_that_was_interrupted_is_a_copy_as_of_its_beginning(upstream: Hostaway, run: Sync):
    with pytest.raises(Killed):
        run(progress=kill_after(1))
    began = timezone.now() - timedelta(hours=3)
    SyncState.objects.filter(resource="reservations").update(started_at=began)
    run()
    assert state().full_at == began
    SyncState.objects.filter(resource="reservations").update(mode="changes", started_at=began)
    run()
    assert state().as_of == began


def test_changes_are_asked_for_from_when_the_copy_is_of(upstream: Hostaway, run: Sync):
    run()
    as_of = timezone.now() - 5 * DAY
    SyncState.objects.update(as_of=as_of)
    upstream.requests.clear()
    run()
    (call,) = upstream.calls("/reservations")
    assert call.query["latestActivityStart"] == (as_of - sync_states.OVERLAP).strftime("%Y-%m-%d")


def test_one_sync_at_a_time(run: Sync):
    inner: list[SyncResult] = []
    assert run(progress=lambda *_: inner.append(run())) is SyncResult.DONE
    assert set(inner) == {SyncResult.BUSY}


def test_the_lease_of_a_killed_worker_expires(run: Sync):
    Lease.objects.create(name=sync.LEASE, holder="killed", until=timezone.now() + timedelta(minutes=1))
    assert run() is SyncResult.BUSY
    Lease.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert run() is SyncResult.DONE


def test_who_has_lost_the_lease_stores_nothing_more(upstream: Hostaway, run: Sync):
    def progress(name: str, rows: int, total: int | None) -> None:
        if name == "reservations":
            Lease.objects.update(holder="another")

    assert run(progress=progress) is SyncResult.UNFINISHED
    assert Booking.objects.count() == 100
    assert Lease.objects.get(name=sync.LEASE).holder == "another"


def test_a_lease_is_renewed_with_each_page(run: Sync):
    def progress(*_: Any) -> None:
        assert Lease.objects.get(name=sync.LEASE).until > timezone.now() + leases.LASTS / 2
        Lease.objects.update(until=timezone.now())

    run(progress=progress)


def test_a_page_that_kills_its_workers_is_given_up_after_three(upstream: Hostaway, run: Sync):
    with pytest.raises(Killed):
        run(progress=kill_after(1))
    SyncState.objects.filter(resource="reservations").update(attempts=3)
    calls = len(upstream.calls("/reservations"))
    run()
    assert len(upstream.calls("/reservations")) == calls
    failed = state()
    assert (failed.error, failed.mode, failed.position) == ("PageKillsWorkers", "", 0)
    assert failed.retry_at is not None
    run()
    assert len(upstream.calls("/reservations")) == calls, "not before the pause is over"
    assert stored(Transaction) == upstream.charges, "the others go on"
    SyncState.objects.update(retry_at=timezone.now())
    run()
    assert_is_a_copy(upstream)


@pytest.mark.parametrize("mode", ["garbage", "html", "fail"])
def test_a_page_that_cannot_be_read_is_tried_three_times_and_then_given_up(upstream: Hostaway, run: Sync, mode: str):
    upstream.modes["/reservations"] = mode
    for attempt in (1, 2, 3):
        run()
        assert len(upstream.calls("/reservations")) == attempt
    assert state().retry_at is not None
    assert state().error in ("upstream_garbled", "upstream_refused")
    run()
    assert len(upstream.calls("/reservations")) == 3


@pytest.mark.parametrize("mode", ["failing", "busy", "down"])
def test_an_upstream_that_is_away_is_waited_for_and_nothing_is_given_up(upstream: Hostaway, run: Sync, mode: str):
    upstream.modes["/reservations"] = mode
    for _ in range(5):
        assert run() is SyncResult.UNFINISHED
    assert state().retry_at is None
    assert state().error.startswith("upstream_")
    upstream.modes.clear()
    assert run() is SyncResult.DONE
    assert_is_a_copy(upstream)
    assert state().error == ""


@pytest.mark.parametrize("status", [403, 404])
def test_an_account_without_payments_is_asked_for_them_once_a_day(upstream: Hostaway, run: Sync, status: int):
    upstream.finance_status = status
    assert run() is SyncResult.DONE
    asked = len(upstream.calls("/guestPayments/charges"))
    run()
    assert len(upstream.calls("/guestPayments/charges")) == asked
    assert state("charges").error == sync_states.NOT_AVAILABLE
    assert stored(Booking) == masked(upstream.reservations)
    upstream.finance_status = 200
    SyncState.objects.update(retry_at=timezone.now() - DAY)
    run()
    assert_is_a_copy(upstream)


def test_refused_credentials_are_no_fault_of_a_page(upstream: Hostaway, run: Sync):
    upstream.token_delay = 3600.0  # no token is usable
    for _ in range(5):
        assert run() is SyncResult.UNFINISHED
    assert (state("listings").error, state("listings").retry_at) == ("upstream_credentials", None)


def test_a_sync_ends_when_its_time_is_over_and_goes_on_next_time(upstream: Hostaway, run: Sync):
    assert run(seconds=0) is SyncResult.UNFINISHED
    assert upstream.requests == []
    assert run(seconds=60) is SyncResult.DONE


def test_a_list_without_an_end_is_given_up(upstream: Hostaway, run: Sync):
    turns = iter(range(1, 10_000))

    def endless(rows: Any, query: Any) -> Any:
        start = next(turns) * 100
        return 200, {"status": "success", "limit": 100, "count": 5, "result": [{"id": start + n} for n in range(100)]}

    upstream._list = endless  # type: ignore[method-assign]
    run()
    assert 10 <= len(upstream.calls("/reservations")) <= 15
    assert state().error == "upstream_garbled"


# -- What staff see ---------------------------------------------------------------------------------


def test_staff_see_what_failed_and_may_have_it_tried_again(upstream: Hostaway, run: Sync, admin_client: Browser):
    upstream.modes["/reservations"] = "garbage"
    for _ in range(3):
        run()
    page = admin_client.get("/admin/hostaway/syncstate/")
    assert "upstream_garbled" in page.text
    upstream.modes.clear()
    chosen = {"action": "try_again", "_selected_action": ["reservations"]}
    assert admin_client.post("/admin/hostaway/syncstate/", chosen).status_code == 302
    run()
    assert_is_a_copy(upstream)
    assert admin_client.get("/admin/hostaway/syncstate/reservations/change/").status_code == 200


def test_staff_see_events_without_what_they_hold(admin_client: Browser):
    held = {"received_at": timezone.now(), "body": '{"doorCode":"4711"}', "event": "reservation.updated"}
    event = WebhookEvent.objects.create(digest="a", outcome="failed", **held)
    pages = [admin_client.get(f"/admin/hostaway/webhookevent/{path}") for path in ("", f"{event.pk}/change/")]
    assert [page.status_code for page in pages] == [200, 200]
    assert "reservation.updated" in pages[0].text
    assert not any("4711" in page.text for page in pages)
    chosen = {"action": "apply_again", "_selected_action": [event.pk]}
    admin_client.post("/admin/hostaway/webhookevent/", chosen)
    assert WebhookEvent.objects.get().outcome == ""


def test_who_may_only_look_cannot_have_anything_tried_again(run: Sync, client: Browser, django_user_model: Any):
    viewer = django_user_model.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_syncstate"))
    client.force_login(viewer)
    run()
    SyncState.objects.update(attempts=2)
    assert client.get("/admin/hostaway/syncstate/").status_code == 200
    client.post("/admin/hostaway/syncstate/", {"action": "try_again", "_selected_action": ["reservations"]})
    assert state().attempts == 2


def test_a_full_sync_fills_a_column_that_is_newer_than_its_rows(run: Sync):
    run()
    before = dict(Booking.objects.values_list("id", "guests"))
    Booking.objects.update(guests=None)
    run(full=True)
    assert dict(Booking.objects.values_list("id", "guests")) == before
    assert any(before.values())
