"""Hostaway's webhooks: only its own are taken, each once, and they may come late, twice, or before their parents."""

import base64
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gateway.connectors.hostaway import sync_states, webhook_events, webhooks
from gateway.connectors.hostaway.client import HostawayClient
from gateway.connectors.hostaway.models import Booking, Lease, SyncState, WebhookEvent
from gateway.upstreams.auth.vault import vault
from tests.gateway.connectors.hostaway.plain import PlainFetching
from tests.simulators.hostaway import ACCOUNT_ID, Hostaway, hostaway

pytestmark = [pytest.mark.django_db, pytest.mark.urls("gateway.connectors.hostaway.urls")]
SECRET = "a-password-of-the-webhook"


@pytest.fixture(autouse=True)
def secret(settings: Any) -> None:
    settings.HOSTAWAY_WEBHOOK_SECRET = SECRET


@pytest.fixture
def upstream() -> Iterator[Hostaway]:
    with hostaway() as running:
        yield running


@pytest.fixture
def adopted() -> None:
    """The store is a copy of the account; it is empty."""
    sync_states.prepare(ACCOUNT_ID)
    SyncState.objects.update(is_adopted=True)
    Booking.objects.all().delete()


def reservation(at: str = "10:00:00", **values: Any) -> dict[str, Any]:
    whole = {"id": 7, "listingMapId": 5, "arrivalDate": "2026-12-01", "departureDate": "2026-12-03", "status": "new"}
    return {**whole, "guestName": "Ada", "updatedOn": f"2026-11-20 {at}", **values}


def event(data: Any, name: str = "reservation.updated", account: Any = int(ACCOUNT_ID)) -> dict[str, Any]:
    return {"object": name.partition(".")[0], "event": name, "accountId": account, "data": data}


def basic(password: str = SECRET, login: str = "anybody") -> str:
    return "Basic " + base64.b64encode(f"{login}:{password}".encode()).decode()


def opened(body: str) -> str:
    """As it came: it is sealed where it is kept."""
    return vault().open(body, upstream="Hostaway")


def post(body: Any, authorization: str | None = None, **more: Any) -> Any:
    data = body if isinstance(body, (bytes, str)) else json.dumps(body)
    headers = {"Authorization": basic() if authorization is None else authorization}
    return Browser().post("/webhooks/hostaway", data, content_type="application/json", headers=headers, **more)


def sweep(upstream: Hostaway) -> int:
    return webhook_events.apply_waiting(ACCOUNT_ID, HostawayClient(upstream.url, PlainFetching(upstream.url)))


def guest(identifier: int = 7) -> str | None:
    return Booking.objects.values_list("guest_name", flat=True).filter(id=identifier).first()


# -- Who may send, and what -------------------------------------------------------------------------


def test_an_event_is_stored_and_answered_and_a_repeated_one_is_answered(upstream: Hostaway):
    for status in ("stored", "repeated", "repeated"):
        response = post(event(reservation()))
        assert (response.status_code, response.json()) == (200, {"status": status})
    (stored,) = WebhookEvent.objects.all()
    assert (stored.event, stored.object_id, stored.outcome) == ("reservation.updated", 7, "")
    assert upstream.requests == []


@pytest.mark.parametrize("unset", ["", None])
def test_without_a_secret_there_is_nothing_at_this_address(settings: Any, unset: str | None):
    settings.HOSTAWAY_WEBHOOK_SECRET = unset
    response = post(event(reservation()))
    assert response.status_code == 404
    assert response.json()["error"]["reason"] == "unknown_address"
    del settings.HOSTAWAY_WEBHOOK_SECRET
    assert post(event(reservation()), basic("")).status_code == 404


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Basic",
        "Basic !!!",
        "Bearer " + SECRET,
        basic(""),
        basic(SECRET[:-1]),
        basic(SECRET + "x"),
        basic("x", login=SECRET),
        "Basic " + base64.b64encode(SECRET.encode()).decode(),
        "Basic \u00e9",
    ],
)
def test_who_does_not_know_the_password_is_refused(authorization: str):
    response = post(event(reservation()), authorization)
    assert response.status_code == 401
    assert response["WWW-Authenticate"].startswith("Basic ")
    assert SECRET not in response.text
    assert not WebhookEvent.objects.exists()


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"7", b'"x"', b"{", b"{}", b'{"event": 7}', b"\xff", b'{"event": "\\ud800"}', b"[" * 100_000],
)
def test_what_is_no_event_is_refused_in_a_designed_way(body: bytes):
    response = post(body)
    assert response.status_code == 400
    error = response.json()["error"]
    reason = "too_many_values" if len(body) > 10_000 else "invalid_event"
    assert (error["reason"], error["data"]["parameter"]) == (reason, "body")
    assert not WebhookEvent.objects.exists()


def test_an_event_of_more_than_a_megabyte_is_refused():
    fits = event({"id": 7, "x": "y" * (webhooks.MAX_BYTES - 200)})
    assert post(fits).status_code == 200
    assert post(event({"id": 7, "x": "y" * webhooks.MAX_BYTES})).status_code == 413
    assert post(b" " * (webhooks.MAX_BYTES + 1)).status_code == 413


@pytest.mark.parametrize("method", ["get", "put", "delete"])
def test_only_posts_are_events(method: str):
    response = getattr(Browser(), method)("/webhooks/hostaway", headers={"Authorization": basic()})
    assert (response.status_code, response["Allow"]) == (405, "POST")


def test_an_event_costs_one_statement():
    with CaptureQueriesContext(connection) as queries:
        post(event(reservation()))
    assert len([query for query in queries if "SAVEPOINT" not in query["sql"]]) == 1


# -- What comes of it -------------------------------------------------------------------------------


