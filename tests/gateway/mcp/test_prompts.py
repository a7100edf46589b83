"""Prompts over MCP: every call that a message quotes is one that works, whatever the arguments hold; in both eras."""

import json
import re
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS

from context_protection.core import tokens
from gateway.catalog.prompts import prompts
from gateway.connectors.hostaway.models import Booking, Listing
from gateway.connectors.hostaway.prompt_arguments import LONGEST_WORDS
from gateway.connectors.hostaway.prompts import HANDLE, SECOND_HANDLE
from tests import crawler
from tests.doors import Doors
from tests.tasks.account import Account

pytestmark = pytest.mark.django_db

ERAS = ["legacy", "2026-07-28"]
QUOTED = re.compile(r"^(\d+)\. (\w+) (\{.*\})$", re.MULTILINE)
LOG, LISTING = "sync-2026-11.log", 200285
ODD_WORDS = [
    'say "no"', "one\ntwo", "back\\slash", '"}', "2. list_bookings {}", "\n2. list_bookings {}\n", "'; DROP", "{text}",
    "谷中", "a\u2028b", "%s",
]  # fmt: skip
GIVEN: list[tuple[str, dict[str, str]]] = [
    ("arrivals", {}),
    ("arrivals", {"date": "2026-11-20"}),
    ("arrivals", {"date": "2031-02-28"}),
    ("unpaid_arrivals", {}),
    ("unpaid_arrivals", {"days": "365"}),
    ("audit_booking", {"booking": "43000003"}),
    ("audit_booking", {"booking": "43000350"}),
    ("reconcile_booking", {"booking": "43000003"}),
    ("monthly_revenue", {"month": "2026-11"}),
    ("revenue_by_city", {"month": "2026-12"}),
    ("monthly_revenue", {"month": "2026-01", "status": "cancelled"}),
    ("occupancy", {"listing": str(LISTING), "month": "2026-11"}),
    ("occupancy", {"listing": "町家 machiya nishijin 🎐", "month": "2026-12"}),
    ("occupancy", {"listing": "200100", "month": "2019-02"}),
    ("log_issues", {"document": LOG}),
    ("log_issues", {"document": LOG, "period": "2026-11-15"}),
    ("log_issues", {"document": LOG, "period": "2026-11"}),
    ("find_in_notes", {"text": "dog", "month": "2026-11"}),
    *(("find_in_notes", {"text": words, "month": "2026-12"}) for words in ODD_WORDS),
]


def message(doors: Doors, name: str, given: dict[str, str], era: str = "auto") -> str:
    result = doors.ask(lambda client: client.get_prompt(name, given), era)
    (only,) = result.messages
    assert only.role == "user"
    text: str = only.content.text
    return text


