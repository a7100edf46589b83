import json
import re
from collections import Counter
from datetime import date, datetime
from functools import cache
from itertools import islice
from typing import Any

import ctok
import pytest

from gateway.connectors.hostaway.sample import documents, listings, reservations, transactions

Row = dict[str, Any]

STATUSES = {
    "new",
    "modified",
    "inquiry",
    "cancelled",
    "declined",
    "inquiryNotPossible",
    "inquiryPreapproved",
    "expired",
    "ownerStay",
}
CHANNELS = {
    2018: "airbnbOfficial",
    2002: "homeaway",
    2005: "bookingcom",
    2000: "direct",
    2013: "bookingengine",
}
LISTING_SUMMARY_KEYS = {
    "id",
    "name",
    "city",
    "country",
    "countryCode",
    "bedroomsNumber",
    "bathroomsNumber",
    "personCapacity",
    "price",
    "currencyCode",
    "propertyTypeId",
    "specialStatus",
    "insertedOn",
}
RESERVATION_SUMMARY_KEYS = {
    "id",
    "listingMapId",
    "listingName",
    "channelId",
    "channelName",
    "guestName",
    "guestEmail",
    "phone",
    "numberOfGuests",
    "arrivalDate",
    "departureDate",
    "nights",
    "totalPrice",
    "currency",
    "status",
    "paymentStatus",
    "insertedOn",
    "updatedOn",
}
SENSITIVE_RESERVATION_KEYS = {
    "doorCode",
    "guestAuthHash",
    "guestPortalUrl",
    "guestPortalRevampUrl",
    "stripeGuestId",
    "ccName",
    "ccNumber",
    "cvc",
    "hostProxyEmail",
}
TRANSACTION_KEYS = {
    "id",
    "accountId",
    "listingMapId",
    "channelId",
    "reservationId",
    "type",
    "status",
    "amount",
    "currency",
    "paymentMethod",
    "paymentProvider",
    "description",
    "baseRate",
    "vat",
    "cityTax",
    "cleaningFeeValue",
    "hostChannelFee",
    "insertedOn",
    "updatedOn",
}
FINANCE_LINE_KEYS = {
    "id",
    "units",
    "listingFeeSettingId",
    "type",
    "name",
    "title",
    "alias",
    "value",
    "isIncludedInTotalPrice",
    "isOverriddenByUser",
    "isMandatory",
    "isQuantitySelectable",
    "isDeleted",
    "total",
}
LOG_ENTRY = re.compile(r"2026-11-\d\dT\d\d:\d\d:\d\dZ (DEBUG|INFO |WARN |ERROR) \S+ \S")
NEWEST = "2026-11-20 00:00:00"


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def tokens(value: object) -> int:
    """The product's formula: a token is four characters, and a fifth is added for safety."""
    count = len(compact(value)) // 4
    return count + int(count * 0.2)


@cache
def account_reservations() -> tuple[Row, ...]:
    return tuple(reservations())


def full_reservations() -> list[Row]:
    return [row for row in account_reservations() if len(row) > 100]


def lean_reservations() -> list[Row]:
    return [row for row in account_reservations() if len(row) <= 100]


@cache
def content_of(name: str) -> str:
    (found,) = (document.content for document in documents() if document.name == name)
    return found


def log_lines() -> list[str]:
    return content_of("sync-2026-11.log").splitlines()


def assert_inserted_in_pairs(rows: list[Row]) -> None:
    times = [row["insertedOn"] for row in rows]
    assert times == sorted(times, reverse=True)
    assert times[0] == NEWEST
    assert times[::2] == times[1::2]
    assert len(set(times)) == len(times) // 2


# --- the account as a whole


def test_every_call_gives_the_same_account() -> None:
    assert listings() == listings()
    assert list(reservations(60)) == list(reservations(60))
    assert list(transactions(60)) == list(transactions(60))
    assert documents() == documents()


def test_a_reservation_is_the_same_whatever_the_count() -> None:
    assert list(islice(reservations(1_000_000), 50)) == list(account_reservations()[:50])


def test_everything_can_be_written_as_json_and_read_back() -> None:
    for rows in (listings(), list(account_reservations()), list(transactions())):
        assert json.loads(compact(rows)) == rows


def test_mail_addresses_and_phone_numbers_belong_to_nobody() -> None:
    text = compact([listings(), account_reservations(), [document.content for document in documents()]])
    hosts = set(re.findall(r"[\w.+-]+@([\w.-]+)", text))
    assert hosts == {"example.com", "example.org", "host.example.org"}
    phones = {row["phone"] for row in account_reservations() if row["phone"]}
    assert all(re.fullmatch(r"\+1-555-01\d\d", phone) for phone in phones)


