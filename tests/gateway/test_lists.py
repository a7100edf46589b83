"""Lists as their callers see them: pages, totals, forms, filters, orders (FR-001 to FR-006, FR-017)."""

from typing import Any

import orjson
import pytest

from context_protection.core import tables, tokens
from context_protection.core.folding import fold_for_search
from context_protection.models import TokenBudget
from context_protection.orm import query
from context_protection.stores.snapshots import snapshots
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.models import Booking
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db

LIST = "list_bookings"
PAGING = {"nextCursor", "totalCount", "pageSize", "hasMore"}


def test_five_hundred_bookings_come_in_ten_pages_each_once_newest_first(doors: Doors):
    pages = list(crawler.pages(doors.mcp, LIST, {}))
    rows = [row for page in pages for row in page["items"]]
    assert [len(page["items"]) for page in pages] == [50] * 10
    expected = list(Booking.objects.order_by("-inserted_on", "-id").values_list("id", flat=True))
    assert [row["id"] for row in rows] == expected
    for page in pages:
        assert page["meta"]["totalCount"] == 500
        assert page["meta"]["estimatedTokens"] <= 4000
    assert [page["meta"]["hasMore"] for page in pages] == [True] * 9 + [False]
    assert "nextCursor" not in pages[-1]


def test_a_plain_call_is_the_first_page(doors: Doors):
    plain, asked = doors.rest(LIST, {}), doors.rest(LIST, {"limit": 50})
    assert plain["items"] == asked["items"]
    assert "nextCursor" in plain


def test_a_list_that_fits_has_no_paging_metadata(doors: Doors):
    answer = doors.rest("list_documents", {})
    assert set(answer) == {"items", "meta"}
    assert set(answer["meta"]) == {"estimatedTokens", "budgetUsed", "budgetRemaining"}


CONDENSED = {"kind", "projectedFields", "totalFields", "detailsAvailable", "originalTokens", "resultHandle"}
SIZES = {"estimatedTokens", "budgetUsed", "budgetRemaining"}
# A list that goes on, and one that is whole.
GOES_ON = ({"items", "meta", "nextCursor"}, {*CONDENSED, *SIZES, "totalCount", "pageSize", "hasMore", "snapshotAt"})
WHOLE = ({"items", "meta"}, {*CONDENSED, *SIZES})


@pytest.mark.parametrize(
    ("operation", "shape", "count", "fields"),
    [
        ("list_listings", WHOLE, 12, "id name status city country bedrooms bathrooms maxGuests price currency"),
        (LIST, GOES_ON, 50, "id status guestName checkInDate checkOutDate totalPrice currency propertyId"),
        ("list_transactions", GOES_ON, 50, "id type status amount currency bookingId propertyId insertedOn"),
    ],
)
def test_a_client_that_knows_no_paging_gets_the_shape_it_was_written_for(
    doors: Doors, operation: str, shape: tuple[set[str], set[str]], count: int, fields: str
):
    """It sends no parameter and reads `items`. What it reads is written down here, so that no change is unseen."""
    for door in (doors.rest, doors.mcp):
        answer = door(operation, {})
        assert (set(answer), set(answer["meta"])) == shape
        assert [list(row) for row in answer["items"]] == [fields.split()] * count


def test_a_caller_that_pages_always_gets_paging_metadata(doors: Doors):
    answer = doors.rest("list_documents", {"limit": 50})
    assert answer["meta"]["hasMore"] is False
    assert answer["meta"]["totalCount"] == 4
    assert "nextCursor" not in answer


def test_a_preview_list_says_what_it_left_out_and_how_to_get_it(doors: Doors):
    meta = doors.rest(LIST, {})["meta"]
    assert meta["kind"] == "preview"
    assert meta["projectedFields"][:3] == ["id", "status", "guestName"]
    assert meta["totalFields"] > 100
    assert meta["originalTokens"] > 40_000
    operation, arguments = crawler.details(meta["detailsAvailable"])
    assert len(crawler.walk(doors.rest, operation, {**arguments, "limit": 200})) == 500


def test_few_rows_are_condensed_as_many_are(doors: Doors):
    one, many = doors.rest(LIST, {"limit": 1}), doors.rest(LIST, {})
    assert one["items"] == many["items"][:1]
    assert one["meta"]["kind"] == many["meta"]["kind"] == "preview"


