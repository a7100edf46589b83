"""The store: upstream's objects whole, columns as far as they can be read, texts kept for who is reading them."""

import hashlib
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import orjson
import pytest
from django.utils import timezone

from context_protection.core import tokens
from gateway.connectors.hostaway import pieces, store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.models import Booking, Document, DocumentContent, Listing, Transaction
from gateway.connectors.hostaway.tasks import RETENTION, purge_unused_contents
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db


def saved(mapped: Any, *objects: dict[str, Any]) -> Any:
    counts = list(store.save(mapped, objects))
    assert counts[-1:] == [len(objects)]
    return mapped.model.objects.get(id=objects[-1]["id"])


def test_columns_are_read_from_upstreams_names():
    booking = saved(
        BOOKINGS,
        {
            "id": 1,
            "status": "modified",
            "guestName": "Ada",
            "arrivalDate": "2026-11-20",
            "departureDate": "2026-11-23 10:00:00",
            "totalPrice": 1234.5,
            "currency": "EUR",
            "listingMapId": 200285,
            "insertedOn": "2026-01-02 03:04:05",
        },
    )
    assert (booking.status, booking.source_status) == ("confirmed", "modified")
    assert (booking.check_in, booking.check_out) == (date(2026, 11, 20), date(2026, 11, 23))
    assert (booking.total_price, booking.property_id) == (Decimal("1234.5"), 200285)
    assert booking.inserted_on == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


ODD: list[Any] = [
    None, "", "nothing", "NaN", "nan", "Infinity", "-inf", "1e400", "0000-00-00", "2026-13-40", -1, 0, 1.5, 1e30,
    10**12, True, [], [1], {}, {"a": 1}, "x" * 5000, "a\0b", "😀", "１２",
    "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00",
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda value: str(value)[:20].encode("unicode_escape").decode())
@pytest.mark.parametrize("mapped", [BOOKINGS, LISTINGS, TRANSACTIONS], ids=lambda mapped: mapped.model.__name__)
def test_what_cannot_be_read_as_a_column_is_still_whole_and_can_be_listed(mapped: Any, odd: Any, doors: Doors):
    """Upstream's fields hold anything; no value of theirs stops a sync, or a list afterwards."""
    shape = {Booking: BOOKINGS.shape, Listing: LISTINGS.shape, Transaction: TRANSACTIONS.shape}[mapped.model]
    names = {field.source for field in (*shape.row, *shape.preview)} - {"id"}
    names |= {"nights", "numberOfGuests", "bedroomsNumber", "channelName", "insertedOn"}
    upstream = {"id": 5, **dict.fromkeys(sorted(names), odd)}
    row = saved(mapped, upstream)
    assert orjson.loads(row.data) == orjson.loads(orjson.dumps(upstream))
    answer = doors.rest(f"list_{shape.name}s", {"order": "id", "limit": 1, "fields": "id"})
    assert answer["items"] == [{"id": 5}]
    assert "error" not in doors.rest(f"list_{shape.name}s", {"order": "id", "limit": 200})
    assert crawler.record(doors.rest, f"get_{shape.name}", {"id": 5})["id"] == 5


def test_the_same_object_again_replaces_the_one_that_stands_and_keeps_its_place():
    first = saved(BOOKINGS, {"id": 1, "guestName": "Ada", "status": "new"})
    second = saved(BOOKINGS, {"id": 1, "guestName": "Grace", "status": "cancelled"})
    assert (second.seq, second.guest_name, second.status) == (first.seq, "Grace", "cancelled")
    assert orjson.loads(second.data)["guestName"] == "Grace"
    assert Booking.objects.filter(id=1).count() == 1


def test_of_the_same_object_twice_in_a_row_the_last_stands():
    booking = saved(BOOKINGS, {"id": 1, "guestName": "Ada"}, {"id": 1, "guestName": "Grace"})
    assert booking.guest_name == "Grace"
    assert Booking.objects.filter(id=1).count() == 1


