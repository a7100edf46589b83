"""The arguments of Hostaway's prompts: each is validated, and completed with values of the account."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from context_protection.core.errors import InvalidArgument, nearest
from gateway.catalog.prompts import PromptArgument
from gateway.connectors.hostaway import completion, statuses
from gateway.connectors.hostaway.models import Booking, Document, Listing

LONGEST_WORDS = 60  # characters of a search text
MAX_DAYS = 365
SHOWN_NAME = 60  # characters
EVER = "all"


@dataclass(frozen=True, slots=True)
class Month:
    first: date

    @property
    def following(self) -> date:
        """The first day of the next month."""
        return (self.first + timedelta(days=31)).replace(day=1)

    @property
    def last(self) -> date:
        return self.following - timedelta(days=1)

    @property
    def before(self) -> "Month":
        return Month((self.first - timedelta(days=1)).replace(day=1))

    @property
    def days(self) -> int:
        return (self.following - self.first).days

    @property
    def arrivals(self) -> dict[str, Any]:
        """The condition for bookings that begin in this month."""
        return {"checkInDate": {"gte": self.first, "lte": self.last}}

    def __str__(self) -> str:
        return self.first.isoformat()[:7]


def today() -> date:
    return datetime.now(UTC).date()


def _wrong(name: str, text: str, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        f"{name} must be {expected}.",
        reason=f"invalid_{name}",
        parameter=name,
        value=text,
        expected=expected,
        suggestion=suggestion,
    )


def day(name: str, text: str) -> date:
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:
        pass  # no such day in the calendar: rejected like any other invalid text
    raise _wrong(name, text, "a date as YYYY-MM-DD", f"Set {name} to a date such as {today()}.")


def month(name: str, text: str) -> Month:
    match = re.fullmatch(r"([0-9]{4})-(0[1-9]|1[0-2])", text)
    # Not the first and last years of Python's calendar, where a month may lack the one before or after it.
    if match is None or not date.min.year < int(match[1]) < date.max.year:
        raise _wrong(name, text, "a month as YYYY-MM", f"Set {name} to a month such as {Month(today())}.")
    return Month(date(int(match[1]), int(match[2]), 1))


def days(name: str, text: str) -> int:
    if re.fullmatch(r"[0-9]{1,3}", text) and 1 <= int(text) <= MAX_DAYS:
        return int(text)
    raise _wrong(name, text, f"a whole number of days from 1 to {MAX_DAYS}", f"Set {name} to 14.")


def status(name: str, text: str) -> str:
    for canonical in statuses.CANONICAL:
        if canonical.casefold() == text.casefold():
            return canonical
    close = nearest(text, statuses.CANONICAL, cutoff=0.4) or statuses.CONFIRMED
    raise _wrong(name, text, f"one of: {', '.join(statuses.CANONICAL)}", f"Set {name} to {close}.")


def words(name: str, text: str) -> str:
    if not any(unicodedata.category(each) == "Cc" and each not in "\n\t" for each in text):
        return text
    raise _wrong(name, text, "a text without control characters", f"Set {name} to one or two words.")


def booking(name: str, text: str) -> Booking:
    bookings = Booking.objects.only("id", "property_id", "check_in", "check_out")
    booking = bookings.filter(id=int(text)).first() if re.fullmatch("[0-9]{1,18}", text) else None
    if booking is None:
        raise _wrong(name, text, "the id of a booking of the account", "Find the id with list_bookings.")
    return booking


def listing(name: str, text: str) -> Listing:
    listings = Listing.objects.only("id", "name")
    if re.fullmatch("[0-9]{1,18}", text) and (listing := listings.filter(id=int(text)).first()):
        return listing
    named = list(listings.filter(name__iexact=text).order_by("id")[:5])
    if len(named) == 1:
        return named[0]
    expected = "the id of a listing of the account, or a name that only one listing has"
    if named:
        raise _wrong(name, text, expected, f"Set {name} to one of: {', '.join(str(each.id) for each in named)}.")
    close = nearest(text, listings.values_list("name", flat=True)[: completion.MOST])
    suggestion = f"Did you mean {close[:SHOWN_NAME]}?" if close else "Find the id with list_listings."
    raise _wrong(name, text, expected, suggestion)


def text_document(name: str, text: str) -> str:
    if Document.objects.filter(id=text, content__isnull=False).exists():
        return text
    close = nearest(text, completion.text_ids("", {}))
    suggestion = f"Did you mean {close}?" if close else "Find the id with list_documents."
    raise _wrong(name, text, "the id of a document that is text", suggestion)


def period(name: str, text: str) -> str:
    """A day or a month as written in log lines; empty for the whole log."""
    if text == EVER:
        return ""
    try:
        return str(month(name, text)) if len(text) == len("2026-11") else str(day(name, text))
    except InvalidArgument:
        expected = f"a day as YYYY-MM-DD, a month as YYYY-MM, or {EVER}"
        raise _wrong(name, text, expected, f"Set {name} to a day such as {today()}.") from None


def month_argument() -> PromptArgument:
    return PromptArgument("month", "Month", "A month as YYYY-MM.", month, completion.months)


def booking_argument() -> PromptArgument:
    return PromptArgument("booking", "Booking", "The booking's id.", booking, completion.booking_ids)


def always(text: str) -> Callable[[], str]:
    return lambda: text