def test_whole_rows_have_canonical_names_and_raw_ones_are_upstreams(doors: Doors):
    (whole,) = doors.rest(LIST, {"limit": 1, "fields": "all"})["items"]
    (row,) = doors.rest(LIST, {"limit": 1})["items"]
    assert row.items() <= whole.items()
    (raw,) = doors.rest(LIST, {"limit": 1, "fields": "raw"})["items"]
    assert whole["checkInDate"] == raw["arrivalDate"]
    assert None in raw.values()
    assert None not in whole.values()
    assert set(doors.rest(LIST, {})["meta"]["projectedFields"]) <= set(whole)


@pytest.mark.parametrize("address", ["/api/reservations", "/api/bookings", "/api/v1/bookings"])
def test_parameters_of_older_clients_are_accepted_with_a_note(doors: Doors, address: str):
    answer = doors.response(f"{address}?limit=5&offset=10&includeResources=1&sortOrder=nameAsc").json()
    assert len(answer["items"]) == 5
    assert [note.partition(" ")[0] for note in answer["meta"]["notes"]] == ["offset", "includeResources", "sortOrder"]
    assert "notes" not in doors.response(f"{address}?limit=5").json()["meta"]


def test_what_meta_takes_of_a_page(doors: Doors):
    for operation in (LIST, "list_listings", "list_transactions"):
        for door in (doors.rest, doors.mcp):
            first, *following = crawler.pages(door, operation, {})
            assert tokens.formula(orjson.dumps(first["meta"]).decode()) <= 170
            assert all(tokens.formula(orjson.dumps(page["meta"]).decode()) <= 70 for page in following)


def test_guest_contact_and_secrets_are_withheld_from_lists_and_named(doors: Doors):
    answer = doors.rest(LIST, {"limit": 1, "fields": "raw"})
    withheld = set(answer["meta"]["withheld"])
    assert {"guestEmail", "guestPicture", "doorCode"} <= withheld
    row = answer["items"][0]
    assert withheld & set(row) == {name for name, value in row.items() if "[withheld: " in str(value)}
    assert row["doorCode"] == "[withheld: door code]"


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        ({"status": "confirmed"}, lambda row: row["status"] == "confirmed"),
        ({"status": "cancelled"}, lambda row: row["status"] == "cancelled"),
        ({"propertyId": 200285}, lambda row: row["propertyId"] == 200285),
        ({"guestName": "an"}, lambda row: "AN" in fold_for_search(row["guestName"])),
        ({"checkInFrom": "2026-12-01", "checkInTo": "2026-12-31"}, lambda row: row["checkInDate"][:7] == "2026-12"),
        (
            {"minTotalPrice": 1000, "currency": "eur"},
            lambda row: row["totalPrice"] >= 1000 and row["currency"] == "EUR",
        ),
    ],
)
def test_filters_choose_and_the_total_is_of_what_they_chose(doors: Doors, arguments: dict[str, Any], holds: Any):
    whole = crawler.walk(doors.rest, LIST, {"format": "items"})
    chosen = [row for row in whole if holds(row)]
    got = crawler.walk(doors.rest, LIST, {**arguments, "format": "items"})
    assert chosen
    assert [row["id"] for row in got] == [row["id"] for row in chosen]
    assert doors.rest(LIST, {**arguments, "limit": 1})["meta"]["totalCount"] == len(chosen)


def test_upstream_statuses_can_be_asked_for(doors: Doors):
    new, modified, confirmed = (
        doors.rest(LIST, {"status": status, "limit": 1})["meta"]["totalCount"]
        for status in ("new", "modified", "confirmed")
    )
    assert new + modified == confirmed > new > 0


def test_any_sortable_column_orders_and_ties_are_broken(doors: Doors):
    for order in ("-totalPrice", "checkInDate", "guestName", "propertyId"):
        rows = crawler.walk(doors.rest, LIST, {"order": order, "format": "items"})
        assert len({row["id"] for row in rows}) == 500
    prices = [row["totalPrice"] for row in crawler.walk(doors.rest, LIST, {"order": "-totalPrice"})]
    assert prices == sorted(prices, reverse=True)