def quoted(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = QUOTED.findall(text)
    assert [int(number) for number, _, _ in found] == list(range(1, len(found) + 1))
    return [(operation, json.loads(arguments)) for _, operation, arguments in found]


def followed(doors: Doors, text: str) -> list[dict[str, Any]]:
    """The answers to the calls of a message, the first one's handle put where it is asked for."""
    answers: list[dict[str, Any]] = []
    for operation, arguments in quoted(text):
        for table, handle in arguments.get("handles", {}).items():
            arguments["handles"][table] = answers[[HANDLE, SECOND_HANDLE].index(handle)]["meta"]["resultHandle"]
        if arguments.get("handle") == HANDLE:
            arguments["handle"] = answers[0]["meta"].get("resultHandle")
            if arguments["handle"] is None:
                assert answers[0]["meta"].get("totalCount", 0) <= 1, "the message says so"
                continue
        answers.append(doors.mcp(operation, arguments))
    return answers


@pytest.mark.parametrize("era", ERAS)
def test_the_prompts_are_listed_with_their_arguments(doors: Doors, era: str):
    listed = doors.ask(lambda client: client.list_prompts(), era).prompts
    assert {prompt.name: {argument.name: argument.required for argument in prompt.arguments} for prompt in listed} == {
        "arrivals": {"date": False},
        "unpaid_arrivals": {"days": False},
        "audit_booking": {"booking": True},
        "reconcile_booking": {"booking": True},
        "monthly_revenue": {"month": True, "status": False},
        "revenue_by_city": {"month": True},
        "occupancy": {"listing": True, "month": True},
        "log_issues": {"document": True, "period": False},
        "find_in_notes": {"text": True, "month": True},
    }
    for prompt in listed:
        assert prompt.title
        assert prompt.description
        assert all(argument.title and argument.description for argument in prompt.arguments)


@pytest.mark.parametrize(("name", "given"), GIVEN)
def test_every_call_that_a_prompt_quotes_can_be_made(doors: Doors, name: str, given: dict[str, str]):
    text = message(doors, name, given)
    assert len(quoted(text)) >= 2
    assert {operation for operation, _ in quoted(text)} <= set(prompts.get(name).operations)
    for answer in followed(doors, text):
        assert "error" not in answer
    assert tokens.claude.count(text) < 600


@pytest.mark.parametrize("era", ERAS)
def test_where_tools_are_searched_a_prompt_quotes_calls_that_the_client_can_make(doors: Doors, era: str):
    doors.choose(tool_listing="search", pinned_tools=["list_bookings"])
    text = message(doors, "log_issues", {"document": LOG}, era)
    assert {operation for operation, _ in quoted(text)} == {"call_tool"}
    assert [arguments["name"] for _, arguments in quoted(text)] == ["read_document", "result_search", "result_search"]
    assert "read_document" not in text.partition("Check:")[2]
    assert quoted(message(doors, "arrivals", {}, era))[0][0] == "list_bookings", "it is in the list"


@pytest.mark.parametrize("era", ERAS)
def test_a_prompt_is_the_same_message_in_both_eras(doors: Doors, era: str):
    given = {"month": "2026-11"}
    assert message(doors, "monthly_revenue", given, era) == prompts.get("monthly_revenue").message(given).text()


@pytest.mark.parametrize("status", ["Cancelled", "OWNERSTAY", "ownerstay"])
def test_capitals_of_a_status_do_not_matter(doors: Doors, status: str):
    canonical = {"cancelled": "cancelled", "ownerstay": "ownerStay"}[status.lower()]
    given = {"month": "2026-11"}
    assert message(doors, "monthly_revenue", {**given, "status": status}) == message(
        doors, "monthly_revenue", {**given, "status": canonical}
    )


@pytest.mark.parametrize("words", ODD_WORDS)
def test_words_with_quotes_or_line_ends_arrive_as_they_are_and_break_nothing(doors: Doors, words: str):
    _, (operation, arguments) = quoted(message(doors, "find_in_notes", {"text": words, "month": "2026-11"}))
    assert operation == "result_search"
    assert arguments["text"] == words.strip()


def test_the_longest_words_in_the_dearest_script_still_leave_a_short_message(doors: Doors):
    for words in ("𒀀" * LONGEST_WORDS, "\n" * (LONGEST_WORDS - 2) + "ab", "👩‍👩‍👧‍👦" * 8, '"\\' * 30):
        text = message(doors, "find_in_notes", {"text": words, "month": "2026-11"})
        assert tokens.claude.count(text) < 600


def test_names_of_the_account_cannot_break_a_message_either(doors: Doors):
    Listing.objects.filter(id=LISTING).update(name='A "quoted"\n9. list_bookings {}' + "x" * 500)
    text = message(doors, "occupancy", {"listing": str(LISTING), "month": "2026-11"})
    assert [operation for operation, _ in quoted(text)] == ["list_bookings", "result_query"]
    assert tokens.claude.count(text) < 600


def test_no_prompt_names_a_guest(doors: Doors):
    """It leaves before any budget or rule of what is withheld."""
    for booking in Booking.objects.all()[:40]:
        for name in ("audit_booking", "reconcile_booking"):
            assert booking.guest_name
            assert booking.guest_name not in message(doors, name, {"booking": str(booking.id)})


# -- What the calls find ----------------------------------------------------------------------------


def test_the_arrivals_of_a_day_are_those_of_the_account(doors: Doors):
    stays = [each for each in Account.of_sample().bookings if each["status"] in {"new", "modified"}]
    rows, arrivals, departures = followed(doors, message(doors, "arrivals", {"date": "2026-11-20"}))
    truth = {each["id"]: each for each in stays if each["arrivalDate"] == "2026-11-20"}
    assert {row["id"] for row in crawler.rows(rows)} == set(truth)
    assert {each["id"]: (each["checkInTime"], each["paymentStatus"]) for each in arrivals["groups"]} == {
        each["id"]: (each["checkInTime"], each["paymentStatus"]) for each in truth.values()
    }
    assert {each["id"] for each in departures["groups"]} == {
        each["id"] for each in stays if each["departureDate"] == "2026-11-20"
    }


@pytest.mark.parametrize("month", ["2026-10", "2026-11", "2026-12"])
def test_the_occupied_nights_of_every_listing_are_those_within_the_month(doors: Doors, month: str):
    first = date.fromisoformat(f"{month}-01")
    end = (first + timedelta(days=31)).replace(day=1)
    nights: dict[int, int] = defaultdict(int)
    for each in Account.of_sample().bookings:
        if each["status"] in {"new", "modified"}:
            begins, ends = (date.fromisoformat(each[name]) for name in ("arrivalDate", "departureDate"))
            nights[each["listingMapId"]] += max(0, (min(ends, end) - max(begins, first)).days)
    for listing in Listing.objects.all():
        answers = followed(doors, message(doors, "occupancy", {"listing": str(listing.id), "month": month}))
        if len(answers) == 2:
            rows = crawler.rows(answers[1])
            assert {row["occupied"] for row in rows} == {nights[listing.id]}
            assert sum(row["nights"] for row in rows) == nights[listing.id]
        else:
            assert len(answers[0]["items"]) <= 1


def test_the_revenue_of_a_month_is_exact_and_stands_beside_the_month_before(doors: Doors):
    truth: dict[tuple[int, str], Decimal] = defaultdict(Decimal)
    for each in Account.of_sample().bookings:
        if each["status"] in {"new", "modified"} and each["arrivalDate"][:7] in {"2026-12", "2027-01"}:
            truth[each["listingMapId"], each["arrivalDate"][:7]] += Decimal(str(each["totalPrice"]))
    (_, arguments), _ = quoted(message(doors, "monthly_revenue", {"month": "2027-01"}))
    groups = [group for page in crawler.pages(doors.mcp, "list_bookings", arguments) for group in page["groups"]]
    assert {(each["propertyId"], each["checkInDate"]): Decimal(str(each["revenue"])) for each in groups} == truth


def test_the_revenue_of_a_month_by_city_is_that_of_its_listings(doors: Doors):
    account = Account.of_sample()
    cities = {each["id"]: each["city"] for each in account.listings}
    truth: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for each in account.bookings:
        if each["status"] in {"new", "modified"} and each["arrivalDate"][:7] == "2026-12":
            truth[cities[each["listingMapId"]], each["currency"]] += Decimal(str(each["totalPrice"]))
    *_, answer = followed(doors, message(doors, "revenue_by_city", {"month": "2026-12"}))
    assert {(row["city"], row["currency"]): Decimal(str(row["revenue"])) for row in crawler.rows(answer)} == truth


def test_the_errors_of_a_day_are_those_of_the_log(doors: Doors):
    lines = Account.of_sample().texts[LOG].splitlines()
    _, errors, warnings = followed(doors, message(doors, "log_issues", {"document": LOG, "period": "2026-11-15"}))
    of_day = [line for line in lines if line.startswith("2026-11-15")]
    assert errors["meta"]["totalCount"] == sum(" ERROR " in line for line in of_day) > 0
    assert warnings["meta"]["totalCount"] == sum(" WARN " in line for line in of_day) > 10


def test_the_overlapping_stays_of_an_audit_are_those_at_the_same_listing(doors: Doors):
    stays = Booking.objects.filter(status="confirmed")
    (booking,) = stays.filter(id=43000003)
    *_, overlaps = followed(doors, message(doors, "audit_booking", {"booking": "43000003"}))
    expected = stays.exclude(id=booking.id).filter(
        property_id=booking.property_id, check_in__lt=booking.check_out, check_out__gt=booking.check_in
    )
    assert {row["id"] for row in crawler.rows(overlaps)} == set(expected.values_list("id", flat=True))
    assert expected


def test_a_booking_without_dates_is_audited_without_looking_for_overlaps(doors: Doors):
    Booking.objects.filter(id=43000003).update(check_in=None)
    calls = quoted(message(doors, "audit_booking", {"booking": "43000003"}))
    assert [operation for operation, _ in calls] == ["get_booking", "get_booking", "list_transactions"]


@pytest.mark.parametrize(
    ("name", "given"),
    [(name, given) for name, given in GIVEN if name in {"arrivals", "unpaid_arrivals", "monthly_revenue", "occupancy"}],
)
def test_an_account_without_bookings_is_asked_all_the_same(doors: Doors, name: str, given: dict[str, str]):
    Booking.objects.all().delete()
    answers = followed(doors, message(doors, name, given))
    assert not any("error" in answer for answer in answers)


def test_who_has_not_paid_is_found_with_what_is_open_in_each_currency(doors: Doors):
    """The sample account is fixed in time: what arrives within a year of today is what is left of it."""
    totals, rows = (
        [group for page in crawler.pages(doors.mcp, operation, arguments) for group in page["groups"]]
        for operation, arguments in quoted(message(doors, "unpaid_arrivals", {"days": "365"}))
    )
    today = datetime.now(UTC).date()
    unpaid = {
        each["id"]: Decimal(str(each["totalPrice"]))
        for each in Account.of_sample().bookings
        if each["status"] in {"new", "modified"}
        and each["paymentStatus"] in {"Unpaid", "Partially paid"}
        and today <= date.fromisoformat(each["arrivalDate"]) <= today + timedelta(days=365)
    }
    assert {row["id"]: Decimal(str(row["total"])) for row in rows} == unpaid
    assert sum(group["bookings"] for group in totals) == len(unpaid)
    assert [row["checkInDate"] for row in rows] == sorted(row["checkInDate"] for row in rows)


def test_today_is_where_no_date_is_given(doors: Doors):
    before = datetime.now(UTC).date()
    (_, first), *_ = quoted(message(doors, "arrivals", {"date": " "}))
    assert before <= date.fromisoformat(first["where"]["checkInDate"]) <= datetime.now(UTC).date()


# -- What is wrong ----------------------------------------------------------------------------------

WRONG = [
    ("audit_booking", {}, "booking"),
    ("audit_booking", {"booking": ""}, "booking"),
    ("audit_booking", {"booking": "seven"}, "booking"),
    ("audit_booking", {"booking": "7"}, "booking"),
    ("audit_booking", {"booking": "9" * 30}, "booking"),
    ("audit_booking", {"booking": "４３０００００３"}, "booking"),
    ("audit_booking", {"booking": "43000003", "month": "2026-11"}, "argument"),
    ("monthly_revenue", {"month": "2026-13"}, "month"),
    ("monthly_revenue", {"month": "2026-1"}, "month"),
    ("monthly_revenue", {"month": "November"}, "month"),
    ("monthly_revenue", {"month": "0001-01"}, "month"),
    ("monthly_revenue", {"month": "9999-12"}, "month"),
    ("monthly_revenue", {"month": "2026-11", "status": "confirmd"}, "status"),
    ("arrivals", {"date": "2026-02-30"}, "date"),
    ("arrivals", {"date": "20261120"}, "date"),
    ("arrivals", {"date": "yesterday"}, "date"),
    ("unpaid_arrivals", {"days": "0"}, "days"),
    ("unpaid_arrivals", {"days": "366"}, "days"),
    ("unpaid_arrivals", {"days": "-1"}, "days"),
    ("occupancy", {"listing": "No such house", "month": "2026-11"}, "listing"),
    ("occupancy", {"listing": "1", "month": "2026-11"}, "listing"),
    ("occupancy", {"listing": "a\0b", "month": "2026-11"}, "listing"),
    ("occupancy", {"listing": str(LISTING)}, "month"),
    ("log_issues", {"document": "no-such.log"}, "document"),
    ("log_issues", {"document": LOG, "period": "2026-11-31"}, "period"),
    ("log_issues", {"document": LOG, "period": ".*"}, "period"),
    ("find_in_notes", {"text": "x" * (LONGEST_WORDS + 1), "month": "2026-11"}, "text"),
    ("find_in_notes", {"text": "x" * 100_000, "month": "2026-11"}, "text"),
    ("find_in_notes", {"text": "bell\a", "month": "2026-11"}, "text"),
    ("arrival", {}, "name"),
]


def rejection(doors: Doors, name: str, given: dict[str, str], era: str) -> Any:
    with pytest.raises(MCPError) as error_response:
        message(doors, name, given, era)
    return error_response.value.error


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("name", "given", "parameter"), WRONG, ids=lambda value: str(value)[:50].replace("\0", ""))
def test_a_wrong_argument_is_named_with_what_to_do(
    doors: Doors, name: str, given: dict[str, str], parameter: str, era: str
):
    error = rejection(doors, name, given, era)
    assert error.code == INVALID_PARAMS
    assert error.data["parameter"] == parameter
    assert {"value", "expected", "suggestion"} <= set(error.data)
    assert tokens.claude.count(json.dumps([error.message, error.data])) < 900


