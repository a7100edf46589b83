"""Law 7: a walk returns every row of its snapshot once, in order, whatever is written meanwhile. Law 6: a request sees
one policy."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_protection.models import TokenBudget
from context_protection.orm import querysets
from gateway.catalog.caller import Caller
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.models import Booking
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking
from tests import crawler

pytestmark = pytest.mark.django_db
in_a_transaction = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

START = datetime(2026, 1, 1, tzinfo=UTC)


def booking(number: int, order: random.Random) -> dict[str, Any]:
    created = START + timedelta(hours=order.randrange(40))  # many share their time of creation
    return {
        "id": number,
        "guestName": f"Guest {number}",
        "status": order.choice(["new", "modified", "cancelled"]),
        "totalPrice": order.randrange(5) * 100,
        "insertedOn": created.strftime("%Y-%m-%d %H:%M:%S"),
    }


def save(bookings: list[dict[str, Any]]) -> None:
    for _ in store.save(BOOKINGS, bookings):
        pass


def request(operation: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = Call(operation, arguments, Caller("key:1", "tests"), "rest", hints.rest)
    document: dict[str, Any] = orjson.loads(serve_blocking(call).body)
    return document


def meddle(order: random.Random, known: list[int]) -> set[int]:
    """Writes as a sync does while somebody pages: new rows, changed ones, removed ones. Returns the removed ids."""
    fresh = [booking(max(known) + 1 + n, order) for n in range(order.randrange(3))]
    changed = [booking(number, order) for number in order.sample(known, min(3, len(known)))]
    for each in changed:  # when it was created does not change
        each["insertedOn"] = (
            Booking.objects.filter(id=each["id"]).values_list("inserted_on", flat=True).first() or START
        )
        each["insertedOn"] = str(each["insertedOn"])[:19]
    removed = set(order.sample(known, order.randrange(2)))
    save([each for each in changed if Booking.objects.filter(id=each["id"]).exists()] + fresh)
    Booking.objects.filter(id__in=removed).delete()
    known.extend(each["id"] for each in fresh)
    return removed


@in_a_transaction
@given(
    count=st.integers(0, 60),
    limit=st.integers(1, 20),
    order=st.sampled_from(["-insertedOn", "insertedOn", "-totalPrice", "status", "id"]),
    in_blocks_of=st.sampled_from([7, 2000]),
    seed=st.integers(0, 2**16),
)
def test_every_row_of_the_snapshot_comes_once_and_in_order_whatever_is_written(
    monkeypatch: pytest.MonkeyPatch, count: int, limit: int, order: str, in_blocks_of: int, seed: int
):
    """Sets of more than `in_blocks_of` rows are walked by key below a watermark, or by blocks of their keys."""
    monkeypatch.setattr(querysets, "SNAPSHOT_ROWS", in_blocks_of)
    chance = random.Random(seed)
    Booking.objects.all().delete()
    save([booking(number, chance) for number in range(1, count + 1)])
    sign, column = ("-" if order.startswith("-") else ""), {"insertedOn": "inserted_on", "totalPrice": "total_price"}
    name = column.get(order.lstrip("-"), order.lstrip("-"))
    expected = list(Booking.objects.order_by(f"{sign}{name}", f"{sign}id").values_list("id", flat=True))

    known, removed, got, totals = list(range(1, count + 1)) or [1], set(), [], set()
    for page in crawler.pages(request, "list_bookings", {"order": order, "limit": limit}):
        got += [row["id"] for row in crawler.rows(page)]
        totals.add(page["meta"]["totalCount"])
        removed |= meddle(chance, known)

    assert len(got) == len(set(got)), "no row twice"
    assert [number for number in expected if number not in removed] == [n for n in got if n not in removed]
    assert set(got) <= set(expected), "nothing that was written later"
    assert totals == {count}


def test_a_walk_by_key_counts_once(monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any):
    monkeypatch.setattr(querysets, "SNAPSHOT_ROWS", 50)
    first = request("list_bookings", {"limit": 20})
    with django_assert_max_num_queries(2) as queries:  # the walk, the page
        request("list_bookings", {"cursor": first["nextCursor"]})
    assert not [query for query in queries if "COUNT(" in query["sql"]]


def test_a_request_sees_one_policy_from_start_to_end(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
):
    """Ops change the budget while the request is fetching: this answer obeys the old one, the next the new."""
    from gateway.catalog.catalog import catalogue

    operation = catalogue.get("list_bookings")
    original = operation.fetch

    def fetch_while_ops_save(arguments: Any, caller: Caller) -> Any:
        with django_capture_on_commit_callbacks(execute=True):
            TokenBudget.objects.update_or_create(operation="", defaults={"default_page_size": 10})
        return original(arguments, caller)

    monkeypatch.setitem(operation.__dict__, "fetch", fetch_while_ops_save)
    assert len(request("list_bookings", {})["items"]) == 50
    assert len(request("list_bookings", {})["items"]) == 10
