"""A caller that does what an error says, and nothing more, succeeds (N-SC-003, N-SC-004)."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context_protection.core.errors import CallError
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking
from tests.doors import Doors
from tests.gateway.mistakes import Mistake, followed

pytestmark = pytest.mark.django_db

BAD: list[tuple[str, dict[str, Any]]] = [
    # misspelt names
    *(
        ("list_bookings", {wrong: 5})
        for wrong in ("limt", "Limit", "LIMIT", "page_size_limit", "limits", "lmit", "_limit", "max_limit")
    ),
    *(
        ("list_bookings", {wrong: "2026-11-01"})
        for wrong in ("checkinFrom", "check_in_from", "checkInFrm", "checkin_from", "CheckInFrom", "checkInfrom")
    ),
    *(("list_bookings", {wrong: "smith"}) for wrong in ("guest_name", "guestname", "guest", "name", "GuestName")),
    *(("list_listings", {wrong: "porto"}) for wrong in ("citty", "City", "town_city", "citi")),
    *(("list_transactions", {wrong: "paid"}) for wrong in ("Status", "stauts", "statuss", "state")),
    *(("list_bookings", {wrong: "-totalPrice"}) for wrong in ("orderBy", "order_by", "oder", "sort_order", "Order")),
    *(("list_bookings", {wrong: "id,status"}) for wrong in ("field", "Fields", "feilds")),
    # values that are near
    *(("list_bookings", {"status": wrong}) for wrong in ("Confirmed", "canceled", "CONFIRMED", "confirm", "inquiri")),
    *(
        ("list_bookings", {"order": wrong})
        for wrong in ("price", "-price", "totalprice", "-TotalPrice", "checkIn", "created", "insertedon", "guest")
    ),
    *(("list_listings", {"order": wrong}) for wrong in ("prices", "Name", "-bedroom", "guests", "random")),
    *(("list_bookings", {"format": wrong}) for wrong in ("csv", "tables", "json", "Table", "item")),
    # values of another type
    *(("list_bookings", {"limit": wrong}) for wrong in ("10", "ten", 0, -5, 10_000, 2.5, True, [10], {"max": 3})),
    *(("list_bookings", {"propertyId": wrong}) for wrong in ("200285", "200285.0", "all", [200285])),
    *(("list_bookings", {"minTotalPrice": wrong}) for wrong in ("1000", "1000.50", "EUR 1000", None, "cheap")),
    *(("get_booking", {"id": wrong}) for wrong in ("43000003", 43000003.0, "43000003.0")),
    *(
        ("list_bookings", {"checkInFrom": wrong})
        for wrong in ("2026/11/20", "20.11.2026", "20261120", "2026-11-20T10:00:00Z", "11/20/2026", "2026-11-31")
    ),
    *(("list_bookings", {"checkInTo": wrong}) for wrong in ("tomorrow", "Nov 20 2026", "2026-13-01", "")),
    ("list_bookings", {"checkInFrom": "2026-12-31", "checkInTo": "2026-12-01"}),
    ("list_transactions", {"minAmount": 500, "maxAmount": 100}),
    # fields, cursors, operations
    *(("get_booking", {"id": 43000003, "fields": wrong}) for wrong in ("gest", "financials", "guestNam", "statuss")),
    *(("list_bookings", {"fields": wrong}) for wrong in ("idd", "guest_name", "totalPrise")),
    *(("list_bookings", {"cursor": wrong}) for wrong in ("abc", "1", "", "nextCursor")),
    *((wrong, {}) for wrong in ("list_booking", "listBookings", "bookings_list", "get_bookings", "list_documnts")),
    *(("list_bookings", {"where": wrong}) for wrong in ({"statuss": "new"}, {"totalPrice": {"gt": 5, "above": 3}})),
    *(("list_bookings", {"aggregate": wrong}) for wrong in ({"groupBy": ["statuss"], "metrics": [{"op": "count"}]},)),
]  # fmt: skip

KNOWN_FROM_ROWS = {"fields", "where", "aggregate"}  # their names may be upstream's own
UNKNOWN_OPERATION = re.compile(r"Did you mean (\S+?)\?")


def corrected(operation: str, arguments: dict[str, Any], doors: Doors) -> bool:
    """Whether the call succeeds, or does so once its error's suggestion is followed word by word."""
    answer = doors.post(operation, arguments)
    if "error" not in answer:
        return True
    if answer["error"]["reason"] == "unknown_operation":
        found = UNKNOWN_OPERATION.match(answer["error"]["data"]["suggestion"])
        return found is not None and "error" not in doors.post(found[1], arguments)
    again = followed(answer["error"], Mistake("written by hand", operation, arguments), doors.post)
    return again is not None and "error" not in again


def test_a_mistake_that_is_not_understood_is_caught_before_anything_is_fetched(caller: Caller):
    late = []
    serve_blocking(Call("list_listings", {}, caller, Transport.REST, hints.mcp))  # loads the configuration
    for operation, arguments in BAD:
        with CaptureQueriesContext(connection) as queries:
            try:
                serve_blocking(Call(operation, arguments, caller, Transport.REST, hints.mcp))
            except CallError:
                late += [(operation, arguments)] if queries and not KNOWN_FROM_ROWS & arguments.keys() else []
    assert late == []


def test_nine_of_ten_callers_who_follow_the_words_succeed(doors: Doors):
    assert len(BAD) >= 100
    failed = [call for call in BAD if not corrected(*call, doors)]
    assert len(failed) <= 0.1 * len(BAD), failed
