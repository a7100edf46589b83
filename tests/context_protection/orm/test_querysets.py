"""A database list as the rows of a walk: by the keys of a snapshot, or by key below a watermark (law 7)."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection

from context_protection.core import summaries
from context_protection.core.fields import Field
from context_protection.core.policy import DEFAULTS, Policy
from context_protection.core.shapes import ANY, Shape
from context_protection.orm import querysets
from context_protection.orm.querysets import ColumnRows, Columns
from context_protection.orm.statements import statement
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.models import Booking
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db

COLUMNS = Columns(row={"id": "id", "status": "status"})
CREATED = ("-inserted_on", "-id")


def save(numbers: list[int], **more: Any) -> None:
    for _ in store.save(BOOKINGS, [{"id": n, "insertedOn": "2026-01-01 00:00:00", **more} for n in numbers]):
        pass


@pytest.fixture
def twenty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty bookings of the same moment, in blocks of seven keys."""
    monkeypatch.setattr(querysets, "SNAPSHOT_ROWS", 7)
    Booking.objects.all().delete()
    save(list(range(1, 21)), status="new")


def rows(order: tuple[str, ...] = ("id",)) -> ColumnRows:
    return ColumnRows(Booking.objects.all(), shape=ANY, columns=COLUMNS, order=order)


class Reading:
    """A walk as its pages see it."""

    def __init__(self, order: tuple[str, ...] = ("id",)) -> None:
        self.order = order
        self.first = rows(order)
        self.opening = self.first.open()
        self.blocks = self.opening.blocks()
        self.read: list[int] = []

    def block(self, numbers: Sequence[int]) -> list[bytes]:
        self.read.extend(numbers)
        return [self.blocks[number] for number in numbers]

    def page(self, position: Any, size: int) -> Any:
        return rows(self.order).page(self.opening.plan, self.block, position, size)

    def everything(self) -> list[int]:
        return [row["id"] for row in rows(self.order).everything(self.opening.plan, self.block)]


def ids(page: Any) -> list[int]:
    return [row["id"] for row in page.condensed(DEFAULTS)]


@pytest.mark.usefixtures("twenty")
class TestByTheKeysOfASnapshot:
    def test_keys_are_kept_in_blocks_and_a_page_reads_only_its_own(self):
        snapshot = Reading()
        assert snapshot.opening.total == 20
        assert len(snapshot.blocks) == 3
        assert ids(snapshot.page(6, 2)) == [7, 8]
        assert snapshot.read == [0, 1]

    def test_a_block_may_end_where_a_page_ends(self):
        snapshot = Reading()
        page = snapshot.page(7, 7)
        assert ids(page) == list(range(8, 15))
        assert snapshot.read == [1]
        assert page.positions[-1] == 14

    def test_removed_rows_are_absent_and_the_others_keep_their_places(self):
        snapshot = Reading()
        Booking.objects.filter(id__in=[3, 4]).delete()
        page = snapshot.page(0, 5)
        assert ids(page) == [1, 2, 5]
        assert page.positions == [1, 2, 5]

    def test_all_of_it_is_what_is_left_in_its_own_order(self):
        snapshot = Reading()
        Booking.objects.filter(id__in=[3, 14]).delete()
        save([100])
        assert snapshot.everything() == [n for n in range(1, 21) if n not in (3, 14)]

    def test_the_end_of_a_page_that_was_removed_is_not_read_again(self):
        snapshot = Reading()
        Booking.objects.filter(id__in=[4, 5]).delete()
        page = snapshot.page(0, 5)
        assert ids(page) == [1, 2, 3]
        assert page.positions == [1, 2, 5]

    def test_a_page_of_which_all_rows_were_removed_is_skipped(self):
        snapshot = Reading()
        Booking.objects.filter(id__lte=12).delete()
        page = snapshot.page(0, 5)
        assert ids(page) == [13, 14, 15]
        assert (page.positions[-1], page.more) == (15, True)

    def test_where_all_that_follows_was_removed_the_walk_ends(self):
        snapshot = Reading()
        Booking.objects.filter(id__gt=10).delete()
        page = snapshot.page(10, 5)
        assert (ids(page), page.more) == ([], False)

    def test_the_first_page_needs_no_stored_block(self):
        opened = rows()
        plan = opened.open().plan
        page = opened.page(plan, None, None, 5)
        assert (ids(page), page.more) == ([1, 2, 3, 4, 5], True)

    def test_a_full_last_page_is_the_last(self):
        assert not Reading().page(10, 10).more


@pytest.mark.usefixtures("twenty")
class TestByKeyBelowAWatermark:
    def test_the_snapshot_is_a_watermark_and_no_keys(self):
        snapshot = Reading(CREATED)
        assert set(snapshot.opening.plan) == {"watermark"}
        assert snapshot.opening.total == 20
        assert snapshot.blocks == ()

    def test_rows_of_the_same_moment_come_once_each_across_pages(self):
        snapshot = Reading(CREATED)
        got: list[int] = []
        position, more = None, True
        while more:
            page = snapshot.page(position, 3)
            got += ids(page)
            position, more = page.positions[-1], page.more
        assert got == list(range(20, 0, -1))

    def test_what_is_written_later_is_above_the_watermark(self):
        snapshot = Reading(CREATED)
        save([100, -5])  # whose places would be before the first page and behind the last
        assert ids(snapshot.page(None, 50)) == snapshot.everything() == list(range(20, 0, -1))
        assert snapshot.opening.total == 20

    def test_a_position_that_was_removed_still_holds_the_place(self):
        snapshot = Reading(CREATED)
        position = snapshot.page(None, 5).positions[-1]
        Booking.objects.filter(id__in=[16, 15]).delete()
        assert ids(snapshot.page(position, 3)) == [14, 13, 12]

    def test_a_page_deep_down_costs_one_query_without_an_offset(self, django_assert_num_queries: Any):
        snapshot = Reading(CREATED)
        position = snapshot.page(None, 15).positions[-1]
        with django_assert_num_queries(1) as queries:
            snapshot.page(position, 3)
        assert "OFFSET" not in queries[0]["sql"].upper()