def test_no_slot_of_a_sentence_was_left_open() -> None:
    texts = [listings(), account_reservations(), list(transactions()), [d.content for d in documents()]]
    assert re.findall(r"\{[a-z_]+\}", compact(texts)) == []


# --- listings


def test_there_are_twelve_listings_with_the_keys_of_a_summary() -> None:
    rows = listings()
    assert [row["id"] for row in rows] == [200100 + 37 * number for number in range(12)]
    assert all(row.keys() >= LISTING_SUMMARY_KEYS for row in rows)
    assert {len(row) for row in rows} == {115}
    assert all(row["specialStatus"] is None for row in rows)


def test_listings_weigh_what_real_ones_weigh_and_their_images_decide() -> None:
    rows = listings()
    sizes = [len(compact(row).encode()) for row in rows]
    images = [len(row["listingImages"]) for row in rows]
    assert min(sizes) >= 22_000
    assert max(sizes) <= 46_000
    assert images[sizes.index(max(sizes))] == max(images) == 60
    assert images[sizes.index(min(sizes))] == min(images) == 0
    assert images.count(0) == 1


@pytest.mark.parametrize(
    ("script", "at_least"),
    [(r"[\u0e00-\u0e7f]", 2), (r"[\u3040-\u30ff\u4e00-\u9fff]", 2), (r"[\U0001f300-\U0001faff]", 4)],
    ids=["Thai", "Japanese", "emoji"],
)
def test_some_listings_are_described_in_other_scripts(script: str, at_least: int) -> None:
    described = [row for row in listings() if re.search(script, row["name"] + row["description"])]
    assert len(described) >= at_least


def test_every_listing_has_secrets_that_can_be_withheld() -> None:
    for row in listings():
        assert row["wifiUsername"]
        assert row["wifiPassword"]
        assert row["doorSecurityCode"]


def test_no_sentence_comes_twice_in_a_description() -> None:
    for row in listings():
        sentences = re.split(r"(?<=[.!?])\s+", row["description"])
        assert len(set(sentences)) == len(sentences)


# --- reservations


def test_there_are_500_reservations_numbered_from_the_newest() -> None:
    assert [row["id"] for row in account_reservations()] == list(range(43_000_000, 43_000_500))


def test_two_reservations_each_share_a_moment_and_the_newest_come_first() -> None:
    assert_inserted_in_pairs(list(account_reservations()))


def test_nothing_was_changed_before_it_was_made_or_after_the_last_synchronisation() -> None:
    for row in account_reservations():
        assert row["insertedOn"] < row["updatedOn"] <= "2026-11-20 09:00:00"


def test_full_reservations_have_all_keys_and_lean_ones_the_essential_ones() -> None:
    (keys,) = {tuple(row) for row in full_reservations()}
    assert len(keys) == 123
    assert set(keys) >= RESERVATION_SUMMARY_KEYS | SENSITIVE_RESERVATION_KEYS
    for row in lean_reservations():
        assert 30 <= len(row) <= 40
        assert RESERVATION_SUMMARY_KEYS <= row.keys() <= set(keys)
        assert row["channelName"] == "direct"


def test_more_than_half_of_the_keys_are_empty() -> None:
    empty = [sum(not value for value in row.values()) for row in full_reservations()]
    assert min(empty) >= 60
    assert max(empty) <= 80
    assert 0.55 < sum(empty) / len(empty) / 123 < 0.65


def test_500_reservations_make_about_550_000_tokens() -> None:
    assert 545_000 <= tokens(account_reservations()) <= 560_000
    assert 545_000 <= sum(map(tokens, account_reservations())) <= 560_000


def test_the_newest_four_reservations_are_large() -> None:
    assert all(3_050 <= tokens(row) <= 3_300 for row in account_reservations()[:3])
    assert 5_200 <= tokens(account_reservations()[3]) <= 5_900


def test_a_few_others_are_large_some_are_small_and_most_are_usual() -> None:
    sizes = {number: tokens(row) for number, row in enumerate(account_reservations())}
    large = {number for number, size in sizes.items() if size > 2_000}
    small = {number for number, size in sizes.items() if size < 500}
    assert large == {0, 1, 2, 3, 40, 111, 250}
    assert all(sizes[number] <= 3_500 for number in (40, 111, 250))
    assert len(small) == len(lean_reservations()) == 20
    assert all(850 <= size <= 1_400 for number, size in sizes.items() if number not in large | small)


