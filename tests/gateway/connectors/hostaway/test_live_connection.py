"""The live account from the environment on: credentials, tokens, the task, the command."""

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client as Browser
from django.utils import timezone

from gateway.connectors.hostaway import live, live_connection, tasks
from gateway.connectors.hostaway.client import DEEPEST_ROW
from gateway.connectors.hostaway.models import Booking, Listing, SyncState, Transaction, WebhookEvent
from gateway.upstreams.auth.vault import vault
from gateway.upstreams.registry import upstreams
from tests.gateway.connectors.hostaway.test_too_deep import nested
from tests.gateway.connectors.hostaway.test_webhooks import event, reservation
from tests.simulators.hostaway import ACCOUNT_ID, SECRET, Hostaway, hostaway

pytestmark = pytest.mark.django_db


@pytest.fixture
def upstream(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hostaway]:
    """The account that the settings name. With its rates, a test would wait: Redis counts earlier tests too."""
    monkeypatch.setattr(live_connection, "RATES", ())
    with hostaway(token_delay=0.9) as running:
        running.fill(listings=3, reservations=120, charges=5)
        settings.HOSTAWAY_BASE_URL = f"{running.url}/"
        settings.HOSTAWAY_ACCOUNT_ID, settings.HOSTAWAY_API_SECRET = ACCOUNT_ID, SECRET
        yield running
    live_connection.client.cache_clear()
    upstreams.remove(live_connection.NAME)


@pytest.mark.parametrize(("identifier", "secret"), [("", ""), (ACCOUNT_ID, ""), ("", SECRET)])
def test_without_credentials_the_sample_account_stays(settings: Any, identifier: str, secret: str):
    settings.HOSTAWAY_ACCOUNT_ID, settings.HOSTAWAY_API_SECRET = identifier, secret
    before = Booking.objects.count()
    assert live.account() is None
    assert tasks.sync() == ""
    assert tasks.apply_webhooks() == 0
    assert Booking.objects.count() == before
    with pytest.raises(CommandError, match="HOSTAWAY_ACCOUNT_ID"):
        call_command("hostaway_sync")


def test_the_task_keeps_the_copy_with_one_token_that_is_used_when_it_is_usable(
    upstream: Hostaway, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    assert [tasks.sync(), tasks.sync()] == ["done", "done"]
    assert Booking.objects.count() == 120
    assert len(upstream.calls("/accessTokens")) == 1
    assert {seen.status for seen in upstream.requests} == {200}
    shown = caplog.text + repr(live.account()) + repr([vars(record) for record in caplog.records])
    assert SECRET not in shown
    assert not any(token in shown for token in upstream.tokens)


def test_the_task_applies_webhooks(upstream: Hostaway):
    tasks.sync()
    upstream.reservations[7] = reservation(guestName="Grace")
    body, received = vault().seal(json.dumps(event({"id": 7}))), timezone.now() - timedelta(days=8)
    WebhookEvent.objects.create(event="reservation.created", body=body, received_at=received)
    assert tasks.apply_webhooks() == 1
    assert Booking.objects.get(id=7).guest_name == "Grace"
    assert tasks.purge_webhooks() == 1


def test_the_command_shows_its_progress_and_reads_everything_anew_where_that_is_asked(upstream: Hostaway):
    out = StringIO()
    call_command("hostaway_sync", stdout=out)
    assert "reservations: 100 of 120" in out.getvalue()
    assert "reservations: 120 of 120" in out.getvalue()
    assert "charges: as of " in out.getvalue()
    assert (Booking.objects.count(), Listing.objects.count(), Transaction.objects.count()) == (120, 3, 5)
    whole = [seen for seen in upstream.calls("/reservations") if "latestActivityStart" not in seen.query]
    call_command("hostaway_sync", "--full", stdout=out)
    again = [seen for seen in upstream.calls("/reservations") if "latestActivityStart" not in seen.query]
    assert (len(whole), len(again)) == (2, 4)


def test_the_command_says_what_upstream_fails_at(upstream: Hostaway):
    upstream.modes["/reservations"] = "garbage"
    upstream.finance_status = 403
    with pytest.raises(CommandError, match=r"Not all was read \(reservations: upstream_garbled\)"):
        call_command("hostaway_sync", stdout=StringIO())
    upstream.modes["/listings"] = "failing"
    with pytest.raises(CommandError, match=r"listings: upstream_failed.*continues there"):
        call_command("hostaway_sync", stdout=StringIO())


def test_the_command_tries_again_what_is_paused(upstream: Hostaway):
    upstream.modes["/reservations"] = "garbage"
    for attempt in (1, 2, 3, 4):
        with pytest.raises(CommandError) as failed:
            call_command("hostaway_sync", stdout=StringIO())
        assert len(upstream.calls("/reservations")) == attempt
        assert ("The worker tries it again after " in str(failed.value)) is (attempt == 3)
    upstream.modes.clear()
    SyncState.objects.filter(resource="reservations").update(retry_at=timezone.now() + timedelta(hours=1))
    call_command("hostaway_sync", stdout=StringIO())
    assert Booking.objects.count() == 120


def test_the_command_names_what_is_left_out_and_fails(upstream: Hostaway, admin_client: Browser):
    deep = min(upstream.reservations)
    upstream.reservations[deep]["deep"] = nested(DEEPEST_ROW)
    with pytest.raises(CommandError, match=rf"reservations {deep} \(too_deep\)"):
        call_command("hostaway_sync", stdout=StringIO())
    assert tasks.sync() == "incomplete"
    assert str(deep) in admin_client.get("/admin/hostaway/syncstate/reservations/change/").text


def test_health_finds_the_upstream(upstream: Hostaway):
    tasks.sync()
    found = upstreams.get(live_connection.NAME)
    assert found is not None
    assert found.state().last_success_at is not None
    assert SyncState.objects.filter(error="").count() == 3
