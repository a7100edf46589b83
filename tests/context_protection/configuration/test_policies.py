"""Whose value applies: defaults < environment < the admin, by scope < the caller's arm."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from context_protection.configuration import policies
from context_protection.configuration.policies import policy_for
from context_protection.configuration.revisions import revisions
from context_protection.core.scopes import EVERYTHING, BudgetScope
from context_protection.layers.arms import Arm
from context_protection.layers.budgets import Budgets
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
    assert set(policies.budgets().rejected) == {BudgetScope("list_bookings"), BudgetScope("list_listings")}


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
    at = BudgetScope("get_booking")
    budgets = Budgets({EVERYTHING: {"hard_cap": 9000}, at: {"max_page_size": 70}})
    assert [budgets.source(at, name).words(at) for name in ("max_page_size", "hard_cap", "chunk_size", "ruler")] == [
        "set here",
        "set for all operations",
        "environment",
        "built-in default",
    ]
    assert budgets.source(EVERYTHING, "hard_cap").words(EVERYTHING) == "set here"


# -- Scopes -----------------------------------------------------------------------------------------

SCOPES = [  # from the weakest to the strongest
    {},
    {"connector": "nsip"},
    {"operation": "nsip_*"},
    {"operation": "nsip_search*"},
    {"operation": "nsip_search_animals"},
    {"caller": "desk"},
    {"connector": "nsip", "caller": "desk"},
    {"operation": "nsip_*", "caller": "desk"},
    {"operation": "nsip_search_animals", "caller": "desk"},
]


@pytest.mark.parametrize("strongest", range(len(SCOPES)))
def test_the_most_specific_scope_wins(committed: Any, strongest: int):
    with committed():
        for place, scope in reversed(list(enumerate(SCOPES[: strongest + 1]))):
            TokenBudget.objects.create(**scope, default_page_size=10 + place)
    seen = policy_for("nsip_search_animals", "desk").default_page_size
    assert seen == 10 + strongest
    budgets, at = policies.budgets(), BudgetScope("nsip_search_animals", caller="desk")
    assert budgets.source(at, "default_page_size").scope == BudgetScope(**SCOPES[strongest])


def test_a_budget_of_one_scope_touches_nothing_else(committed: Any):
    with committed():
        TokenBudget.objects.create(operation="nsip_*", default_page_size=11)
        TokenBudget.objects.create(connector="hostaway", default_page_size=12)
        TokenBudget.objects.create(caller="desk", default_page_size=13)
    assert policy_for("nsip_search_animals").default_page_size == 11
    assert policy_for("list_bookings").default_page_size == 12
    assert policy_for("dbp_general_query").default_page_size == 50
    assert policy_for("").default_page_size == 50
    assert policy_for("list_bookings", "desk").default_page_size == 13
    assert policy_for("list_bookings", "someone").default_page_size == 12


def test_two_budgets_have_different_scopes():
    TokenBudget.objects.create(operation="list_bookings", caller="desk")
    TokenBudget.objects.create(operation="list_bookings")
    with pytest.raises(IntegrityError), transaction.atomic():
        TokenBudget.objects.create(operation="list_bookings", caller="desk")


def test_callers_without_budgets_of_their_own_take_no_memory(committed: Any):
    with committed():
        TokenBudget.objects.create(operation="list_bookings", caller="desk", default_page_size=13)
    budgets = policies.budgets()
    one = [budgets.policy("list_bookings", f"caller {number}") for number in range(50)]
    budgets.policy("list_bookings", "desk")
    budgets.policy("no_such_operation", "desk")
    assert all(each is one[0] for each in one)
    assert len(budgets.resolved) == 2


def test_a_contradiction_for_one_caller_is_named():
    TokenBudget.objects.create(operation="list_bookings", caller="desk", token_budget_threshold=9000)
    with pytest.raises(ValidationError, match="for list_bookings, caller desk"):
        TokenBudget(hard_cap=8000).clean()


def test_a_budget_is_for_an_operation_or_a_connector():
    with pytest.raises(ValidationError, match="not both"):
        TokenBudget(operation="list_bookings", connector="hostaway").clean()


# -- Arms -------------------------------------------------------------------------------------------


class HalfOfCallers:
    def __init__(self, **values: Any) -> None:
        self.arms = {"in": Arm("trial:on", values), "out": Arm("trial:control")}

    def arm_of(self, operation: str, caller: str) -> Arm | None:
        return self.arms.get(caller) if operation == "list_bookings" else None


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> Any:
    def begin(provider: Any) -> Budgets:
        monkeypatch.setattr(policies, "_arm_providers", [provider])
        revisions.bump()
        return policies.budgets()

    yield begin
    monkeypatch.undo()
    revisions.bump()


def test_an_arm_is_above_all_layers_and_has_a_name(committed: Any, trial: Any):
    with committed():
        TokenBudget.objects.create(operation="list_bookings", caller="in", default_page_size=13)
    budgets = trial(lambda: [HalfOfCallers(default_page_size=7)])
    applied = {caller: budgets.applied("list_bookings", caller) for caller in ("in", "out", "other", "")}
    assert {caller: each.policy.default_page_size for caller, each in applied.items()} == {
        "in": 7,
        "out": 50,
        "other": 50,
        "": 50,
    }
    assert [each.arm for each in applied.values()] == ["trial:on", "trial:control", "", ""]
    assert budgets.applied("list_listings", "in").arm == ""
    assert budgets.applied("list_bookings", "in") is applied["in"]


def test_an_arm_that_contradicts_other_settings_is_not_used(trial: Any, caplog: pytest.LogCaptureFixture):
    budgets = trial(lambda: [HalfOfCallers(hard_cap=1000)])
    applied = budgets.applied("list_bookings", "in")
    assert (applied.policy.hard_cap, applied.arm) == (12_000, "")
    assert "the values of an arm are not used" in caplog.text


def test_a_provider_that_fails_leaves_the_arms_of_before(trial: Any, caplog: pytest.LogCaptureFixture):
    trial(lambda: [HalfOfCallers(default_page_size=7)])

    def fail() -> Any:
        raise RuntimeError("no trials today")

    assert trial(fail).applied("list_bookings", "in").policy.default_page_size == 7
    assert "no trials today" in caplog.text


def test_a_call_keeps_its_budgets_while_they_change(committed: Any):
    before = policies.budgets()
    with policies.used_by_call(before, "desk"):
        with committed():
            TokenBudget.objects.create(operation="nsip_get_animal", caller="desk", cache_seconds=5)
        policies.budgets()
        assert policies.policy_in_call("nsip_get_animal").cache_seconds == 3600
    with policies.used_by_call(policies.budgets(), "desk"):
        assert policies.policy_in_call("nsip_get_animal").cache_seconds == 5
    assert policies.policy_in_call("nsip_get_animal").cache_seconds == 3600