def test_all_statuses_and_channels_occur_and_firm_airbnb_bookings_prevail() -> None:
    statuses = Counter(row["status"] for row in account_reservations())
    channels = Counter((row["channelId"], row["channelName"]) for row in account_reservations())
    assert set(statuses) == STATUSES
    assert statuses["new"] > statuses["modified"] > statuses["cancelled"] > statuses["declined"]
    assert set(channels) == set(CHANNELS.items())
    assert channels[2018, "airbnbOfficial"] > 350


def test_dates_and_nights_agree_and_guests_mostly_come_after_they_booked() -> None:
    early = 0
    for row in account_reservations():
        arrival, departure = date.fromisoformat(row["arrivalDate"]), date.fromisoformat(row["departureDate"])
        assert (departure - arrival).days == row["nights"]
        early += arrival < datetime.fromisoformat(row["reservationDate"]).date()
    assert 0 < early < 25


def test_prices_are_in_the_currency_of_the_listing_and_add_up() -> None:
    currencies = {row["id"]: row["currencyCode"] for row in listings()}
    for row in account_reservations():
        assert row["currency"] == currencies[row["listingMapId"]]
        if base := row.get("airbnbListingBasePrice"):
            lines = row["financeField"]
            parts = [line["total"] for line in lines if line["isIncludedInTotalPrice"]]
            parts = parts or [base, row["taxAmount"], row["cleaningFee"]]
            assert row["totalPrice"] == pytest.approx(sum(parts), abs=1)


def test_large_reservations_carry_finance_lines_of_14_keys() -> None:
    counts = {number: len(row["financeField"]) for number, row in enumerate(account_reservations()[:4])}
    assert counts == dict.fromkeys(range(4), 25)
    lines = [line for row in full_reservations() for line in row["financeField"]]
    assert all(line.keys() == FINANCE_LINE_KEYS for line in lines)
    assert len({line["id"] for line in lines}) == len(lines)
    assert {line["type"] for line in lines} == {"price", "tax", "fee", "discount"}


def test_the_largest_reservation_has_twelve_custom_fields_and_a_note_without_repetition() -> None:
    row = account_reservations()[3]
    assert len(row["customFieldValues"]) == 12
    assert len(row["guestNote"]) > 4_000
    sentences = re.split(r"(?<=[.!?])\s+", row["guestNote"])
    assert len(set(sentences)) == len(sentences)


def test_cancelled_reservations_say_when_and_by_whom() -> None:
    for row in account_reservations():
        assert bool(row["cancellationDate"]) == bool(row["cancelledBy"]) == (row["status"] == "cancelled")
        if row["cancellationDate"]:
            assert row["insertedOn"][:10] <= row["cancellationDate"] <= NEWEST[:10]


def test_guests_have_names_in_many_scripts_and_some_write_in_their_own() -> None:
    names = "".join(row["guestName"] for row in account_reservations())
    guest_notes = "".join(row["guestNote"] or "" for row in full_reservations())
    for script in (
        r"[\u00c0-\u017f]",
        r"[\u0e00-\u0e7f]",
        r"[\u4e00-\u9fff]",
        r"[\u0600-\u06ff]",
        r"[\u0400-\u04ff]",
    ):
        assert re.search(script, names)
    assert re.search(r"[\u0e00-\u0e7f]", guest_notes)
    assert re.search(r"[\u3040-\u30ff]", guest_notes)
    assert len({row["guestName"] for row in account_reservations()}) > 350


def test_secrets_of_guests_are_there_to_be_withheld() -> None:
    rows = full_reservations()
    for key in ("doorCode", "guestAuthHash", "guestPortalUrl", "guestPortalRevampUrl", "hostProxyEmail"):
        assert all(row[key] for row in rows)
    for key in ("stripeGuestId", "ccName", "ccNumber", "cvc"):
        filled = [row for row in rows if row[key]]
        assert 5 < len(filled) < len(rows) / 2
    assert all(re.fullmatch(r"\*{12}\d{4}", row["ccNumber"]) for row in rows if row["ccNumber"])


# --- transactions


def test_there_are_320_transactions_with_the_keys_of_the_upstream() -> None:
    rows = list(transactions())
    assert [row["id"] for row in rows] == list(range(700_000, 700_320))
    assert all(row.keys() == TRANSACTION_KEYS for row in rows)
    assert_inserted_in_pairs(rows)