def test_a_later_object_stands_above_an_earlier_one():
    """What a walk's watermark is taken of."""
    first = saved(BOOKINGS, {"id": 2})
    second = saved(BOOKINGS, {"id": 1})
    assert second.seq > first.seq


def test_batches_are_counted_as_they_are_stored():
    counts = list(store.save(BOOKINGS, ({"id": n} for n in range(1, 2502))))
    assert counts == [1000, 2000, 2501]
    assert list(store.save(BOOKINGS, [])) == []


def test_sizes_are_those_of_what_leaves():
    listing = saved(LISTINGS, {"id": 1, "name": "静かな部屋", "wifiPassword": "s3cret", "doorSecurityCode": ""})
    masked = '{"id":1,"name":"静かな部屋","wifiPassword":"[withheld: Wi-Fi password]","doorSecurityCode":""}'
    assert (listing.data, listing.chars, listing.field_count) == (masked, len(masked), 4)


def test_an_object_without_a_time_of_creation_is_the_oldest():
    assert saved(BOOKINGS, {"id": 1}).inserted_on.year == 1970


# -- Texts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2), ("\n", 1)])
def test_a_text_is_stored_with_its_figures(text: str, lines: int):
    store.save_document("a.txt", "A", "text/plain", text)
    document = Document.objects.get(id="a.txt")
    assert (document.lines, document.bytes) == (lines, len(text.encode()))
    assert document.estimated_tokens == tokens.formula(text)
    assert text_of("a.txt") == text


def content(text: str) -> DocumentContent:
    return DocumentContent.objects.get(digest=hashlib.sha256(text.encode()).hexdigest())


def is_stored(text: str) -> bool:
    return DocumentContent.objects.filter(digest=hashlib.sha256(text.encode()).hexdigest()).exists()


def text_of(name: str) -> str:
    return "".join(pieces.parts(Document.objects.get(id=name).content_id))


def test_a_replaced_text_is_kept_for_who_reads_it_and_purged_later():
    store.save_document("a.txt", "A", "text/plain", "first")
    store.save_document("a.txt", "A", "text/plain", "second")
    old = content("first")
    assert old.unused_since is not None
    assert purge_unused_contents() == 0, "cursors may still point into it"
    DocumentContent.objects.filter(digest=old.digest).update(
        unused_since=timezone.now() - RETENTION - timedelta(minutes=1)
    )
    assert purge_unused_contents() == 1
    assert not is_stored("first")
    assert text_of("a.txt") == "second"


def test_a_text_that_is_used_again_is_not_purged():
    for text in ("first", "second", "first"):
        store.save_document("a.txt", "A", "text/plain", text)
    assert content("first").unused_since is None
    DocumentContent.objects.update(unused_since=timezone.now() - 2 * RETENTION)  # as an interrupted sweep may leave it
    purge_unused_contents()
    assert is_stored("first")
    assert not is_stored("second")


def test_two_documents_of_one_text_share_it_until_both_are_gone():
    store.save_document("a.txt", "A", "text/plain", "same")
    store.save_document("b.txt", "B", "text/plain", "same")
    store.save_document("a.txt", "A", "text/plain", "other")
    assert content("same").unused_since is None


def test_a_walk_goes_on_through_a_text_that_was_cleared_from_the_account(doors: Doors):
    name = "house-manual.md"
    before = text_of(name)
    first = doors.rest("read_document", {"id": name})
    text, answer = first["content"], first
    store.save_document(name, "House manual", "text/markdown", "all new")
    while "nextCursor" in answer:
        answer = doors.rest("read_document", {"id": name, "cursor": answer["nextCursor"]})
        text += answer["content"]
    assert text == before


def test_clearing_empties_the_account_and_keeps_texts_for_a_while():
    contents = DocumentContent.objects.count()
    store.clear()
    assert not Booking.objects.exists()
    assert not Listing.objects.exists()
    assert not Document.objects.exists()
    assert DocumentContent.objects.exclude(unused_since=None).count() == contents