@pytest.mark.parametrize(("order", "ids"), [("totalPrice", [1, 2, 3]), ("-totalPrice", [2, 1, 3])])
def test_rows_without_the_value_that_a_list_is_sorted_by_come_last(doors: Doors, order: str, ids: list[int]):
    Booking.objects.all().delete()
    rows = [{"id": n, "insertedOn": "2026-01-01 00:00:00", "totalPrice": p} for n, p in ((1, 5), (2, 7.5), (3, None))]
    assert list(store.save(BOOKINGS, rows))
    for arguments in ({"order": order}, {"order": order, "where": {"id": {"lt": 9}}}):
        assert [row["id"] for row in doors.rest(LIST, arguments)["items"]] == ids


def test_fields_choose_columns_in_the_asked_order(doors: Doors):
    answer = doors.rest(LIST, {"fields": "guestName,id,arrivalDate", "limit": 5})
    assert [list(row) for row in answer["items"]] == [["guestName", "id", "arrivalDate"]] * 5


def test_a_page_that_would_not_fit_has_fewer_rows(doors: Doors):
    answer = doors.rest(LIST, {"limit": 200})
    assert answer["meta"]["estimatedTokens"] <= 4000
    assert answer["meta"]["pageSize"] == len(answer["items"]) < 200
    assert answer["meta"]["hasMore"]
    rows = crawler.walk(doors.rest, LIST, {"limit": 200})
    assert rows == crawler.walk(doors.rest, LIST, {})


def test_a_table_hoists_what_is_the_same_in_every_row(doors: Doors):
    answer = doors.rest(LIST, {"currency": "EUR", "format": "table"})
    assert answer["table"]["constants"]["currency"] == "EUR"
    assert "currency" not in answer["table"]["columns"]
    items = doors.rest(LIST, {"currency": "EUR", "format": "items"})["items"]
    assert tables.rows(answer["table"])[: len(items)] == items[: len(answer["table"]["rows"])]


def test_the_same_cursor_gives_the_same_page_again(doors: Doors):
    cursor = doors.rest(LIST, {})["nextCursor"]
    assert doors.rest(LIST, {"cursor": cursor})["items"] == doors.mcp(LIST, {"cursor": cursor})["items"]


def test_condensed_rows_are_the_previews_of_their_records(doors: Doors):
    """A row is read from columns, a preview from the upstream object: they must not drift apart."""
    for list_operation, record_operation in (
        ("list_bookings", "get_booking"),
        ("list_listings", "get_listing"),
    ):
        for row in doors.rest(list_operation, {"limit": 4, "format": "items"})["items"][:4]:
            answer = doors.rest(record_operation, {"id": row["id"]})
            if crawler.is_preview(answer) and "guestEmail" not in row:
                shared = {name: value for name, value in row.items() if name in answer["summary"]}
                assert shared == {name: answer["summary"][name] for name in shared}


def test_older_addresses_still_answer(doors: Doors):
    for address in ("/api/reservations", "/api/bookings"):
        assert doors.get(address, {"limit": 3})["items"] == doors.rest(LIST, {"limit": 3})["items"]
    booking = doors.get("/api/reservations/43000010")
    assert booking["id"] == 43000010


def ids(answer: dict[str, Any]) -> list[int]:
    return [row["id"] for row in crawler.rows(answer)]


@pytest.mark.parametrize(("pages", "first", "last"), [("1-3", 1, 3), ("3", 1, 3), ("2-4", 2, 4), ("5-5", 5, 5)])
def test_several_pages_come_at_once_and_the_walk_goes_on_behind_them(doors: Doors, pages: str, first: int, last: int):
    every = [row["id"] for row in crawler.walk(doors.rest, LIST, {"limit": 20})]
    answer = doors.mcp(LIST, {"limit": 20, "pages": pages})
    assert ids(answer) == every[(first - 1) * 20 : last * 20]
    assert answer["meta"]["pageSize"] == 20
    following = doors.mcp(LIST, {"cursor": answer["nextCursor"]})
    assert ids(following) == every[last * 20 : (last + 1) * 20], "and its pages are ordinary ones again"


