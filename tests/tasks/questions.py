"""Twenty questions about an account: how a client that only reads what tools return answers them, and the truth."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from tests import crawler
from tests.tasks.account import Account

AnswerRequest = Callable[..., dict[str, Any]]
LOG, MANUAL = "sync-2026-11.log", "house-manual.md"
CONFIRMED = {"new", "modified"}  # upstream's words for what is confirmed


@dataclass(frozen=True)
class Question:
    """`needs`: what raw paging would have to read; `answer` asks tools, `truth` reads the account itself."""

    words: str
    needs: tuple[str, ...]
    answer: Callable[[AnswerRequest], Any]
    truth: Callable[[Account], Any]


def exact(number: Any) -> Decimal:
    return Decimal(str(number)).normalize()


def confirmed(account: Account) -> list[dict[str, Any]]:
    return [booking for booking in account.bookings if booking["status"] in CONFIRMED]


def handle_of(ask: AnswerRequest, operation: str, **arguments: Any) -> str:
    handle: str = ask(operation, limit=1, fields="id", **arguments)["meta"]["resultHandle"]
    return handle


def handle_of_text(ask: AnswerRequest, name: str) -> str:
    handle: str = ask("read_document", id=name, startLine=1, endLine=1)["meta"]["resultHandle"]
    return handle


def every_row(ask: AnswerRequest, operation: str, **arguments: Any) -> list[Any]:
    """All rows of a computed list, page by page."""
    rows, cursor = [], None
    while True:
        answer = ask(operation, **({"cursor": cursor} if cursor else arguments))
        rows += answer["groups"] if "groups" in answer else crawler.rows(answer)
        cursor = answer.get("nextCursor")
        if cursor is None:
            return rows


# -- Totals -----------------------------------------------------------------------------------------


def revenue_by_listing_and_month(ask: AnswerRequest) -> Any:
    aggregate = {
        "groupBy": ["propertyId", {"field": "checkInDate", "bucket": "month"}],
        "metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}],
    }
    groups = every_row(ask, "list_bookings", where={"status": "confirmed"}, aggregate=aggregate)
    return {(each["propertyId"], each["checkInDate"]): exact(each["revenue"]) for each in groups}


def true_revenue(account: Account) -> Any:
    sums: dict[Any, Decimal] = defaultdict(Decimal)
    for booking in confirmed(account):
        sums[booking["listingMapId"], booking["arrivalDate"][:7]] += Decimal(str(booking["totalPrice"]))
    return {key: exact(each) for key, each in sums.items()}


def bookings_by_status(ask: AnswerRequest) -> Any:
    groups = ask("list_bookings", aggregate={"groupBy": ["sourceStatus"]})["groups"]
    return {each["sourceStatus"]: each["count"] for each in groups}


def nights_by_channel(ask: AnswerRequest) -> Any:
    aggregate = {"groupBy": ["channel"], "metrics": [{"op": "sum", "field": "nights", "as": "nights"}]}
    groups = ask("list_bookings", where={"status": "confirmed"}, aggregate=aggregate)["groups"]
    return {each["channel"]: each["nights"] for each in groups}


def true_nights_by_channel(account: Account) -> Any:
    nights: Counter[str] = Counter()
    for booking in confirmed(account):
        nights[booking["channelName"]] += booking["nights"]
    return dict(nights)


def refunds_by_currency(ask: AnswerRequest) -> Any:
    aggregate = {"groupBy": ["currency"], "metrics": [{"op": "sum", "field": "amount", "as": "sum"}, {"op": "count"}]}
    groups = ask("list_transactions", where={"type": "refund"}, aggregate=aggregate)["groups"]
    return {each["currency"]: (exact(each["sum"]), each["count"]) for each in groups}


def true_refunds(account: Account) -> Any:
    by_currency: dict[str, list[Decimal]] = defaultdict(list)
    for each in account.transactions:
        if each["type"] == "refund":
            by_currency[each["currency"]].append(Decimal(str(each["amount"])))
    return {currency: (exact(sum(amounts)), len(amounts)) for currency, amounts in by_currency.items()}


def cleaning_fees_in_euros(ask: AnswerRequest) -> Any:
    """A field that only upstream knows by name."""
    aggregate = {"metrics": [{"op": "sum", "field": "cleaningFee", "as": "sum"}]}
    (group,) = ask("list_bookings", where={"status": "confirmed", "currency": "EUR"}, aggregate=aggregate)["groups"]
    return exact(group["sum"])


def true_cleaning_fees(account: Account) -> Any:
    fees = (booking["cleaningFee"] for booking in confirmed(account) if booking["currency"] == "EUR")
    return exact(sum(Decimal(str(fee)) for fee in fees if fee is not None))


def busiest_listings(ask: AnswerRequest) -> Any:
    aggregate = {"groupBy": ["propertyId"], "orderBy": "-count", "limit": 3}
    groups = ask("list_bookings", where={"status": "confirmed"}, aggregate=aggregate)["groups"]
    return sorted(each["count"] for each in groups)


def true_busiest(account: Account) -> Any:
    return sorted(
        count for _, count in Counter(booking["listingMapId"] for booking in confirmed(account)).most_common(3)
    )


def middle_price_in_dollars(ask: AnswerRequest) -> Any:
    aggregate = {"metrics": [{"op": "median", "field": "totalPrice", "as": "median"}]}
    (group,) = ask("list_bookings", where={"currency": "USD"}, aggregate=aggregate)["groups"]
    return exact(group["median"])


def true_middle_price(account: Account) -> Any:
    prices = sorted(Decimal(str(each["totalPrice"])) for each in account.bookings if each["currency"] == "USD")
    half = len(prices) // 2
    return exact(prices[half] if len(prices) % 2 else (prices[half - 1] + prices[half]) / 2)


# -- Some rows --------------------------------------------------------------------------------------


def next_arrivals(ask: AnswerRequest) -> Any:
    answer = ask(
        "list_bookings",
        where={"status": "confirmed", "checkInDate": {"gte": "2026-12-01"}},
        order="checkInDate",
        limit=5,
        fields="id,checkInDate",
    )
    return sorted(each["checkInDate"] for each in answer["items"])


def true_arrivals(account: Account) -> Any:
    return sorted(each["arrivalDate"] for each in confirmed(account) if each["arrivalDate"] >= "2026-12-01")[:5]


def history_of_a_guest(ask: AnswerRequest) -> Any:
    answer = ask("list_bookings", guestName="Habersack", fields="id,checkInDate,checkOutDate,totalPrice")
    return {(each["id"], each["checkInDate"], exact(each["totalPrice"])) for each in answer["items"]}


def true_history(account: Account) -> Any:
    return {
        (each["id"], each["arrivalDate"], exact(each["totalPrice"]))
        for each in account.bookings
        if "habersack" in (each["guestName"] or "").lower()
    }


def departures_of_a_day(ask: AnswerRequest) -> Any:
    return {each["id"] for each in every_row(ask, "list_bookings", where={"checkOutDate": "2026-11-20"}, fields="id")}


def dearest_in_euros(ask: AnswerRequest) -> Any:
    (row,) = ask("list_bookings", where={"currency": "EUR"}, order="-totalPrice", limit=1)["items"]
    return exact(row["totalPrice"])


def failed_charges(ask: AnswerRequest) -> Any:
    return {each["bookingId"] for each in every_row(ask, "list_transactions", status="failed", fields="bookingId")}


def largest_house(ask: AnswerRequest) -> Any:
    (row,) = ask("list_listings", order="-bedrooms", limit=1, fields="name,bedrooms")["items"]
    return row["bedrooms"]


def fees_of_a_booking(ask: AnswerRequest) -> Any:
    answer = ask("get_booking", id=43000003, fields="financeField.*.name,financeField.*.total")
    return {each["name"]: exact(each["total"]) for each in answer["financeField"]}


def true_fees(account: Account) -> Any:
    (booking,) = (each for each in account.bookings if each["id"] == 43000003)
    return {each["name"]: exact(each["total"]) for each in booking["financeField"]}


# -- Over all rows ----------------------------------------------------------------------------------


def overlapping_stays(ask: AnswerRequest) -> Any:
    handle = handle_of(ask, "list_bookings", where={"status": "confirmed"})
    sql = """SELECT count(*) AS pairs, count(DISTINCT one.propertyId) AS properties FROM rows one JOIN rows other
    ON one.propertyId = other.propertyId AND one.id < other.id
    AND one.checkInDate < other.checkOutDate AND other.checkInDate < one.checkOutDate"""
    (row,) = ask("result_query", handle=handle, sql=sql)["items"]
    return row["pairs"], row["properties"]


def true_overlaps(account: Account) -> Any:
    stays = confirmed(account)
    pairs = [
        one["listingMapId"]
        for one in stays
        for other in stays
        if one["id"] < other["id"]
        and one["listingMapId"] == other["listingMapId"]
        and one["arrivalDate"] < other["departureDate"]
        and other["arrivalDate"] < one["departureDate"]
    ]
    return len(pairs), len(set(pairs))


def average_lead_time(ask: AnswerRequest) -> Any:
    handle = handle_of(ask, "list_bookings", where={"status": "confirmed"})
    sql = "SELECT sum(date_diff('day', insertedOn::DATE, checkInDate)) AS days, count(*) AS stays FROM rows"
    (row,) = ask("result_query", handle=handle, sql=sql)["items"]
    return row["days"], row["stays"]


def true_lead_time(account: Account) -> Any:
    days = [
        (date.fromisoformat(each["arrivalDate"]) - date.fromisoformat(each["insertedOn"][:10])).days
        for each in confirmed(account)
    ]
    return sum(days), len(days)


def repeat_guests(ask: AnswerRequest) -> Any:
    sql = "SELECT count(*) AS guests FROM (SELECT guestName FROM rows GROUP BY guestName HAVING count(*) > 1)"
    (row,) = ask("result_query", handle=handle_of(ask, "list_bookings"), sql=sql)["items"]
    return row["guests"]


def true_repeat_guests(account: Account) -> Any:
    return sum(count > 1 for count in Counter(each["guestName"] for each in account.bookings).values())


def bookings_that_speak_of_a_dog(ask: AnswerRequest) -> Any:
    hits = every_row(ask, "result_search", handle=handle_of(ask, "list_bookings"), text="dog")
    return {each["id"] for each in hits if each["path"] == "guestNote"}


def true_dogs(account: Account) -> Any:
    return {each["id"] for each in account.bookings if "dog" in (each.get("guestNote") or "").lower()}


# -- In texts ---------------------------------------------------------------------------------------


def first_error_of_the_log(ask: AnswerRequest) -> Any:
    handle = handle_of_text(ask, LOG)
    line = ask("result_search", handle=handle, regex=r"\bERROR\b")["items"][0]["line"]
    return ask("read_document", id=LOG, startLine=line, endLine=line)["content"]


def true_first_error(account: Account) -> Any:
    return next(line for line in account.texts[LOG].splitlines(keepends=True) if re.search(r"\bERROR\b", line))


def errors_of_the_log(ask: AnswerRequest) -> Any:
    handle = handle_of_text(ask, LOG)
    return ask("result_search", handle=handle, regex=r"\bERROR\b")["meta"]["totalCount"]


QUESTIONS = (
    Question("revenue by listing and month", ("bookings",), revenue_by_listing_and_month, true_revenue),
    Question(
        "bookings by status",
        ("bookings",),
        bookings_by_status,
        lambda account: dict(Counter(each["status"] for each in account.bookings)),
    ),
    Question("nights by channel", ("bookings",), nights_by_channel, true_nights_by_channel),
    Question("refunds by currency", ("transactions",), refunds_by_currency, true_refunds),
    Question("cleaning fees in euros", ("bookings",), cleaning_fees_in_euros, true_cleaning_fees),
    Question("the three busiest listings", ("bookings",), busiest_listings, true_busiest),
    Question("the middle price in dollars", ("bookings",), middle_price_in_dollars, true_middle_price),
    Question("the next five arrivals from December on", ("bookings",), next_arrivals, true_arrivals),
    Question("the history of a guest", ("bookings",), history_of_a_guest, true_history),
    Question(
        "who leaves today",
        ("bookings",),
        departures_of_a_day,
        lambda account: {each["id"] for each in account.bookings if each["departureDate"] == "2026-11-20"},
    ),
    Question(
        "the dearest booking in euros",
        ("bookings",),
        dearest_in_euros,
        lambda account: exact(max(each["totalPrice"] for each in account.bookings if each["currency"] == "EUR")),
    ),
    Question(
        "bookings whose charge failed",
        ("transactions",),
        failed_charges,
        lambda account: {each["reservationId"] for each in account.transactions if each["status"] == "failed"},
    ),
    Question(
        "bedrooms of the largest house",
        ("listings",),
        largest_house,
        lambda account: max(each["bedroomsNumber"] for each in account.listings),
    ),
    Question("the fees of one booking", ("bookings",), fees_of_a_booking, true_fees),
    Question("overlapping stays", ("bookings",), overlapping_stays, true_overlaps),
    Question("average lead time", ("bookings",), average_lead_time, true_lead_time),
    Question("guests who came again", ("bookings",), repeat_guests, true_repeat_guests),
    Question("guests who write of a dog", ("bookings",), bookings_that_speak_of_a_dog, true_dogs),
    Question("the log's first error", (LOG,), first_error_of_the_log, true_first_error),
    Question(
        "how many errors the log has",
        (LOG,),
        errors_of_the_log,
        lambda account: len(re.findall(r"^.*\bERROR\b.*$", account.texts[LOG], re.MULTILINE)),
    ),
)
