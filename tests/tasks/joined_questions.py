"""Twenty questions to two or three sources: handles and one statement answer them; the truth is in the account."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from tests.tasks.account import Account
from tests.tasks.questions import CONFIRMED, LOG, AnswerRequest, Question, every_row, exact

BOOKINGS, LISTINGS, TRANSACTIONS = "bookings", "listings", "transactions"
OPERATIONS = {BOOKINGS: "list_bookings", LISTINGS: "list_listings", TRANSACTIONS: "list_transactions"}
TABLES = {BOOKINGS: "b", LISTINGS: "l", TRANSACTIONS: "t", LOG: "log"}
BOOKING = r"TRY_CAST(regexp_extract(log.text, 'reservation (\d+)', 1) AS BIGINT)"
STAY = "date_diff('day', greatest(checkInDate, DATE '2026-12-01'), least(checkOutDate, DATE '2027-01-01'))"


def handle_of(ask: AnswerRequest, source: str) -> str:
    if source == LOG:
        answer = ask("read_document", id=LOG, format="handle")
    else:
        answer = ask(OPERATIONS[source], format="handle")
    handle: str = answer["meta"]["resultHandle"]
    return handle


def joined(sources: Iterable[str], sql: str) -> Callable[[AnswerRequest], Any]:
    """Asks for the sources' handles, then once for the rows of a statement; gives their values."""

    def answer(ask: AnswerRequest) -> Any:
        handles = {TABLES[source]: handle_of(ask, source) for source in sources}
        return {tuple(map(_value, row.values())) for row in every_row(ask, "result_query", handles=handles, sql=sql)}

    return answer