def test_a_row_that_is_changed_meanwhile_stays_in_the_walk_that_its_filter_began(
    doors: Doors, monkeypatch: pytest.MonkeyPatch
):
    """The snapshot is what the filter chose at the first page, however large the set is."""
    monkeypatch.setattr(querysets, "SNAPSHOT_ROWS", 50)
    chosen = list(Booking.objects.filter(status="confirmed").order_by(*CREATED).values_list("id", flat=True))
    other = Booking.objects.exclude(status="confirmed").order_by(*CREATED).values_list("id", flat=True).last()
    got: list[int] = []
    for number, page in enumerate(crawler.pages(doors.rest, "list_bookings", {"status": "confirmed"})):
        got += [row["id"] for row in crawler.rows(page)]
        if number == 0:  # a sync cancels the last of them, and confirms one that was not among them
            Booking.objects.filter(id=chosen[-1]).update(status="cancelled")
            Booking.objects.filter(id=other).update(status="confirmed")
    assert got == chosen


def when_first_asked_for(column: str, act: Callable[[], Any]) -> Any:
    """Does something just before the query that reads `column`, as another process may."""
    done: list[bool] = []

    def execute(run: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not done and sql.startswith("SELECT") and f'"{column}"' in sql.partition(" FROM ")[0]:
            done.append(True)
            act()
        return run(sql, params, many, context)

    return connection.execute_wrapper(execute)


@pytest.mark.parametrize("fields", ["all", "id,guestName"])
def test_a_row_that_is_removed_while_its_page_is_written_makes_no_other_come_twice(doors: Doors, fields: str):
    first = list(Booking.objects.order_by(*CREATED).values_list("id", flat=True)[:6])
    with when_first_asked_for("data", Booking.objects.filter(id=first[1]).delete):
        page = doors.rest("list_bookings", {"fields": fields, "limit": 3})
    following = doors.rest("list_bookings", {"cursor": page["nextCursor"]})
    got = [row["id"] for answer in (page, following) for row in crawler.rows(answer)]
    assert len(got) == len(set(got))
    assert got[: len(first) - 1] == [first[0], *first[2:]][: len(got)]


def test_a_page_of_which_all_rows_are_removed_while_it_is_written_still_leads_on(doors: Doors):
    first = list(Booking.objects.order_by(*CREATED).values_list("id", flat=True)[:4])
    with when_first_asked_for("data", Booking.objects.filter(id__in=first[:3]).delete):
        page = doors.rest("list_bookings", {"fields": "id", "limit": 3})
    following = doors.rest("list_bookings", {"cursor": page["nextCursor"]})
    assert [row["id"] for row in crawler.rows(following)][:1] == [first[3]]


def test_rows_by_their_keys_are_what_the_orm_reads(db: None):
    """Of every type of value: decimals, dates, times, texts, nulls; for as many keys as are asked for."""
    columns = ("pk", "total_price", "check_in", "inserted_on", "guest_name", "property_id", "nights")
    for count in (1, 2, 50):
        keys = list(Booking.objects.values_list("pk", flat=True)[:count])
        expected = set(Booking.objects.filter(pk__in=keys).values_list(*columns))
        assert set(statement(Booking, columns, count).rows(keys)) == expected
        assert len(expected) == count


AMOUNTS = [0, 60, 0.1, 0.2999, -0.0001, 3083.88, 1234.5678, 2**40, 99_999_999_999.9999, 12_345_678_901_234.5, None]


@pytest.mark.parametrize("transport", ["rest", "mcp"])
def test_amounts_are_shown_as_they_were_stored(doors: Doors, transport: str):
    Booking.objects.all().delete()
    for at, amount in enumerate(AMOUNTS, start=1):
        save([at], status="new", totalPrice=amount)
    answer = getattr(doors, transport)("list_bookings", {"order": "id"})
    assert [row.get("totalPrice") for row in crawler.rows(answer)] == AMOUNTS


@pytest.mark.parametrize("policy", [DEFAULTS, Policy(summary_fields="nights")])
def test_rows_with_columns_are_condensed_as_rows_in_memory_are(policy: Policy):
    Booking.objects.all().delete()
    save([1], status="new", guestName="Ada Lovelace of Marylebone. " * 40, nights=3)
    shape = Shape(row=(Field("id"), Field("guestName")))
    columns = Columns(row={"id": "id", "guestName": "guest_name"})
    listed = ColumnRows(Booking.objects.all(), shape=shape, columns=columns, order=("id",))
    page = listed.page(listed.open().plan, None, None, 5)
    (row,) = page.condensed(policy)
    assert [row] == summaries.rows(page.whole(1), shape, policy)
    assert row["guestName"].endswith("words: fields=guestName]")
    assert ("nights" in row) == bool(policy.summary_fields)


def test_keys_that_are_gone_have_no_rows(db: None):
    assert list(statement(Booking, ("pk",), 2).rows([-1, -2])) == []