def test_pages_that_do_not_fit_end_where_the_cursor_goes_on(doors: Doors):
    every = [row["id"] for row in crawler.walk(doors.rest, LIST, {"limit": 200})]
    answer = doors.rest(LIST, {"limit": 200, "pages": "1-3"})
    assert len(ids(answer)) < 500
    assert ids(doors.rest(LIST, {"cursor": answer["nextCursor"]}))[0] == every[len(ids(answer))]


@pytest.mark.parametrize("pages", ["0", "3-1", "1-11", "x", "1-", "-1", "1-2-3", "99", "", "٣"])
def test_pages_that_make_no_sense_are_refused_with_what_would(doors: Doors, pages: str):
    error = doors.rest(LIST, {"pages": pages})["error"]
    assert error["reason"] == "invalid_pages"
    assert error["data"]["parameter"] == "pages"
    assert "1-3" in error["data"]["suggestion"]


def test_pages_behind_the_last_one_are_refused(doors: Doors):
    assert len(ids(doors.rest(LIST, {"pages": "10-11"}))) == 50
    error = doors.rest(LIST, {"pages": "11-12"})["error"]
    assert (error["reason"], "after the last page" in error["message"]) == ("invalid_pages", True)


def test_pages_exclude_a_cursor(doors: Doors):
    cursor = doors.rest(LIST, {})["nextCursor"]
    assert doors.rest(LIST, {"cursor": cursor, "pages": "1-3"})["error"]["reason"] == "invalid_pages"


def test_the_same_call_gives_the_same_bytes(doors: Doors, monkeypatch: pytest.MonkeyPatch):
    """So that prompts that hold it are cached. Within a minute, for then the cursor's time of issue is another."""
    monkeypatch.setattr(snapshots.sealer, "clock", lambda: 1_800_000_000.0)
    for arguments in ({}, {"status": "confirmed"}, {"order": "totalPrice", "limit": 200}):
        first = doors.response("/api/v1/bookings", arguments).content
        assert doors.response("/api/v1/bookings", arguments).content == first


@pytest.mark.parametrize("ask", ["rest", "mcp", "post"])
def test_where_chooses_rows_and_aggregate_adds_them_up(doors: Doors, ask: str):
    call, wanted = getattr(doors, ask), {"currency": "EUR", "totalPrice": {"gte": 1000}}
    answer = call(LIST, {"where": wanted, "limit": 200})
    rows = Booking.objects.filter(currency="EUR", total_price__gte=1000)
    assert answer["meta"]["totalCount"] == rows.count()
    assert set(ids(answer)) == set(rows.values_list("id", flat=True))
    aggregate = {"metrics": [{"op": "count"}, {"op": "max", "field": "totalPrice"}]}
    (group,) = call(LIST, {"where": wanted, "aggregate": aggregate})["groups"]
    assert group == {"count": rows.count(), "max_totalPrice": float(max(rows.values_list("total_price", flat=True)))}


@pytest.mark.parametrize("name", ["total", "Total"])
def test_where_and_aggregate_know_the_aliases_of_fields(doors: Doors, name: str):
    answer = doors.rest(LIST, {"where": {name: {"gte": 1000}, "currency": "EUR"}, "limit": 200})
    rows = Booking.objects.filter(currency="EUR", total_price__gte=1000)
    assert set(ids(answer)) == set(rows.values_list("id", flat=True))
    most = {"groupBy": ["currency"], "metrics": [{"op": "max", "field": name}]}
    (group,) = doors.rest(LIST, {"where": {"currency": "EUR"}, "aggregate": most})["groups"]
    assert group["currency"] == "EUR"
    assert group["max_total"] == float(max(rows.values_list("total_price", flat=True)))


def test_a_walk_of_where_keeps_to_it_also_from_its_hint(doors: Doors):
    first = doors.rest(LIST, {"where": {"status": "confirmed"}})
    rows = [*first["items"], *doors.rest(LIST, {"cursor": first["nextCursor"]})["items"]]
    assert {row["status"] for row in rows} == {"confirmed"}
    operation, arguments = crawler.details(first["meta"]["detailsAvailable"])
    assert {row["status"] for row in crawler.rows(doors.rest(operation, arguments))} == {"confirmed"}, "whole"


