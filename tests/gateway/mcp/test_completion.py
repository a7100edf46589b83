"""Completion over MCP: real values of the account, few at a time, nothing of its guests; in both eras."""

import string
from typing import Any

import pytest
from django.db import connection
from mcp import MCPError
from mcp.types import INVALID_PARAMS, Completion, PromptReference, ResourceTemplateReference

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from context_protection.models import TokenBudget
from gateway.catalog.prompts import MAX_COUNTED, prompts
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.models import Listing, Transaction
from tests.doors import TEMPLATES, Doors
from tests.tasks.account import Account

pytestmark = pytest.mark.django_db

ERAS = ["legacy", "2026-07-28"]


def complete(doors: Doors, ref: Any, argument: str, value: str, era: str = "auto") -> Completion:
    result = doors.ask(lambda client: client.complete(ref, {"name": argument, "value": value}), era)
    completion: Completion = result.completion
    return completion


def of_prompt(doors: Doors, name: str, argument: str, value: str, era: str = "auto") -> Completion:
    return complete(doors, PromptReference(name=name), argument, value, era)


def of_template(doors: Doors, operation: str, argument: str, value: str, era: str = "auto") -> Completion:
    return complete(doors, ResourceTemplateReference(uri=TEMPLATES[operation]), argument, value, era)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("typed", ["", "4", "4300", "43000", "4300000", "43000003", "430000031", "9", "0", "43x", "４"])
def test_ids_begin_with_what_was_typed_the_highest_first(doors: Doors, typed: str, era: str):
    ids = sorted((str(booking["id"]) for booking in Account.of_sample().bookings), reverse=True)
    expected = [each for each in ids if each.startswith(typed)]
    for found in (
        of_prompt(doors, "audit_booking", "booking", typed, era),
        of_template(doors, "get_booking", "id", typed, era),
    ):
        assert found.values == expected[:100]
        assert (found.total, found.has_more) == (len(expected), len(expected) > 100)


def test_ids_of_any_length_are_found_by_their_first_digits(doors: Doors):
    Transaction.objects.exclude(id__range=(700_000, 700_005)).delete()
    for short, long in {7: 700_000, 70: 700_001, 8: 700_002}.items():
        Transaction.objects.filter(id=long).update(id=short)
    expected = {"7": ["700005", "700004", "700003", "70", "7"], "70": ["700005", "700004", "700003", "70"],
                "70000": ["700005", "700004", "700003"], "8": ["8"]}  # fmt: skip
    assert {typed: of_template(doors, "get_transaction", "id", typed).values for typed in expected} == expected


def test_how_many_there_are_is_said_as_far_as_they_are_counted(doors: Doors):
    (row,) = Transaction.objects.all()[:1]
    already = Transaction.objects.count()

    def add(number: int, first: int) -> None:
        rows = Transaction.objects.filter(pk=row.pk).values().get()
        rows.pop("seq")
        Transaction.objects.bulk_create(Transaction(**{**rows, "id": first + each}) for each in range(number))

    add(MAX_COUNTED - already, 710_000)
    exactly = of_template(doors, "get_transaction", "id", "7")
    assert (len(exactly.values), exactly.total, exactly.has_more) == (100, MAX_COUNTED, True)
    add(1, 720_000)
    beyond = of_template(doors, "get_transaction", "id", "7")
    assert (len(beyond.values), beyond.total, beyond.has_more) == (100, None, True)


@pytest.mark.parametrize("typed", ["", "ca", "CA", "cabin", "i", "บ้าน", "谷", "zzz"])
def test_a_listing_is_completed_by_any_part_of_its_name(doors: Doors, typed: str):
    names = sorted(listing["name"] for listing in Account.of_sample().listings)
    found = of_prompt(doors, "occupancy", "listing", typed).values
    assert sorted(found) == [name for name in names if typed.lower() in name.lower()]
    begins = [name.lower().startswith(typed.lower()) for name in found]
    assert begins == sorted(begins, reverse=True), "those that begin so come first"
    assert found == of_prompt(doors, "occupancy", "listing", typed).values


def test_a_listing_is_completed_by_its_id_where_digits_are_typed(doors: Doors):
    assert of_prompt(doors, "occupancy", "listing", "2002").values == ["200285", "200248", "200211"]


def test_the_names_of_two_listings_that_are_the_same_are_one_value(doors: Doors):
    Listing.objects.filter(id__in=[200100, 200137]).update(name="The Mill")
    assert of_prompt(doors, "occupancy", "listing", "the m").values == ["The Mill"]


@pytest.mark.parametrize("typed", ["", "2026", "2026-1", "2026-11", "2027-09", "2028", "x"])
def test_months_are_those_in_which_bookings_arrive_the_latest_first(doors: Doors, typed: str):
    months = {booking["arrivalDate"][:7] for booking in Account.of_sample().bookings}
    expected = sorted((month for month in months if month.startswith(typed)), reverse=True)
    found = of_prompt(doors, "monthly_revenue", "month", typed)
    assert (found.values, found.total, found.has_more) == (expected, len(expected), False)


