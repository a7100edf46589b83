"""Whose value applies: defaults < environment < the budget for all < the budget for one; and who is told."""

from typing import Any

import pytest
from django.conf import LazySettings

from context_protection.configuration import policies
from context_protection.configuration.budgets import Budgets
from context_protection.configuration.policies import policy_for
from context_protection.models import TokenBudget

pytestmark = pytest.mark.django_db


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


def test_each_layer_covers_those_below_it(settings: LazySettings, committed: Any):
    seen = [policy_for("get_booking").token_budget_threshold]
    settings.CONTEXT_PROTECTION = {"token_budget_threshold": 3000}
    with committed():
        TokenBudget.objects.create(operation="list_listings", chunk_size=10)  # something else: a new revision
    seen.append(policy_for("get_booking").token_budget_threshold)
    with committed():
        everyone = TokenBudget.objects.create(operation="", token_budget_threshold=5000)
    seen.append(policy_for("get_booking").token_budget_threshold)
    with committed():
        one = TokenBudget.objects.create(operation="get_booking", token_budget_threshold=6000)
    seen.append(policy_for("get_booking").token_budget_threshold)
    assert policy_for("get_listing").token_budget_threshold == 5000
    assert seen == [2000, 3000, 5000, 6000]

    with committed():
        one.delete()
    assert policy_for("get_booking").token_budget_threshold == 5000
    with committed():
        everyone.delete()
    assert policy_for("get_booking").token_budget_threshold == 3000


def test_an_empty_field_inherits_and_off_does_not(committed: Any):
    with committed():
        TokenBudget.objects.create(operation="", pagination=False, hard_cap=9000)
        TokenBudget.objects.create(operation="list_bookings", pagination=None, summarization=False)
    policy = policy_for("list_bookings")
    assert (policy.pagination, policy.summarization, policy.hard_cap) == (False, False, 9000)


@pytest.mark.parametrize("wrong", [{"default_page_size": 0}, {"hard_cap": 50}, {"ruler": "guess"}])
def test_an_invalid_budget_leaves_the_last_valid_one_in_use(committed: Any, wrong: dict[str, Any]):
    with committed():
        TokenBudget.objects.create(operation="list_bookings", token_budget_threshold=5000)
        TokenBudget.objects.create(operation="list_listings", **wrong)
    before = policy_for("list_transactions")
    assert policy_for("list_listings").hard_cap == before.hard_cap
    assert policy_for("list_listings").default_page_size == before.default_page_size
    with committed():
        saved = TokenBudget.objects.get(operation="list_bookings")
        for name, value in wrong.items():
            setattr(saved, name, value)
        saved.save()
    assert policy_for("list_bookings").token_budget_threshold == 5000
    assert set(policies.budgets().rejected) == {"list_bookings", "list_listings"}


def test_the_policy_of_a_call_costs_no_query(committed: Any, django_assert_num_queries: Any):
    policy_for("list_bookings")
    with django_assert_num_queries(0):
        assert policy_for("list_bookings") is policy_for("list_bookings")


def test_a_change_that_is_rolled_back_is_never_seen(django_capture_on_commit_callbacks: Any):
    before = policy_for("list_bookings")
    with django_capture_on_commit_callbacks(execute=False):
        TokenBudget.objects.create(operation="list_bookings", default_page_size=5)
    assert policy_for("list_bookings") is before


def test_a_value_says_where_it_comes_from(settings: LazySettings):
    settings.CONTEXT_PROTECTION = {"chunk_size": 100}
    budgets = Budgets({"": {"hard_cap": 9000}, "get_booking": {"max_page_size": 70}})
    assert [budgets.source("get_booking", name) for name in ("max_page_size", "hard_cap", "chunk_size", "ruler")] == [
        "set here",
        "set for all operations",
        "environment",
        "built-in default",
    ]
    assert budgets.source("", "hard_cap") == "set here"
