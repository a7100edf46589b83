"""Hostaway's prompts: common jobs of people who run short-term rentals.

Each prompt uses the cheapest calls: totals by `aggregate`, rows by `where` with only the fields that matter, and large
results behind a handle. Calls set no page size other than one row, as ops set the range of `limit`.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from context_protection.core.budget import dumps
from context_protection.core.errors import InvalidArgument, nearest
from gateway.catalog.prompts import Prompt, PromptArgument, call, written
from gateway.connectors.hostaway import completion, statuses
from gateway.connectors.hostaway.models import Booking, Document, Listing

LONGEST_WORDS = 60  # characters to search for
MOST_DAYS = 365
SHOWN_NAME = 60  # characters
HANDLE = "(meta.resultHandle of call 1)"
CONFIRMED = {"status": statuses.CONFIRMED}

# -- Arguments --------------------------------------------------------------------------------------


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
        """The condition that a booking begins in this month."""
        return {"checkInDate": {"gte": self.first, "lte": self.last}}

    def __str__(self) -> str:
        return self.first.isoformat()[:7]


def _today() -> date:
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


def _day(name: str, text: str) -> date:
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:
        pass  # no such day in the calendar: rejected like any other text
    raise _wrong(name, text, "a date as YYYY-MM-DD", f"Set {name} to a date such as {_today()}.")


def _month(name: str, text: str) -> Month:
    match = re.fullmatch(r"([0-9]{4})-(0[1-9]|1[0-2])", text)
    # Python's calendar has no month before its first year and none after its last.
    if match is None or not date.min.year < int(match[1]) < date.max.year:
        raise _wrong(name, text, "a month as YYYY-MM", f"Set {name} to a month such as {Month(_today())}.")
    return Month(date(int(match[1]), int(match[2]), 1))


def _days(name: str, text: str) -> int:
    if re.fullmatch(r"[0-9]{1,3}", text) and 1 <= int(text) <= MOST_DAYS:
        return int(text)
    raise _wrong(name, text, f"a whole number of days from 1 to {MOST_DAYS}", f"Set {name} to 14.")


def _status(name: str, text: str) -> str:
    if text in statuses.CANONICAL:
        return text
    close = nearest(text, statuses.CANONICAL, cutoff=0.4) or statuses.CONFIRMED
    raise _wrong(name, text, f"one of: {', '.join(statuses.CANONICAL)}", f"Set {name} to {close}.")


def _words(name: str, text: str) -> str:
    is_plain = not any(unicodedata.category(each) == "Cc" and each not in "\n\t" for each in text)
    if is_plain and len(text) <= LONGEST_WORDS:
        return text
    raise _wrong(name, text, f"a text of at most {LONGEST_WORDS} characters", f"Set {name} to a word or two of it.")


def _booking(name: str, text: str) -> Booking:
    bookings = Booking.objects.only("id", "property_id", "check_in", "check_out")
    booking = bookings.filter(id=int(text)).first() if re.fullmatch("[0-9]{1,18}", text) else None
    if booking is None:
        raise _wrong(name, text, "the id of a booking of the account", "Find the id with list_bookings.")
    return booking


def _listing(name: str, text: str) -> Listing:
    listings = Listing.objects.only("id", "name")
    if re.fullmatch("[0-9]{1,18}", text) and (listing := listings.filter(id=int(text)).first()):
        return listing
    named = list(listings.filter(name__iexact=text).order_by("id")[:5])
    if len(named) == 1:
        return named[0]
    expected = "the id of a listing of the account, or the name of just one"
    if named:
        raise _wrong(name, text, expected, f"Set {name} to one of: {', '.join(str(each.id) for each in named)}.")
    close = nearest(text, listings.values_list("name", flat=True)[: completion.MOST])
    suggestion = f"Did you mean {close[:SHOWN_NAME]}?" if close else "Find the id with list_listings."
    raise _wrong(name, text, expected, suggestion)


def _text_document(name: str, text: str) -> str:
    if Document.objects.filter(id=text, content__isnull=False).exists():
        return text
    close = nearest(text, completion.text_ids("", {}))
    suggestion = f"Did you mean {close}?" if close else "Find the id with list_documents."
    raise _wrong(name, text, "the id of a text among the documents", suggestion)


def _period(name: str, text: str) -> str:
    """A day or a month, as the lines of a log write it; empty for all of the log."""
    if text == EVER:
        return ""
    return str(_month(name, text)) if len(text) == len("2026-11") else str(_day(name, text))


EVER = "all"


def _month_argument() -> PromptArgument:
    return PromptArgument("month", "Month", "A month as YYYY-MM.", _month, completion.months)


def _booking_argument() -> PromptArgument:
    return PromptArgument("booking", "Booking", "The booking's id.", _booking, completion.booking_ids)


def _always(text: str) -> Callable[[], str]:
    return lambda: text


# -- One day ----------------------------------------------------------------------------------------


def _arrivals(date: date) -> str:
    arriving, leaving = {**CONFIRMED, "checkInDate": date}, {**CONFIRMED, "checkOutDate": date}
    return written(
        f"Review the arrivals of {date}.",
        [
            call(
                "list_bookings",
                where=arriving,
                fields="id,guestName,propertyId,propertyName,nights,numberOfGuests,guestNote,hostNote",
            ),
            _by("list_bookings", arriving, "id", "propertyId", "checkInTime", "paymentStatus"),
            _by("list_bookings", leaving, "id", "propertyId", "checkOutTime"),
        ],
        check="which listings are left and entered on the same day (a propertyId of call 3 in call 2), and whether "
        "fewer than four hours lie between checkOutTime and checkInTime; two arrivals at one listing: an overbooking; "
        "a paymentStatus that is not Paid; wishes in guestNote and hostNote that somebody has to act on.",
        report="a table by listing (booking id, guest, guests, nights, check-in, turnover yes or no, payment), then "
        "the things to do today, the most urgent first. If nobody arrives, say so.",
    )


def _by(operation: str, where: Mapping[str, Any], *names: str, **aggregate: Any) -> str:
    """One row with just these fields for each group. Unlike `fields`, this accepts upstream's own names even when there
    are no rows."""
    return call(operation, where=where, aggregate={"groupBy": names, **aggregate})


def _unpaid_arrivals(days: int) -> str:
    where = {
        **CONFIRMED,
        "checkInDate": {"gte": _today(), "lte": _today() + timedelta(days=days)},
        "paymentStatus": {"in": ["Unpaid", "Partially paid"]},
    }
    total = {"op": "sum", "field": "totalPrice", "as": "total"}
    return written(
        f"Find confirmed bookings that arrive within {days} days and are not paid.",
        [
            _by("list_bookings", where, "paymentStatus", metrics=[{"op": "count", "as": "bookings"}, total]),
            _by(
                "list_bookings",
                where,
                *("checkInDate", "id", "channel", "paymentStatus"),
                metrics=[total],
                orderBy="checkInDate",
            ),
        ],
        check="who arrives within three days; the largest totals of each currency (never add currencies up); channels "
        "that collect from the guest themselves, such as airbnbOfficial, where nothing need be asked of the guest.",
        report="the totals by currency, then a table in order of arrival (booking id, arrival, total, currency, "
        "status, channel), each with the next step: charge, remind, or leave to the channel.",
    )


# -- One booking ------------------------------------------------------------------------------------


def _audit_booking(booking: Booking) -> str:
    calls = [
        call(
            "get_booking",
            id=booking.id,
            fields="status,checkInDate,checkOutDate,nights,numberOfGuests,propertyId,channelName,totalPrice,currency,"
            "paymentStatus,confirmationCode,hostNote,guestNote",
        ),
        call("get_booking", id=booking.id, fields="policies"),
        call("list_transactions", bookingId=booking.id, fields="id,type,status,amount,currency,insertedOn"),
    ]
    if booking.property_id and booking.check_in and booking.check_out:
        where = {
            **CONFIRMED,
            "id": {"ne": booking.id},
            "propertyId": booking.property_id,
            "checkInDate": {"lt": booking.check_out},
            "checkOutDate": {"gt": booking.check_in},
        }
        calls.append(call("list_bookings", where=where, fields="id,checkInDate,checkOutDate,channelName"))
    return written(
        f"Audit booking {booking.id}.",
        calls,
        check="nights against the two dates; other confirmed stays at the listing in the same nights; what was charged "
        "and refunded against totalPrice and paymentStatus; transactions that failed or are long pending; a cancelled "
        "booking with money kept, or a confirmed one without any; open wishes in the notes.",
        report="one sentence whether the booking is in order, then each finding with the figures or ids that show it "
        "and what to do, the costliest first.",
    )


def _reconcile_booking(booking: Booking) -> str:
    totals = {
        "groupBy": ["type", "status"],
        "metrics": [{"op": "sum", "field": "amount", "as": "sum"}, {"op": "count"}],
    }
    return written(
        f"Reconcile the transactions of booking {booking.id} with its price.",
        [
            call(
                "get_booking",
                id=booking.id,
                fields="status,totalPrice,currency,paymentStatus,financeField.*.name,financeField.*.total,"
                "financeField.*.isIncludedInTotalPrice",
            ),
            call("list_transactions", bookingId=booking.id, aggregate=totals),
            call("list_transactions", bookingId=booking.id, fields="id,type,status,amount,currency,insertedOn"),
        ],
        check="that the fields of financeField with isIncludedInTotalPrice add up to totalPrice; paid charges less "
        "refunds against totalPrice; payouts against totalPrice less the channel's commission; charges that were made "
        "twice; what failed or is pending; another currency than the booking's.",
        report="a statement (price, charged, refunded, paid out, open) in the booking's currency, whether it balances, "
        "and each difference with the ids of its transactions.",
    )


# -- One month --------------------------------------------------------------------------------------


def _monthly_revenue(month: Month, status: str) -> str:
    both = {"gte": month.before.first, "lte": month.last}
    aggregate = {
        "groupBy": ["propertyId", {"field": "checkInDate", "bucket": "month"}],
        "metrics": [
            {"op": "sum", "field": "totalPrice", "as": "revenue"},
            {"op": "sum", "field": "nights", "as": "nights"},
            {"op": "count", "as": "bookings"},
        ],
        "orderBy": "-revenue",
    }
    return written(
        f"Report the revenue of {month} by listing (bookings that are {status}, by their day of arrival).",
        [
            call("list_bookings", where={"status": status, "checkInDate": both}, aggregate=aggregate),
            call("list_listings", fields="id,name"),
        ],
        check=f"{month} against {month.before} for each listing; revenue per night; listings without a booking in "
        f"{month}, which have no group. Never add or compare amounts of different currencies.",
        report="a table by currency (listing, bookings, nights, revenue, per night, change to the month before), the "
        "totals of each currency, and in two sentences what stands out.",
    )


def _occupancy(listing: Listing, month: Month) -> str:
    where = {
        **CONFIRMED,
        "propertyId": listing.id,
        "checkInDate": {"lte": month.last},
        "checkOutDate": {"gt": month.first},
    }
    within = (
        f"SELECT id, greatest(checkInDate, DATE '{month.first}') AS begins, "
        f"least(checkOutDate, DATE '{month.following}') AS ends"
    )
    nights = "date_diff('day', begins, ends)"
    return written(
        f"Find the occupancy of listing {listing.id}, {dumps(listing.name[:SHOWN_NAME]).decode()}, in {month}.",
        [
            call("list_bookings", where=where, limit=1, fields="id,checkInDate,checkOutDate"),
            call(
                "result_query",
                handle=HANDLE,
                sql=f"{within}, {nights} AS nights, sum({nights}) OVER () AS occupied FROM rows ORDER BY begins",
            ),
        ],
        of_handle=True,
        check=f"occupied / {month.days} is the occupancy; where a stay begins before the one above it ends, there is "
        "an overbooking. Without a resultHandle, call 1 shows the only stay, or that there is none: count its nights "
        "within the month yourself, and leave out call 2.",
        report="occupancy in percent with nights and stays, the gaps between stays that could still be sold (from, to, "
        "nights), and any overbooking with both ids.",
    )


def _find_in_notes(text: str, month: Month) -> str:
    return written(
        f"Find what guests and hosts wrote of a matter, in the bookings that arrive in {month}.",
        [
            call("list_bookings", where=month.arrivals, limit=1, fields="id,guestNote,hostNote"),
            call("result_search", handle=HANDLE, text=text),
        ],
        of_handle=True,
        check="only hits whose path is guestNote, hostNote or comment; leave out chance hits of the same letters. Try "
        "a second word for the matter, or the guests' language, with the same call. Without a resultHandle, call 1 "
        "shows the only booking, or that there is none.",
        report="how many bookings speak of it, then each with its id, what is said in a few words, and whether "
        "somebody has to act. Quote no contact data.",
    )


# -- Logs -------------------------------------------------------------------------------------------


def _log_issues(document: str, period: str) -> str:
    """`period`: how the lines of a day or a month begin; empty for all lines."""
    when = rf"\b{period}.*" if period else ""
    return written(
        f"Find what went wrong in the log, {f'in {period}' if period else 'in all of it'}.",
        [
            call("read_document", id=document, startLine=1, endLine=1),
            call("result_search", handle=HANDLE, regex=rf"{when}\b(ERROR|FATAL|CRITICAL)\b"),
            call("result_search", handle=HANDLE, regex=rf"{when}\bWARN(ING)?\b"),
        ],
        of_handle=True,
        check="meta.totalHits for how many there are. Read every error; of warnings the first page tells the kinds. "
        "Around an error, read ten lines before and after it with read_document and startLine, endLine. Errors that "
        "repeat are one issue: count them with a regex of their own words. Without a resultHandle, call 1 was all of "
        "the text.",
        report="the issues, the gravest first: what happened, how often, from when to when, with line numbers and the "
        "ids of bookings or listings; then the kinds of warnings with their counts; then what to look into next.",
    )


# -- The prompts ------------------------------------------------------------------------------------


def prompts() -> list[Prompt]:
    return [
        Prompt(
            name="arrivals",
            title="Today's arrivals",
            description="Who arrives on a day, turnovers, open payments and wishes.",
            arguments=(
                PromptArgument(
                    "date", "Date", "A date as YYYY-MM-DD; unset: today in UTC.", _day, default=lambda: str(_today())
                ),
            ),
            operations=("list_bookings",),
            write=_arrivals,
        ),
        Prompt(
            name="unpaid_arrivals",
            title="Unpaid bookings before arrival",
            description="Confirmed bookings that arrive soon and are not paid in full.",
            arguments=(
                PromptArgument("days", "Days", "How many days ahead; unset: 14.", _days, default=_always("14")),
            ),
            operations=("list_bookings",),
            write=_unpaid_arrivals,
        ),
        Prompt(
            name="audit_booking",
            title="Audit a booking",
            description="One booking's dates, price, payments, policies and notes, and whether they agree.",
            arguments=(_booking_argument(),),
            operations=("get_booking", "list_transactions", "list_bookings"),
            write=_audit_booking,
        ),
        Prompt(
            name="reconcile_booking",
            title="Reconcile a booking's transactions",
            description="What was charged, refunded and paid out for a booking, against its price.",
            arguments=(_booking_argument(),),
            operations=("get_booking", "list_transactions"),
            write=_reconcile_booking,
        ),
        Prompt(
            name="monthly_revenue",
            title="A month's revenue by listing",
            description="Revenue, nights and bookings of each listing, against the month before.",
            arguments=(
                _month_argument(),
                PromptArgument(
                    "status",
                    "Status",
                    f"The bookings' status; unset: {statuses.CONFIRMED}.",
                    _status,
                    completion.statuses,
                    _always(statuses.CONFIRMED),
                ),
            ),
            operations=("list_bookings", "list_listings"),
            write=_monthly_revenue,
        ),
        Prompt(
            name="occupancy",
            title="A listing's occupancy in a month",
            description="Occupied nights, gaps that could be sold, overbookings.",
            arguments=(
                PromptArgument("listing", "Listing", "The listing's id or name.", _listing, completion.listings),
                _month_argument(),
            ),
            operations=("list_bookings", "list_listings", "result_query"),
            write=_occupancy,
        ),
        Prompt(
            name="log_issues",
            title="Issues in a log",
            description="Errors and warnings of a log, grouped, with their lines.",
            arguments=(
                PromptArgument("document", "Document", "The log's id.", _text_document, completion.text_ids),
                PromptArgument(
                    "period",
                    "Period",
                    "A day or a month, as YYYY-MM-DD or YYYY-MM; unset: all.",
                    _period,
                    default=_always(EVER),
                ),
            ),
            operations=("read_document", "result_search"),
            write=_log_issues,
        ),
        Prompt(
            name="find_in_notes",
            title="Find in the notes of a month",
            description="What guests and hosts wrote of a matter (a pet, a cot, late arrival).",
            arguments=(
                PromptArgument("text", "Words", "A word or two to search for.", _words),
                _month_argument(),
            ),
            operations=("list_bookings", "result_search"),
            write=_find_in_notes,
        ),
    ]