def test_statuses_are_those_that_bookings_have(doors: Doors):
    have = {"confirmed", "inquiry", "cancelled", "declined", "inquiryPreapproved", "inquiryNotPossible", "expired",
            "ownerStay"}  # fmt: skip
    assert of_prompt(doors, "monthly_revenue", "status", "").values == sorted(have)
    assert of_prompt(doors, "monthly_revenue", "status", "INQ").values == [
        "inquiry", "inquiryNotPossible", "inquiryPreapproved",
    ]  # fmt: skip


def test_documents_are_completed_and_for_a_log_only_texts(doors: Doors):
    store.save_document("sync.bin", "A file", "application/octet-stream", b"\x00\xff" * 10)
    assert of_template(doors, "read_document", "id", "sync").values == ["sync-2026-11.log", "sync.bin"]
    assert of_prompt(doors, "log_issues", "document", "sync").values == ["sync-2026-11.log"]


def test_the_sections_of_a_record_complete_its_fields(doors: Doors):
    assert of_template(doors, "get_booking", "fields", "").values[:3] == ["all", "financial", "guest"]
    assert of_template(doors, "get_booking", "fields", "s").values == ["stay", "system"]


@pytest.mark.parametrize("argument", ["cursor", "startLine", "endLine"])
def test_what_takes_any_value_has_an_empty_completion(doors: Doors, argument: str):
    found = of_template(doors, "read_document", argument, "1")
    assert (found.values, found.total, found.has_more) == ([], 0, False)


@pytest.mark.parametrize("value", ["a\0b", "x" * 100_000, "%", "_", "'; DROP TABLE x; --"])
def test_what_no_value_begins_with_is_completed_by_nothing(doors: Doors, value: str):
    for prompt in prompts:
        for argument in prompt.arguments:
            found = of_prompt(doors, prompt.name, argument.name, value)
            assert (found.values, found.total, found.has_more) == ([], 0, False)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("ref", "argument", "parameter"),
    [
        (PromptReference(name="audit"), "booking", "name"),
        (PromptReference(name="audit_booking"), "bookin", "argument"),
        (ResourceTemplateReference(uri="sluice://bookings/{id}"), "id", "ref"),
        (ResourceTemplateReference(uri="file:///{path}"), "path", "ref"),
        (ResourceTemplateReference(uri=TEMPLATES["get_booking"]), "startLine", "argument"),
    ],
)
def test_what_has_no_such_name_is_refused(doors: Doors, ref: Any, argument: str, parameter: str, era: str):
    with pytest.raises(MCPError) as error_response:
        complete(doors, ref, argument, "", era)
    error = error_response.value.error
    assert error.code == INVALID_PARAMS
    assert error.data["parameter"] == parameter
    assert {"value", "expected", "suggestion"} <= set(error.data)


def test_nothing_of_a_guest_is_ever_completed(doors: Doors):
    personal = {
        str(booking[name])
        for booking in Account.of_sample().bookings
        for name in ("guestName", "guestFirstName", "guestLastName", "guestEmail", "phone")
        if booking.get(name)
    }
    found: set[str] = set()
    for letter in ("", *string.ascii_lowercase, *string.digits, "+"):
        for prompt in prompts:
            for argument in prompt.arguments:
                found |= set(of_prompt(doors, prompt.name, argument.name, letter).values)
        for operation in TEMPLATES:
            found |= set(of_template(doors, operation, "id", letter).values)
    assert len(found) > 200
    assert found.isdisjoint(personal)


def test_a_completion_is_never_over_the_smallest_cap(doors: Doors):
    for listing in Listing.objects.all():
        Listing.objects.filter(pk=listing.pk).update(name=f"{listing.id} {'很长的名字' * 40}")
    whole = of_prompt(doors, "occupancy", "listing", "很")
    TokenBudget.objects.create(operation="", hard_cap=1000, token_budget_threshold=1000)
    revisions.bump()
    short = of_prompt(doors, "occupancy", "listing", "很")
    assert tokens.claude.count(short.model_dump_json(by_alias=True)) <= 1000
    assert short.values == whole.values[: len(short.values)]
    assert 0 < len(short.values) < len(whole.values) == 12
    assert (short.total, short.has_more) == (12, True)


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [("audit_booking", "booking", "4"), ("monthly_revenue", "month", ""), ("monthly_revenue", "status", "")],
)
def test_how_much_is_read_does_not_grow_with_the_bookings(
    doors: Doors, django_assert_max_num_queries: Any, name: str, argument: str, value: str
):
    """A look at an index for each value, and no table is read from its beginning to its end."""
    complete_ = prompts.get(name).argument(argument).complete
    assert complete_ is not None
    with django_assert_max_num_queries(14) as looks:
        found = complete_(value, {})
    assert found
    assert all(" LIMIT " in look["sql"] for look in looks.captured_queries)
    if connection.vendor == "sqlite":
        for look in looks.captured_queries:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN QUERY PLAN {look['sql']}")
                plan = " ".join(row[-1] for row in cursor.fetchall())
            assert "SEARCH" in plan or look["sql"].endswith("LIMIT 1")
            assert "INDEX" in plan
            assert "TEMP B-TREE" not in plan