@pytest.mark.parametrize("period", ["yesterday", "2026-11-31", "2026-13", "2026-11-05 to 2026-11-06"])
def test_a_wrong_period_is_told_all_that_a_period_can_be(doors: Doors, period: str):
    error = rejection(doors, "log_issues", {"document": LOG, "period": period}, "auto")
    assert error.message == "period must be a day as YYYY-MM-DD, a month as YYYY-MM, or all."
    assert error.data["suggestion"].startswith("Set period to a day such as ")


def test_what_was_probably_meant_is_suggested(doors: Doors):
    def suggested(name: str, given: dict[str, str]) -> str:
        words: str = rejection(doors, name, given, "auto").data["suggestion"]
        return words

    assert suggested("arrival", {}) == "Did you mean arrivals?"
    assert suggested("audit_booking", {"bookin": "1"}) == "Did you mean booking?"
    assert suggested("monthly_revenue", {"month": "2026-11", "status": "confirmd"}) == "Set status to confirmed."
    assert (
        suggested("occupancy", {"listing": "Blue Rige Cabin", "month": "2026-11"}) == "Did you mean Blue Ridge Cabin?"
    )
    assert suggested("log_issues", {"document": "sync-2026-11"}) == f"Did you mean {LOG}?"


@pytest.mark.parametrize(
    ("given", "words", "suggestion"),
    [
        ("2026\0", "date contains an invalid character.", "Remove the NUL or lone surrogate from date."),
        ("\0" * 201, "date is too long.", "Shorten date."),
    ],
    ids=["invalid", "long"],
)
def test_an_argument_that_is_too_long_is_told_apart_from_one_with_an_invalid_character(
    doors: Doors, given: str, words: str, suggestion: str
):
    error = rejection(doors, "arrivals", {"date": given}, "auto")
    assert (error.message, error.data["suggestion"]) == (words, suggestion)


@pytest.mark.parametrize("length", [LONGEST_WORDS + 1, 201, 100_000])
def test_words_that_are_too_long_are_told_their_own_limit(doors: Doors, length: int):
    error = rejection(doors, "find_in_notes", {"text": "x" * length, "month": "2026-11"}, "auto")
    assert error.message == "text is too long."
    assert error.data["expected"].startswith(f"a text of at most {LONGEST_WORDS} characters")


def test_a_name_that_two_listings_have_is_not_guessed(doors: Doors):
    Listing.objects.filter(id__in=[200100, 200137]).update(name="The Mill")
    error = rejection(doors, "occupancy", {"listing": "the mill", "month": "2026-11"}, "auto")
    assert error.data["suggestion"] == "Set listing to one of: 200100, 200137."
    assert "200137" in message(doors, "occupancy", {"listing": "200137", "month": "2026-11"})
