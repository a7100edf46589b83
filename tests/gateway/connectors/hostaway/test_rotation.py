"""`manage.py rotate_credentials` takes along what is sealed in the store: afterwards the former key can go."""

from io import StringIO
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from context_protection.core.redaction.visibility import Visibility
from gateway.connectors.hostaway import originals, store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.models import Booking, Listing, WebhookEvent
from gateway.upstreams.auth import rotation
from gateway.upstreams.auth.vault import Vault, vault

pytestmark = pytest.mark.django_db
OLD, NEW, GONE = "old-key-" * 5, "new-key-" * 5, "gone-key-" * 5
BOOKING_COUNT, REVEAL = 7, Visibility(frozenset({"doorCode"}))
EVENT = {"event": "reservation.updated", "data": {"id": 1, "doorCode": "Zx990q"}}


@pytest.fixture
def account(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of an account, sealed with the old key, read three at a time; then a new key goes before it."""
    monkeypatch.setattr(rotation, "BATCH", 3)
    store.clear_objects()
    settings.CREDENTIAL_KEYS = [OLD]
    bookings: list[dict[str, Any]] = [{"id": n, "doorCode": f"Zx{n}q"} for n in range(1, BOOKING_COUNT + 1)]
    list(store.save(BOOKINGS, [*bookings, {"id": 99, "guestName": "Ada"}]))
    list(store.save(LISTINGS, [{"id": 1, "name": "Loft", "wifiPassword": "Zx100q"}]))
    body = vault().seal(orjson.dumps(EVENT).decode())
    WebhookEvent.objects.create(digest="0" * 64, body=body, received_at=timezone.now())
    settings.CREDENTIAL_KEYS = [NEW, OLD]


def rotate(*arguments: str) -> str:
    said = StringIO()
    call_command("rotate_credentials", *arguments, stdout=said)
    return said.getvalue()


def door_codes() -> list[str]:
    rows = Booking.objects.filter(id__lte=BOOKING_COUNT).order_by("id")
    return [originals.restored(row.data, row.sealed, REVEAL)["doorCode"] for row in rows]


def test_after_a_rotation_the_former_key_can_go(account: None, settings: Any):
    with pytest.raises(CommandError, match="A former key is still needed"):
        rotate("--check")
    assert rotate().startswith(f"0 sealed with the newest key, {BOOKING_COUNT + 2} sealed again, 0 cannot be opened.")
    settings.CREDENTIAL_KEYS, settings.SECRET_KEY = [NEW], GONE
    assert door_codes() == [f"Zx{n}q" for n in range(1, BOOKING_COUNT + 1)]
    loft = Listing.objects.get()
    assert (
        originals.restored(loft.data, loft.sealed, Visibility(frozenset({"wifiPassword"})))["wifiPassword"] == "Zx100q"
    )
    assert orjson.loads(vault().open(WebhookEvent.objects.get().body, upstream="Hostaway")) == EVENT
    assert rotate("--check").startswith(f"{BOOKING_COUNT + 2} sealed with the newest key, 0 sealed with a former key")


class Killed(BaseException):
    """As by a signal: no handler of ours sees it."""


@pytest.mark.parametrize("after", [0, 2, 3, 5])
def test_a_rotation_that_is_killed_halfway_goes_on_with_the_rest(account: None, settings: Any, after: int):
    written = 0

    def killer(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal written
        if sql.startswith("UPDATE"):
            if written == after:
                raise Killed
            written += 1
        return execute(sql, params, many, context)

    with connection.execute_wrapper(killer), pytest.raises(Killed):
        rotate()
    assert door_codes() == [f"Zx{n}q" for n in range(1, BOOKING_COUNT + 1)]
    assert rotate().startswith(f"{after} sealed with the newest key, {BOOKING_COUNT + 2 - after} sealed again")
    settings.CREDENTIAL_KEYS = [NEW]
    assert door_codes() == [f"Zx{n}q" for n in range(1, BOOKING_COUNT + 1)]


def test_rows_are_read_in_batches_and_nothing_but_what_is_sealed(account: None):
    with CaptureQueriesContext(connection) as queries:
        rotate()
    read = [
        query["sql"] for query in queries if query["sql"].startswith("SELECT") and "hostaway_booking" in query["sql"]
    ]
    assert len(read) == 4, "three batches, and one that is empty or not full"
    assert all("LIMIT 3" in sql and '"data"' not in sql for sql in read)
    assert not any(f"Zx{n}q" in str(queries.captured_queries) for n in range(1, BOOKING_COUNT + 1))


def test_an_object_that_a_sync_writes_meanwhile_is_the_syncs(account: None):
    """Between reading and writing of the first batch, upstream's code has changed."""
    done: list[bool] = []

    def meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("UPDATE") and "hostaway_booking" in sql and not done:
            done.append(True)
            list(store.save(BOOKINGS, [{"id": n, "doorCode": "Zx777q"} for n in (1, 2)]))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(meanwhile):
        rotate()
    assert done
    assert door_codes()[:2] == ["Zx777q", "Zx777q"]


def test_values_that_no_key_opens_are_counted_and_do_not_stop_the_rest(account: None):
    Booking.objects.filter(id=3).update(sealed=Vault([GONE]).seal("[]"))
    said = rotate()
    assert f"{BOOKING_COUNT + 1} sealed again, 1 cannot be opened." in said
    assert "hostaway_sync --full" in said
    assert rotate("--check").startswith(
        f"{BOOKING_COUNT + 1} sealed with the newest key, 0 sealed with a former key, 1 cannot"
    )
