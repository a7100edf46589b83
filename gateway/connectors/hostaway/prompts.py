"""Hostaway's prompts: common tasks of people who run short-term rentals.

Each prompt uses the cheapest calls: totals by `aggregate`, rows by `where` with only the necessary fields, and large
results behind a handle. Calls set no `limit` other than 1, as ops staff configure its range.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from context_protection.core.budget import dumps
from gateway.catalog.prompts import Prompt, PromptArgument, PromptMessage, QuotedCall, call
from gateway.connectors.hostaway import completion, prompt_arguments, statuses
from gateway.connectors.hostaway.models import Booking, Listing
from gateway.connectors.hostaway.prompt_arguments import LONGEST_WORDS, SHOWN_NAME, Month

HANDLE, SECOND_HANDLE = "(meta.resultHandle of call 1)", "(meta.resultHandle of call 2)"
CONFIRMED = {"status": statuses.CONFIRMED}

# -- One day ----------------------------------------------------------------------------------------


def _arrivals(date: date) -> PromptMessage:
    arriving, leaving = {**CONFIRMED, "checkInDate": date}, {**CONFIRMED, "checkOutDate": date}
    return PromptMessage(
        f"Review the arrivals of {date}.",
        [
            call(
                "list_bookings",
                where=arriving,
                fields="id,guestName,propertyId,propertyName,nights,guests,guestNote,hostNote",
            ),
            _by("list_bookings", arriving, "id", "propertyId", "checkInTime", "paymentStatus"),
            _by("list_bookings", leaving, "id", "propertyId", "checkOutTime"),
        ],
        check="at which listings one guest leaves and another arrives on this day (a propertyId in calls 2 and "
        "3), and whether fewer than four hours lie between checkOutTime and checkInTime; two arrivals at one listing, "
        "which are an overbooking; a paymentStatus that is not Paid; wishes in guestNote and hostNote that somebody "
        "has to act on.",
        report="a table by listing (booking id, guest, guests, nights, check-in, turnover yes or no, payment), then "
        "the things to do today, the most urgent first. If nobody arrives, say so.",
    )


def _by(operation: str, where: Mapping[str, Any], *names: str, **aggregate: Any) -> QuotedCall:
    """A call that returns one row with only these fields for each group. Unlike `fields`, it accepts upstream's names
    even when there are no rows."""
    return call(operation, where=where, aggregate={"groupBy": names, **aggregate})


def _unpaid_arrivals(days: int) -> PromptMessage:
    where = {
        **CONFIRMED,
        "checkInDate": {"gte": prompt_arguments.today(), "lte": prompt_arguments.today() + timedelta(days=days)},
        "paymentStatus": {"in": ["Unpaid", "Partially paid"]},
    }
    total = {"op": "sum", "field": "totalPrice", "as": "total"}
    return PromptMessage(
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
        "that collect the payment themselves, such as airbnbOfficial, where the guest need not be asked to pay.",
        report="the totals by currency, then a table in order of arrival (booking id, arrival, total, currency, "
        "status, channel), each with the next step: charge, remind, or leave to the channel.",
    )


# -- One booking ------------------------------------------------------------------------------------


def _audit_booking(booking: Booking) -> PromptMessage:
    calls = [
        call(
            "get_booking",
            id=booking.id,
            fields="status,checkInDate,checkOutDate,nights,guests,propertyId,channel,totalPrice,currency,"
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
        calls.append(call("list_bookings", where=where, fields="id,checkInDate,checkOutDate,channel"))
    return PromptMessage(
        f"Audit booking {booking.id}.",
        calls,
        check="nights against the two dates; other confirmed stays at the listing in the same nights; what was charged "
        "and refunded against totalPrice and paymentStatus; transactions that failed or have been pending for long; a "
        "cancelled booking whose payment was not refunded, or a confirmed one without any payment; open wishes "
        "in the notes.",
        report="one sentence on whether the booking is in order, then each finding with the figures or ids that show "
        "it and what to do, the costliest first.",
    )


def _reconcile_booking(booking: Booking) -> PromptMessage:
    totals = {
        "groupBy": ["type", "status"],
        "metrics": [{"op": "sum", "field": "amount", "as": "sum"}, {"op": "count"}],
    }
    return PromptMessage(
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
        "twice; transactions that failed or are pending, or are in another currency than the booking.",
        report="a statement (price, charged, refunded, paid out, open) in the booking's currency, whether it balances, "
        "and each difference with the ids of its transactions.",
    )


# -- One month --------------------------------------------------------------------------------------


def _monthly_revenue(month: Month, status: str) -> PromptMessage:
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
    return PromptMessage(
        f"Report the revenue of {month} by listing (bookings that are {status}, by their day of arrival).",
        [
            call("list_bookings", where={"status": status, "checkInDate": both}, aggregate=aggregate),
            call("list_listings", fields="id,name"),
        ],
        check=f"{month} against {month.before} for each listing; revenue per night; listings without a booking in "
        f"{month}, which have no group. Never add or compare amounts of different currencies.",
        report="a table by currency (listing, bookings, nights, revenue, per night, change to the month before), the "
        "totals of each currency, and two sentences on what stands out.",
    )


def _revenue_by_city(month: Month) -> PromptMessage:
    sql = (
        "SELECT l.city, b.currency, count(*) AS bookings, sum(b.nights) AS nights, sum(b.totalPrice) AS revenue "
        "FROM b JOIN l ON b.propertyId = l.id GROUP BY ALL ORDER BY l.city, b.currency"
    )
    return PromptMessage(
        f"Report the revenue of {month} by city (confirmed bookings, by their day of arrival).",
        [
            call("list_bookings", where={**CONFIRMED, **month.arrivals}, format="handle"),
            call("list_listings", format="handle"),
            call("result_query", handles={"b": HANDLE, "l": SECOND_HANDLE}, sql=sql),
        ],
        check="revenue per night of each city. Never add or compare amounts of different currencies.",
        report="a table by currency (city, bookings, nights, revenue, per night), the totals of each currency, and "
        "two sentences on what stands out.",
    )


def _occupancy(listing: Listing, month: Month) -> PromptMessage:
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
    return PromptMessage(
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


def _find_in_notes(text: str, month: Month) -> PromptMessage:
    return PromptMessage(
        f"Find what guests and hosts wrote about a topic, in the bookings that arrive in {month}.",
        [
            call("list_bookings", where=month.arrivals, limit=1, fields="id,guestNote,hostNote"),
            call("result_search", handle=HANDLE, text=text),
        ],
        of_handle=True,
        check="only hits whose path is guestNote, hostNote or comment; leave out words that only contain the "
        "same letters. Try a second word for the topic, or the guests' language, with the same call. Without a "
        "resultHandle, call 1 shows the only booking, or that there is none.",
        report="how many bookings mention it, then each with its id, a summary in a few words, and whether "
        "somebody has to act. Quote no contact data.",
    )


# -- Logs -------------------------------------------------------------------------------------------


def _log_issues(document: str, period: str) -> PromptMessage:
    """`period`: the day or month of the lines, as the log writes it; empty for all lines."""
    when = rf"\b{period}.*" if period else ""
    return PromptMessage(
        f"Find what went wrong in the log, {f'in {period}' if period else 'in all of it'}.",
        [
            call("read_document", id=document, startLine=1, endLine=1),
            call("result_search", handle=HANDLE, regex=rf"{when}\b(ERROR|FATAL|CRITICAL)\b"),
            call("result_search", handle=HANDLE, regex=rf"{when}\bWARN(ING)?\b"),
        ],
        of_handle=True,
        check="meta.totalCount for how many there are. Read every error; for warnings, the first page shows the kinds. "
        "Around an error, read ten lines before and after it, with call 1 and other lines. Errors that "
        "repeat are one issue: count them with a regex of their own words. Without a resultHandle, call 1 has the "
        "whole text.",
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
                    "date",
                    "Date",
                    "A date as YYYY-MM-DD; unset: today in UTC.",
                    prompt_arguments.day,
                    default=lambda: str(prompt_arguments.today()),
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
                PromptArgument(
                    "days",
                    "Days",
                    "How many days ahead; unset: 14.",
                    prompt_arguments.days,
                    default=prompt_arguments.always("14"),
                ),
            ),
            operations=("list_bookings",),
            write=_unpaid_arrivals,
        ),
        Prompt(
            name="audit_booking",
            title="Audit a booking",
            description="One booking's dates, price, payments, policies and notes, and whether they agree.",
            arguments=(prompt_arguments.booking_argument(),),
            operations=("get_booking", "list_transactions", "list_bookings"),
            write=_audit_booking,
        ),
        Prompt(
            name="reconcile_booking",
            title="Reconcile a booking's transactions",
            description="What was charged, refunded and paid out for a booking, against its price.",
            arguments=(prompt_arguments.booking_argument(),),
            operations=("get_booking", "list_transactions"),
            write=_reconcile_booking,
        ),
        Prompt(
            name="monthly_revenue",
            title="A month's revenue by listing",
            description="Revenue, nights and bookings of each listing, against the month before.",
            arguments=(
                prompt_arguments.month_argument(),
                PromptArgument(
                    "status",
                    "Status",
                    f"The bookings' status; unset: {statuses.CONFIRMED}.",
                    prompt_arguments.status,
                    completion.statuses,
                    prompt_arguments.always(statuses.CONFIRMED),
                ),
            ),
            operations=("list_bookings", "list_listings"),
            write=_monthly_revenue,
        ),
        Prompt(
            name="revenue_by_city",
            title="A month's revenue by city",
            description="Revenue, nights and bookings of each city: bookings joined with listings.",
            arguments=(prompt_arguments.month_argument(),),
            operations=("list_bookings", "list_listings", "result_query"),
            write=_revenue_by_city,
        ),
        Prompt(
            name="occupancy",
            title="A listing's occupancy in a month",
            description="Occupied nights, gaps that could be sold, overbookings.",
            arguments=(
                PromptArgument(
                    "listing", "Listing", "The listing's id or name.", prompt_arguments.listing, completion.listings
                ),
                prompt_arguments.month_argument(),
            ),
            operations=("list_bookings", "list_listings", "result_query"),
            write=_occupancy,
        ),
        Prompt(
            name="log_issues",
            title="Issues in a log",
            description="Errors and warnings of a log, grouped, with their lines.",
            arguments=(
                PromptArgument(
                    "document", "Document", "The log's id.", prompt_arguments.text_document, completion.text_ids
                ),
                PromptArgument(
                    "period",
                    "Period",
                    "A day or a month, as YYYY-MM-DD or YYYY-MM; unset: all.",
                    prompt_arguments.period,
                    default=prompt_arguments.always(prompt_arguments.EVER),
                ),
            ),
            operations=("read_document", "result_search"),
            write=_log_issues,
        ),
        Prompt(
            name="find_in_notes",
            title="Find in the notes of a month",
            description="What guests and hosts wrote about a topic (a pet, a cot, late arrival).",
            arguments=(
                PromptArgument(
                    "text",
                    "Words",
                    f"A word or two to search for, at most {LONGEST_WORDS} characters.",
                    prompt_arguments.words,
                    longest=LONGEST_WORDS,
                ),
                prompt_arguments.month_argument(),
            ),
            operations=("list_bookings", "result_search"),
            write=_find_in_notes,
        ),
    ]
