"""A caller that does what an error says, and nothing more, succeeds (N-SC-003, N-SC-004)."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from context_protection.core.errors import CallError
from gateway.catalog.caller import Caller
from gateway.connectors.hostaway.models import Booking, Listing
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking

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

RENAME = re.compile(r"^Did you mean (\S+?)\?")
LEAVE_OUT = re.compile(r"^Leave (\S+) out\b|^Start again without (\w+)|\bor leave it out\b")
SET = re.compile(r"^Set (\S+) to (?:a value such as )?(.+?)(?:, or leave it out)?\.$")
EXCHANGE = re.compile(r"^Exchange (\w+) and (\w+)\.")


def retried(operation: str, arguments: Mapping[str, Any], error: CallError) -> tuple[str, dict[str, Any]] | None:
    """The call as the error's words would have it. None: they cannot be followed without thinking."""
    data = error.document()["error"]["data"]
    words, parameter = data.get("suggestion", ""), data.get("parameter", "")
    rest = {name: value for name, value in arguments.items() if name != parameter}
    if error.reason == "unknown_operation":
        return (found[1], dict(arguments)) if (found := RENAME.match(words)) else None
    if found := EXCHANGE.match(words):
        low, high = found.groups()
        return operation, {**arguments, low: arguments[high], high: arguments[low]}
    if found := SET.match(words):
        return operation, {**arguments, found[1]: _typed(found[2])}
    if (found := RENAME.match(words)) and error.reason == "unknown_argument":
        return operation, {**rest, found[1]: arguments[parameter]}
    if found := RENAME.match(words):
        return operation, {**arguments, parameter: found[1]}
    if LEAVE_OUT.search(words):
        return operation, rest
    return None


def _typed(text: str) -> Any:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def succeeds(operation: str, arguments: Mapping[str, Any], caller: Caller, tries: int = 3) -> bool:
    for _ in range(tries):
        try:
            serve_blocking(Call(operation, arguments, caller, "rest", hints.mcp))
        except CallError as error:
            again = retried(operation, arguments, error)
            if again is None:
                return False
            operation, arguments = again
        else:
            return True
    return False


def test_nearly_every_mistake_is_caught_before_anything_is_fetched(caller: Caller, django_assert_max_num_queries: Any):
    caught = 0
    for operation, arguments in BAD:
        try:
            with django_assert_max_num_queries(0):
                serve_blocking(Call(operation, arguments, caller, "rest", hints.mcp))
        except CallError:
            caught += 1
        except (AssertionError, pytest.fail.Exception):
            continue
    assert caught >= 0.95 * len(BAD), f"{caught} of {len(BAD)}"


def test_four_of_five_callers_who_follow_the_words_succeed(caller: Caller):
    assert len(BAD) >= 100
    assert Booking.objects.exists()
    assert Listing.objects.exists()
    failed = [call for call in BAD if not succeeds(*call, caller)]
    assert len(failed) <= 0.1 * len(BAD), failed