def test_transactions_agree_with_the_reservation_that_they_belong_to() -> None:
    by_id = {row["id"]: row for row in account_reservations()}
    for row in transactions():
        paid = by_id[row["reservationId"]]
        assert row["insertedOn"] >= paid["insertedOn"]
        assert (row["listingMapId"], row["channelId"]) == (paid["listingMapId"], paid["channelId"])
        assert row["currency"] == paid["currency"]
        assert 0 < abs(row["amount"]) <= paid["totalPrice"]
        assert paid["status"] in {"new", "modified", "cancelled"}
        assert (row["type"] == "refund") == (paid["status"] == "cancelled")


def test_what_comes_in_is_positive_and_what_goes_out_is_negative() -> None:
    kinds = {(row["type"], row["amount"] > 0) for row in transactions()}
    assert kinds == {("charge", True), ("payout", True), ("refund", False), ("fee", False)}


def test_more_transactions_than_paid_reservations_still_belong_to_reservations() -> None:
    assert {row["reservationId"] for row in transactions(1_000)} <= {row["id"] for row in account_reservations()}


# --- documents


def test_there_are_four_documents_with_names_titles_and_types() -> None:
    assert {document.name: document.media_type for document in documents()} == {
        "sync-2026-11.log": "text/plain",
        "house-manual.md": "text/markdown",
        "cleaning-checklist.txt": "text/plain",
        "check-in-guide.md": "text/markdown",
    }
    assert all(document.title for document in documents())


def test_the_log_has_10_000_lines_and_its_first_200_are_entries_of_their_own() -> None:
    lines = log_lines()
    assert len(lines) == 10_000
    assert all(LOG_ENTRY.match(line) for line in lines[:201])
    assert all(LOG_ENTRY.match(line) or line.startswith("    ") for line in lines)
    assert all(80 <= len(line.encode()) <= 120 for line in lines if LOG_ENTRY.match(line))


def test_the_log_goes_forward_in_time() -> None:
    times = [line[:20] for line in log_lines() if LOG_ENTRY.match(line)]
    assert times == sorted(times)
    assert "2026-11-01" <= times[0] < times[-1] < "2026-11-20"


def test_fifteen_errors_carry_a_stack_trace_and_nothing_else_does() -> None:
    entries = re.split(r"\n(?=\S)", content_of("sync-2026-11.log").rstrip("\n"))
    traces = [entry.splitlines()[1:] for entry in entries if " ERROR " in entry]
    assert len(traces) == 15
    assert all(4 <= len(trace) <= 9 for trace in traces)
    assert sum(len(trace) for trace in traces) + len(entries) == 10_000


def test_the_messages_of_the_log_are_varied() -> None:
    shapes = {re.sub(r"\d+", "#", line[20:]) for line in log_lines()}
    assert len(shapes) > 45


def test_two_hundred_lines_of_the_log_stay_below_11_000_tokens() -> None:
    lines = log_lines()
    windows = [lines[start : start + 200] for start in (0, 250, 4_900, 9_800)]
    windows.append(max((lines[n : n + 200] for n in range(9_801)), key=lambda window: sum(map(len, window))))
    assert all(ctok.token_count(json.dumps("\n".join(window)), "4.8") < 11_000 for window in windows)


def test_the_house_manual_is_markdown_of_some_50_kilobytes() -> None:
    manual = content_of("house-manual.md")
    assert 48_000 <= len(manual.encode()) <= 53_000
    assert len(re.findall(r"^#{1,3} ", manual, re.M)) > 60
    assert len(re.findall(r"^\|---", manual, re.M)) > 12
    assert manual.count("```") == 4
    assert re.search(r"[\u0e00-\u0e7f]", manual)
    assert re.search(r"[\u3040-\u30ff]", manual)
    assert re.search(r"[\U0001f300-\U0001faff]", manual)


def test_the_house_manual_has_a_chapter_for_each_listing_and_hardly_repeats_itself() -> None:
    manual = content_of("house-manual.md")
    assert [int(found) for found in re.findall(r"^## .* \((\d{6})\)$", manual, re.M)] == [
        row["id"] for row in listings()
    ]
    bullets = re.findall(r"^- .+$", manual, re.M)
    assert len(set(bullets)) == len(bullets)


def test_no_document_gives_a_password_or_a_code_away() -> None:
    texts = "".join(document.content for document in documents())
    for row in listings():
        assert row["wifiPassword"] not in texts
        assert row["doorSecurityCode"] not in texts


def test_the_two_short_documents_are_short() -> None:
    assert tokens(content_of("check-in-guide.md")) < 900
    assert 1_300 < tokens(content_of("cleaning-checklist.txt")) < 1_700
