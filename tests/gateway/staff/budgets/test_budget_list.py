"""The list of budgets: what applies to each tool, before any budget exists."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from context_protection.models import TokenBudget
from gateway.catalog.catalog import catalogue
from gateway.staff.budgets import budget_list
from tests.gateway.staff.budgets.test_budget_page import words
from tests.telemetry.examples import a_call, a_summary, stored

pytestmark = pytest.mark.django_db
LIST = "/admin/budgets/"


def test_all_tools_and_each_one_are_listed_before_any_budget_exists(admin_client: Client):
    said = words(admin_client.get(LIST))
    assert "No budget is saved here." in said
    assert "All tools 4,000 12,000 50 built-in default" in said
    assert all(operation.name in said for operation in catalogue)


def test_patterns_connectors_and_keys_are_rows_too(admin_client: Client):
    TokenBudget.objects.create(operation="nsip_*", hard_cap=9000)
    TokenBudget.objects.create(connector="hostaway", token_budget_threshold=5000)
    TokenBudget.objects.create(operation="get_booking", caller="ci-bot", token_budget_threshold=7000)
    said = words(admin_client.get(LIST))
    assert "connector hostaway 5,000" in said
    assert "nsip_*" in said
    assert "get_booking for ci-bot 7,000" in said
    assert "list_bookings 5,000 12,000 50 set for connector hostaway, built-in default" in said


def test_calls_oversized_and_the_recommendation(admin_client: Client):
    at = timezone.now()
    stored(*[a_summary(at=at)] * 120, *[a_call(at=at, operation="get_booking", kind="record")] * 130)
    page = admin_client.get(LIST)
    assert "250" in words(page)
    assert "48.0% 6,000 tokens" in words(page)
    assert "get_booking/?token_budget_threshold=6000" in page.content.decode()


def test_the_list_says_what_the_recommendation_of_a_tool_says(admin_client: Client):
    at = timezone.now()
    stored(
        *[a_summary(at=at, operation="get_booking", original_tokens=50_000)] * 300,
        *[a_summary(at=at, operation="get_listing", is_cached=True)] * 250,
        *[a_call(at=at, operation="list_bookings")] * 250,
    )
    said = words(admin_client.get(LIST))
    assert "300 100.0% filters, not a budget" in said
    assert "250 100.0% too few answers" in said
    assert "250 0.0% fits" in said


def test_a_tool_without_a_computed_recommendation_has_none(admin_client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(budget_list, "MOST_RECOMMENDED", 1)
    at = timezone.now()
    stored(*[a_summary(at=at)] * 300, *[a_summary(at=at, operation="get_listing")] * 250)
    said = words(admin_client.get(LIST))
    assert "300 100.0% 6,000 tokens" in said
    assert "250 100.0% –" in said


def test_a_rejected_budget_is_named(admin_client: Client):
    TokenBudget.objects.create(operation="list_bookings", default_page_size=0)
    assert "The budget of list_bookings is not used: defaultPageSize is 0" in words(admin_client.get(LIST))


@pytest.mark.parametrize(
    ("typed", "page"),
    [
        ("nsip_*", "/admin/budgets/nsip_*/"),
        ("connector:hostaway", "/admin/budgets/connector%3Ahostaway/"),
        ("list_bookings", "/admin/budgets/list_bookings/"),
    ],
)
def test_a_typed_scope_leads_to_its_page(admin_client: Client, typed: str, page: str):
    response: Any = admin_client.get(LIST, {"scope": typed})
    assert response["Location"] in (page, page.replace("%3A", ":"))


def test_an_unknown_scope_is_explained(admin_client: Client):
    assert "There is no tool or connector nothing." in words(admin_client.get(LIST, {"scope": "nothing"}))