def _value(value: Any) -> Any:
    return exact(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def question(words: str, sources: tuple[str, ...], sql: str, truth: Callable[[Account], Iterable[Any]]) -> Question:
    def rows(account: Account) -> Any:
        return {tuple(map(_value, row if isinstance(row, tuple) else (row,))) for row in truth(account)}

    return Question(words, sources, joined(sources, sql.replace("$booking", BOOKING).replace("$stay", STAY)), rows)


# -- The account ------------------------------------------------------------------------------------


def confirmed(account: Account) -> Iterator[dict[str, Any]]:
    return (each for each in account.bookings if each["status"] in CONFIRMED)


def by_id(rows: Iterable[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {each["id"]: each for each in rows}


def sums(amounts: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Adds the last values of equal keys."""
    totals: dict[Any, Decimal] = defaultdict(Decimal)
    for *key, amount in amounts:
        totals[tuple(key)] += Decimal(str(amount or 0))
    return ((*key, exact(total)) for key, total in totals.items())


def counts(keys: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    return ((*(key if isinstance(key, tuple) else (key,)), count) for key, count in Counter(keys).items())


def entries(account: Account, level: str) -> Iterator[tuple[int, str, str]]:
    """The log's entries of a level: line number, day, text."""
    for number, line in enumerate(account.texts[LOG].splitlines(), start=1):
        if re.match(rf"\S+ {level}\b", line):
            yield number, line[:10], line


def named_booking(account: Account, text: str) -> dict[str, Any] | None:
    found = re.search(r"reservation (\d+)", text)
    return by_id(account.bookings).get(int(found[1])) if found else None


def paid_charges(account: Account) -> Iterator[dict[str, Any]]:
    return (each for each in account.transactions if each["type"] == "charge" and each["status"] == "paid")


# -- Truths -----------------------------------------------------------------------------------------


def city_of(account: Account) -> dict[int, str]:
    return {each["id"]: each["city"] for each in account.listings}


def true_revenue_per_city(account: Account) -> Iterable[Any]:
    cities = city_of(account)
    return sums((cities[each["listingMapId"]], each["currency"], each["totalPrice"]) for each in confirmed(account))


def true_unpaid_cleaning(account: Account) -> Iterable[Any]:
    paid = {each["reservationId"] for each in paid_charges(account)}
    unpaid = (each for each in confirmed(account) if each["id"] not in paid)
    return sums((each["channelName"], each["currency"], each["cleaningFee"]) for each in unpaid)


def true_empty_listings(account: Account) -> Iterable[Any]:
    busy = {each["listingMapId"] for each in confirmed(account) if each["arrivalDate"][:7] == "2027-02"}
    return (each["name"] for each in account.listings if each["id"] not in busy)


def true_problems_of_cancelled(account: Account) -> Iterable[Any]:
    named = ((line, named_booking(account, text)) for line, _, text in entries(account, "(?:ERROR|WARN)"))
    return ((line, each["id"]) for line, each in named if each and each["status"] == "cancelled")


def true_refunds_per_city(account: Account) -> Iterable[Any]:
    cities = city_of(account)
    refunds = (each for each in account.transactions if each["type"] == "refund")
    return sums((cities[each["listingMapId"]], each["currency"], each["amount"]) for each in refunds)


def true_guests_of_failed_charges(account: Account) -> Iterable[Any]:
    bookings = by_id(account.bookings)
    failed = (each for each in account.transactions if each["status"] == "failed")
    return ((each["reservationId"], bookings[each["reservationId"]]["guestName"]) for each in failed)


def true_full(account: Account) -> Iterable[Any]:
    capacity = {each["id"]: each["personCapacity"] for each in account.listings}
    names = {each["id"]: each["name"] for each in account.listings}
    full = (each for each in account.bookings if each["numberOfGuests"] >= capacity[each["listingMapId"]])
    return counts(names[each["listingMapId"]] for each in full)


def true_nights_per_country(account: Account) -> Iterable[Any]:
    countries = {each["id"]: each["country"] for each in account.listings}
    return sums((countries[each["listingMapId"]], each["nights"]) for each in confirmed(account))


def true_warnings_per_city(account: Account) -> Iterable[Any]:
    cities = city_of(account)
    named = (named_booking(account, text) for _, _, text in entries(account, "WARN"))
    return counts(cities[each["listingMapId"]] for each in named if each)


def true_pending_payouts(account: Account) -> Iterable[Any]:
    bookings = by_id(account.bookings)
    pending = (each for each in account.transactions if (each["type"], each["status"]) == ("payout", "pending"))
    return counts(bookings[each["reservationId"]]["channelName"] for each in pending)


def true_transactions_of_cancelled(account: Account) -> Iterable[Any]:
    cancelled = {each["id"] for each in account.bookings if each["status"] == "cancelled"}
    return counts(each["type"] for each in account.transactions if each["reservationId"] in cancelled)


def true_lines_per_listing(account: Account) -> Iterable[Any]:
    names = {each["id"]: each["name"] for each in account.listings}
    found = re.findall(r"^.*?listing (\d+)", account.texts[LOG], re.MULTILINE)
    return counts(names[int(each)] for each in found if int(each) in names)


def true_lead_per_country(account: Account) -> Iterable[Any]:
    countries = {each["id"]: each["country"] for each in account.listings}
    return sums(
        (
            countries[each["listingMapId"]],
            (date.fromisoformat(each["arrivalDate"]) - date.fromisoformat(each["insertedOn"][:10])).days,
        )
        for each in confirmed(account)
    )


def true_other_currency(account: Account) -> Iterable[Any]:
    bookings = by_id(account.bookings)
    return [sum(each["currency"] != bookings[each["reservationId"]]["currency"] for each in account.transactions)]


def true_december_nights(account: Account) -> Iterable[Any]:
    cities, nights = city_of(account), []
    for each in confirmed(account):
        first, last = max(each["arrivalDate"], "2026-12-01"), min(each["departureDate"], "2027-01-01")
        if first < last:
            nights.append((cities[each["listingMapId"]], (date.fromisoformat(last) - date.fromisoformat(first)).days))
    return sums(nights)


def true_travellers(account: Account) -> Iterable[Any]:
    cities, visited = city_of(account), defaultdict(set)
    for each in account.bookings:
        visited[each["guestName"]].add(cities[each["listingMapId"]])
    return [sum(len(each) > 1 for name, each in visited.items() if name is not None)]


def true_errors_per_channel(account: Account) -> Iterable[Any]:
    named = (named_booking(account, text) for _, _, text in entries(account, "ERROR"))
    return counts(each["channelName"] for each in named if each)


def true_refunds_on_days_with_errors(account: Account) -> Iterable[Any]:
    days = {day for _, day, _ in entries(account, "ERROR")}
    refunds = (each for each in account.transactions if each["type"] == "refund")
    return [sum(each["insertedOn"][:10] in days for each in refunds)]


def true_charged_per_city(account: Account) -> Iterable[Any]:
    bookings, cities = by_id(account.bookings), city_of(account)
    charges = ((bookings[each["reservationId"]], each) for each in paid_charges(account))
    return sums(
        (cities[booking["listingMapId"]], each["currency"], each["amount"])
        for booking, each in charges
        if booking["status"] in CONFIRMED
    )


def true_charged_in_euros(account: Account) -> Iterable[Any]:
    euros = {each["id"] for each in confirmed(account) if each["currency"] == "EUR"}
    charged = (each for each in paid_charges(account) if each["reservationId"] in euros)
    return [exact(sum(Decimal(str(each["amount"])) for each in charged))]


# -- The questions ----------------------------------------------------------------------------------

JOINED_QUESTIONS = (
    question(
        "revenue per city",
        (BOOKINGS, LISTINGS),
        "SELECT city, b.currency, sum(totalPrice) FROM b JOIN l ON propertyId = l.id "
        "WHERE b.status = 'confirmed' GROUP BY ALL",
        true_revenue_per_city,
    ),
    question(
        "cleaning fees unpaid by channel",
        (BOOKINGS, TRANSACTIONS),
        "SELECT channel, currency, sum(cleaningFee) FROM b WHERE status = 'confirmed' AND id NOT IN "
        "(SELECT bookingId FROM t WHERE type = 'charge' AND status = 'paid') GROUP BY ALL",
        true_unpaid_cleaning,
    ),
    question(
        "listings without an arrival in February",
        (BOOKINGS, LISTINGS),
        "SELECT name FROM l WHERE id NOT IN (SELECT propertyId FROM b WHERE status = 'confirmed' "
        "AND date_trunc('month', checkInDate) = DATE '2027-02-01')",
        true_empty_listings,
    ),
    question(
        "log errors and warnings of bookings that were cancelled",
        (LOG, BOOKINGS),
        "SELECT line, id FROM log JOIN b ON id = $booking WHERE level IN ('ERROR', 'WARN') AND status = 'cancelled'",
        true_problems_of_cancelled,
    ),
    question(
        "refunds per city",
        (TRANSACTIONS, LISTINGS),
        "SELECT city, t.currency, sum(amount) FROM t JOIN l ON propertyId = l.id WHERE type = 'refund' GROUP BY ALL",
        true_refunds_per_city,
    ),
    question(
        "guests whose charge failed",
        (TRANSACTIONS, BOOKINGS),
        "SELECT bookingId, guestName FROM t JOIN b ON bookingId = b.id WHERE t.status = 'failed'",
        true_guests_of_failed_charges,
    ),
    question(
        "bookings that fill a house",
        (BOOKINGS, LISTINGS),
        "SELECT name, count(*) FROM b JOIN l ON propertyId = l.id WHERE guests >= maxGuests GROUP BY ALL",
        true_full,
    ),
    question(
        "nights per country",
        (BOOKINGS, LISTINGS),
        "SELECT country, sum(nights) FROM b JOIN l ON propertyId = l.id WHERE b.status = 'confirmed' GROUP BY ALL",
        true_nights_per_country,
    ),
    question(
        "warnings per city",
        (LOG, BOOKINGS, LISTINGS),
        "SELECT city, count(*) FROM log JOIN b ON b.id = $booking JOIN l ON propertyId = l.id "
        "WHERE level = 'WARN' GROUP BY ALL",
        true_warnings_per_city,
    ),
    question(
        "pending payouts by channel",
        (TRANSACTIONS, BOOKINGS),
        "SELECT channel, count(*) FROM t JOIN b ON bookingId = b.id WHERE type = 'payout' AND t.status = 'pending' "
        "GROUP BY ALL",
        true_pending_payouts,
    ),
    question(
        "transactions of cancelled bookings",
        (TRANSACTIONS, BOOKINGS),
        "SELECT type, count(*) FROM t JOIN b ON bookingId = b.id WHERE b.status = 'cancelled' GROUP BY ALL",
        true_transactions_of_cancelled,
    ),
    question(
        "what the log says of each listing",
        (LOG, LISTINGS),
        r"SELECT name, count(*) FROM log JOIN l ON id = TRY_CAST(regexp_extract(text, 'listing (\d+)', 1) AS BIGINT) "
        "GROUP BY ALL",
        true_lines_per_listing,
    ),
    question(
        "days between booking and arrival, per country",
        (BOOKINGS, LISTINGS),
        "SELECT country, sum(date_diff('day', b.insertedOn::DATE, checkInDate)) FROM b JOIN l ON propertyId = l.id "
        "WHERE b.status = 'confirmed' GROUP BY ALL",
        true_lead_per_country,
    ),
    question(
        "transactions in another currency than their booking",
        (TRANSACTIONS, BOOKINGS),
        "SELECT count(*) FROM t JOIN b ON bookingId = b.id WHERE t.currency <> b.currency",
        true_other_currency,
    ),
    question(
        "nights of December per city",
        (BOOKINGS, LISTINGS),
        "SELECT city, sum($stay) FROM b JOIN l ON propertyId = l.id WHERE b.status = 'confirmed' "
        "AND checkInDate < DATE '2027-01-01' AND checkOutDate > DATE '2026-12-01' GROUP BY ALL",
        true_december_nights,
    ),
    question(
        "guests who have been to several cities",
        (BOOKINGS, LISTINGS),
        "SELECT count(*) FROM (SELECT guestName FROM b JOIN l ON propertyId = l.id WHERE guestName IS NOT NULL "
        "GROUP BY guestName HAVING count(DISTINCT city) > 1)",
        true_travellers,
    ),
    question(
        "log errors by channel",
        (LOG, BOOKINGS),
        "SELECT channel, count(*) FROM log JOIN b ON id = $booking WHERE level = 'ERROR' GROUP BY ALL",
        true_errors_per_channel,
    ),
    question(
        "refunds on days with errors",
        (TRANSACTIONS, LOG),
        "SELECT count(*) FROM t WHERE type = 'refund' AND insertedOn::DATE IN "
        "(SELECT time::DATE FROM log WHERE level = 'ERROR')",
        true_refunds_on_days_with_errors,
    ),
    question(
        "paid charges of confirmed stays per city",
        (TRANSACTIONS, BOOKINGS, LISTINGS),
        "SELECT city, t.currency, sum(amount) FROM t JOIN b ON bookingId = b.id JOIN l ON b.propertyId = l.id "
        "WHERE type = 'charge' AND t.status = 'paid' AND b.status = 'confirmed' GROUP BY ALL",
        true_charged_per_city,
    ),
    question(
        "paid charges of stays in euros",
        (TRANSACTIONS, BOOKINGS),
        "SELECT sum(amount) FROM t JOIN b ON bookingId = b.id WHERE b.currency = 'EUR' AND type = 'charge' "
        "AND t.status = 'paid' AND b.status = 'confirmed'",
        true_charged_in_euros,
    ),
)