@pytest.mark.parametrize("more", [{}, {"aggregate": {"groupBy": ["guestName"]}}])
def test_a_walk_goes_on_when_its_question_would_be_refused_by_now(
    doors: Doors, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any]
):
    arguments = {"where": {"isArchived": 0}, **more}
    first = doors.mcp(LIST, arguments)
    monkeypatch.setattr(query, "MAX_READ", 100)
    assert doors.mcp(LIST, arguments)["error"]["reason"] == "too_many_rows"
    going_on = doors.mcp(LIST, {"cursor": first["nextCursor"]})
    assert len(going_on.get("groups") or crawler.rows(going_on)) == 50
    behind = crawler.walk(doors.mcp, "result_get", {"handle": first["meta"]["resultHandle"]})
    assert len(behind) == first["meta"]["totalCount"]


def test_amounts_in_several_currencies_are_apart_and_it_is_said(doors: Doors):
    answer = doors.mcp(LIST, {"aggregate": {"metrics": [{"op": "sum", "field": "totalPrice"}]}})
    assert len({group["currency"] for group in answer["groups"]}) == len(answer["groups"]) > 1
    assert "do not add" in answer["meta"]["notes"][0]
    one = doors.mcp(
        LIST, {"where": {"currency": "EUR"}, "aggregate": {"metrics": [{"op": "sum", "field": "totalPrice"}]}}
    )
    assert "currency is EUR in all rows" in one["meta"]["notes"][0]


def test_a_group_that_alone_is_over_the_cap_says_how_to_get_all_of_it(doors: Doors):
    booking = Booking.objects.get(id=43000003)
    document, note = orjson.loads(booking.data), "A very long text. " * 20_000
    Booking.objects.filter(id=booking.id).update(data=orjson.dumps({**document, "guestNote": note}).decode())
    asked = {"where": {"id": booking.id}, "aggregate": {"groupBy": ["guestNote"]}}
    (group,) = doors.mcp(LIST, asked)["groups"]
    operation, arguments = crawler.details(group["detailsAvailable"])
    assert crawler.from_parts(doors.mcp, operation, arguments) == {"guestNote": note, "count": 1}


def test_many_groups_come_in_pages(doors: Doors):
    aggregate = {"groupBy": ["guestName"]}
    groups = [group for page in crawler.pages(doors.mcp, LIST, {"aggregate": aggregate}) for group in page["groups"]]
    assert sum(group["count"] for group in groups) == 500
    assert len(groups) == Booking.objects.values("guest_name").distinct().count()


def test_a_status_of_upstreams_own_is_asked_by_its_own_name(doors: Doors):
    error = doors.mcp(LIST, {"where": {"status": "new"}})["error"]
    assert '{"sourceStatus":"new"}' in error["data"]["suggestion"]
    answer = doors.mcp(LIST, {"where": {"sourceStatus": "new"}})
    assert answer["meta"]["totalCount"] == Booking.objects.filter(source_status="new").count() > 0


@pytest.mark.parametrize("where", ['{"currency":"EUR"}', {"currency": "EUR"}])
def test_an_object_may_come_as_the_text_of_one(doors: Doors, where: Any):
    assert doors.mcp(LIST, {"where": where})["meta"]["totalCount"] == Booking.objects.filter(currency="EUR").count()


def test_ops_can_have_tables_wherever_they_are_smaller(doors: Doors, django_capture_on_commit_callbacks: Any):
    items = doors.rest(LIST, {})
    with django_capture_on_commit_callbacks(execute=True):
        TokenBudget.objects.create(operation="", list_format="auto")
    answer = doors.rest(LIST, {})
    assert crawler.rows(answer) == items["items"]
    assert answer["meta"]["estimatedTokens"] < 0.7 * items["meta"]["estimatedTokens"]
    assert "items" in doors.rest(LIST, {"format": "items"}), "a caller's choice goes first"
    assert "items" in doors.rest(LIST, {"limit": 1}), "a table of one row is no smaller"


def test_tables_can_be_switched_off_and_come_only_where_they_are_requested(
    doors: Doors, django_capture_on_commit_callbacks: Any
):
    with django_capture_on_commit_callbacks(execute=True):
        TokenBudget.objects.create(operation="", list_format="table")
        TokenBudget.objects.create(operation=LIST, tables=False)
    assert "items" in doors.rest(LIST, {})
    assert "table" in doors.rest(LIST, {"format": "table"})
    assert "table" in doors.rest("list_listings", {})