@pytest.mark.usefixtures("adopted")
def test_an_event_that_holds_the_whole_reservation_is_applied_without_a_call(upstream: Hostaway):
    post(event(reservation(guestName="Ada")))
    assert sweep(upstream) == 1
    assert guest() == "Ada"
    assert upstream.requests == []
    (applied,) = WebhookEvent.objects.all()
    assert (applied.outcome, applied.body) == ("applied", "")
    assert sweep(upstream) == 0


@pytest.mark.usefixtures("adopted")
@pytest.mark.parametrize("data", [{"id": 7}, {"id": "7", "status": "new"}, reservation(updatedOn=None)])
def test_of_an_event_with_less_the_reservation_is_asked_for(upstream: Hostaway, data: dict[str, Any]):
    upstream.reservations = {7: reservation(guestName="Grace")}
    post(event(data))
    sweep(upstream)
    assert guest() == "Grace"
    assert len(upstream.calls("/reservations/7")) == 1


@pytest.mark.usefixtures("adopted")
def test_events_may_come_in_any_order(upstream: Hostaway):
    """An update before its create as well."""
    for at, name in (
        ("10:00:05", "updated"),
        ("10:00:00", "created"),
        ("10:00:09", "updated"),
        ("10:00:07", "updated"),
    ):
        post(event(reservation(at, guestName=at), f"reservation.{name}"))
        sweep(upstream)
    assert guest() == "10:00:09"
    outcomes = WebhookEvent.objects.order_by("pk").values_list("outcome", flat=True)
    assert list(outcomes) == ["applied", "older", "applied", "older"]


@pytest.mark.usefixtures("adopted")
def test_a_reservation_that_upstream_does_not_have_any_more_is_removed(upstream: Hostaway):
    post(event(reservation()))
    sweep(upstream)
    post(event({"id": 7}))
    sweep(upstream)
    assert guest() is None


@pytest.mark.usefixtures("adopted")
@pytest.mark.parametrize(
    "kept",
    [
        event({"id": 3, "body": "Hello", "reservationId": 7}, "message.received"),
        event(reservation(), "something.new"),
        event(reservation(), "reservation.created", account=999),
        event(None),
        event([]),
        event({}),
        event({"id": "x"}),
        {"event": "x" * 500},
    ],
)
def test_what_is_not_about_a_reservation_of_ours_is_kept_and_changes_nothing(upstream: Hostaway, kept: dict[str, Any]):
    assert post(kept).status_code == 200
    sweep(upstream)
    (stored,) = WebhookEvent.objects.all()
    assert (stored.outcome, orjson.loads(opened(stored.body))) == ("kept", kept)
    assert not Booking.objects.exists()
    assert upstream.requests == []


def test_events_wait_while_the_sample_account_serves(upstream: Hostaway):
    before = Booking.objects.count()
    post(event(reservation()))
    assert sweep(upstream) == 0
    assert Booking.objects.count() == before
    assert WebhookEvent.objects.get().outcome == ""


@pytest.mark.usefixtures("adopted")
@pytest.mark.parametrize("mode", ["garbage", "html", "fail"])
def test_an_event_that_cannot_be_applied_is_tried_three_times(upstream: Hostaway, mode: str):
    upstream.mode = mode
    post(event({"id": 7}))
    post(event(reservation(id=8)))
    for _ in range(5):
        sweep(upstream)
    failed = WebhookEvent.objects.get(object_id=7)
    assert (failed.outcome, failed.attempts) == ("failed", 3)
    assert failed.error.startswith("upstream_")
    assert len(upstream.calls("/reservations/7")) == 3
    assert guest(8) == "Ada", "the others are applied"


@pytest.mark.usefixtures("adopted")
@pytest.mark.parametrize("mode", ["failing", "busy", "down"])
def test_events_wait_while_upstream_is_away_which_each_sweep_finds_out_once(upstream: Hostaway, mode: str):
    upstream.reservations = {number: reservation(id=number) for number in (1, 2, 3)}
    upstream.mode = mode
    for number in (1, 2, 3):
        post(event({"id": number}))
    post(event(reservation(id=8)))
    for _ in range(5):
        sweep(upstream)
    assert [seen.path for seen in upstream.requests if "reservations" in seen.path] == ["/reservations/1"] * 5
    assert guest(8) == "Ada"
    upstream.mode = ""
    sweep(upstream)
    assert [guest(number) for number in (1, 2, 3)] == ["Ada"] * 3


@pytest.mark.usefixtures("adopted")
def test_many_events_of_one_reservation_cost_one_call(upstream: Hostaway):
    upstream.reservations = {7: reservation()}
    for number in range(5):
        post(event({"id": 7, "number": number}))
    assert sweep(upstream) == 5
    assert len(upstream.calls("/reservations/7")) == 1


@pytest.mark.usefixtures("adopted")
def test_an_event_that_kills_its_worker_is_given_up_after_three(upstream: Hostaway):
    post(event(reservation()))
    WebhookEvent.objects.update(attempts=3)
    sweep(upstream)
    assert WebhookEvent.objects.get().outcome == "failed"
    assert guest() is None


@pytest.mark.usefixtures("adopted")
def test_one_sweep_at_a_time(upstream: Hostaway):
    post(event(reservation()))
    Lease.objects.create(name=webhook_events.LEASE, holder="another", until=timezone.now() + timedelta(minutes=1))
    assert sweep(upstream) == 0
    assert guest() is None


def test_events_are_purged_after_a_week():
    post(event(reservation()))
    WebhookEvent.objects.update(received_at=timezone.now() - timedelta(days=6))
    assert webhook_events.purge() == 0
    WebhookEvent.objects.update(received_at=timezone.now() - timedelta(days=8))
    assert webhook_events.purge() == 1
