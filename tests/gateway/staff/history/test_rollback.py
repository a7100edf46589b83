"""The configuration goes back to any moment: seen first, all or nothing, with a reason, and never what cannot be."""

from datetime import datetime
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from context_protection.configuration.policies import policy_for
from context_protection.models import TokenBudget
from gateway.access.models import ApiKey, ToolSet
from gateway.staff.history import rollback
from gateway.upstreams.models import UpstreamApi
from telemetry.models import Event
from tests.doors import Doors

pytestmark = pytest.mark.django_db
ROLLBACK = "/admin/history/rollback/"


@pytest.fixture
def ops(client: Client) -> Client:
    user = User.objects.create_user("ops-2", is_staff=True)
    user.groups.add(Group.objects.get(name="ops"))
    client.force_login(user)
    return client


@pytest.fixture
def boss() -> User:
    return User.objects.create_superuser("boss")


def moment() -> datetime:
    return timezone.now()


def planned(at: datetime, user: User, only: str = "") -> list[tuple[str, str, str]]:
    return [(step.kind, step.name, step.action) for step in rollback.plan(at, user, only).steps]


def test_everything_goes_back(boss: User):
    kept = TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)
    lost = ToolSet.objects.create(name="month end", tools=["list_bookings"])
    then = moment()
    kept.hard_cap, kept.chunk_size = 11_000, 300
    kept.save()
    TokenBudget.objects.create(operation="get_booking", hard_cap=5000)
    lost.delete()
    chosen = rollback.plan(then, boss)
    assert sorted((step.kind, step.name, step.action) for step in chosen.steps) == [
        ("budget", "get_booking", "delete"),
        ("budget", "list_bookings", "change"),
        ("tool set", "month end", "create"),
    ]
    assert chosen.changes == 4
    rollback.apply(chosen, "the month is over")
    now = {row.operation: row for row in TokenBudget.objects.all()}
    assert set(now) == {"list_bookings"}
    assert (now["list_bookings"].hard_cap, now["list_bookings"].chunk_size) == (9000, None)
    assert ToolSet.objects.get().tools == ["list_bookings"]
    assert now["list_bookings"].history.first().history_change_reason == "the month is over"
    assert planned(then, boss) == []


def test_a_tool_set_that_a_key_uses_stays(boss: User):
    then = moment()
    added = ToolSet.objects.create(name="month end", tools=["list_bookings"])
    chosen = rollback.plan(then, boss)
    key, _ = ApiKey.objects.issue("desk")
    key.tool_sets.add(added)
    with pytest.raises(rollback.RollbackRefused, match="Keys use it: desk"):
        rollback.apply(chosen, "a key began to use it after the plan")
    kept = rollback.plan(then, boss).kept
    assert any(each.startswith("The tool set month end was added since and stays. Keys use it: desk.") for each in kept)


def test_a_rollback_can_be_rolled_back(boss: User):
    budget = TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)
    before = moment()
    budget.hard_cap = 11_000
    budget.save()
    between = moment()
    rollback.apply(rollback.plan(before, boss), "too large")
    rollback.apply(rollback.plan(between, boss), "no, it was right")
    assert TokenBudget.objects.get().hard_cap == 11_000


def test_a_budget_that_was_deleted_takes_the_place_of_the_one_that_replaced_it(boss: User):
    first = TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)
    then = moment()
    first.delete()
    TokenBudget.objects.create(operation="list_bookings", hard_cap=11_000)
    rollback.apply(rollback.plan(then, boss), "the first was right")
    assert TokenBudget.objects.get().hard_cap == 9000


def test_a_set_whose_name_was_given_to_one_in_use_is_refused_with_the_reason(boss: User):
    first = ToolSet.objects.create(name="Shop", tools=["list_bookings"])
    then = moment()
    first.delete()
    used = ToolSet.objects.create(name="Shop", tools=["list_listings"])
    ApiKey.objects.issue("bot")[0].tool_sets.add(used)
    with pytest.raises(rollback.RollbackRefused, match=r"tool set Shop: .*already exists"):
        rollback.apply(rollback.plan(then, boss), "the first was right")
    assert ToolSet.objects.get().tools == ["list_listings"]


def test_one_object_goes_back_and_others_stay(boss: User):
    one = TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)
    other = TokenBudget.objects.create(operation="list_listings", hard_cap=9000)
    then = moment()
    for each in (one, other):
        each.hard_cap = 11_000
        each.save()
    only = f"context_protection.tokenbudget:{one.pk}"
    assert planned(then, boss, only) == [("budget", "list_bookings", "change")]
    rollback.apply(rollback.plan(then, boss, only), "test")
    other.refresh_from_db()
    assert other.hard_cap == 11_000


def test_what_cannot_be_set_back_is_said(boss: User):
    key, _ = ApiKey.objects.issue("desk", pinned_tools=["get_booking"])
    other, _ = ApiKey.objects.issue("bench")
    api = UpstreamApi(name="acme", base_url="https://example.com/v1", authentication="bearer")
    api.set_secret("Zx7-first-secret")
    api.save()
    gone = UpstreamApi(name="shop", base_url="https://shop.example.com", authentication="bearer")
    gone.set_secret("Zx7-shop-secret")
    gone.save()
    then = moment()
    key.pinned_tools = []
    key.save()
    key.revoke()
    other.rotate()
    api.set_secret("Zx7-second-secret")
    api.base_url = "https://example.com/v2"
    api.save()
    gone.delete()
    ApiKey.objects.issue("late")
    found = rollback.plan(then, boss)
    assert [(step.name, step.action) for step in found.steps] == [("acme", "change")]
    assert [name for name, _, _ in found.steps[0].differences] == ["base url"]
    said = " ".join(found.kept)
    assert "The key desk is revoked and stays as it is." in said
    assert "The secret of upstream acme was changed since." in said
    assert "The secret of key bench was changed since. The old one is not stored, so the new one stays." in said
    assert "The upstream shop was deleted since. Its secret is not stored, so add it again." in said
    assert "The key late was added since and stays." in said
    rollback.apply(found, "test")
    key.refresh_from_db()
    api.refresh_from_db()
    assert key.revoked_at is not None
    assert (api.base_url, api.history.first().base_url) == ("https://example.com/v1", "https://example.com/v1")


def test_values_that_are_not_valid_any_more_change_nothing(boss: User):
    budget = TokenBudget.objects.create(operation="list_bookings", hard_cap=1000)
    TokenBudget.objects.filter(pk=budget.pk).update(token_budget_threshold=900)
    then = moment()
    budget.refresh_from_db()
    budget.hard_cap = 12_000
    budget.token_budget_threshold = 8000
    budget.save()
    chosen = rollback.plan(then, boss)
    TokenBudget.objects.create(token_budget_threshold=5000)  # for all operations, so the old cap contradicts it
    with pytest.raises(rollback.RollbackRefused, match="budget list_bookings: hardCap"):
        rollback.apply(chosen, "test")
    budget.refresh_from_db()
    assert budget.hard_cap == 12_000


def test_a_role_sets_back_what_it_may_change():
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.groups.add(Group.objects.get(name="viewer"))
    budget = TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)
    then = moment()
    budget.hard_cap = 11_000
    budget.save()
    found = rollback.plan(then, viewer)
    assert found.steps == ()
    assert found.kept == ("The budget list_bookings stays: your role may not change it.",)


def test_the_next_call_obeys_a_rollback(ops: Client, doors: Doors, django_capture_on_commit_callbacks: Any):
    with django_capture_on_commit_callbacks(execute=True):
        budget = TokenBudget.objects.create(operation="get_booking", token_budget_threshold=8000)
    then = moment()
    with django_capture_on_commit_callbacks(execute=True):
        budget.token_budget_threshold = 3000
        budget.save()
    assert policy_for("get_booking").token_budget_threshold == 3000
    address = f"{ROLLBACK}?moment={then.isoformat().replace('+', '%2B')}"
    page = ops.get(address)
    text = page.content.decode()
    assert "Set budget get_booking back to" in text
    plan = page.context["digest"]
    refused = ops.post(address, {"plan": plan})
    assert refused.status_code == 400
    assert "Give a reason" in refused.content.decode()
    assert policy_for("get_booking").token_budget_threshold == 3000
    with django_capture_on_commit_callbacks(execute=True):
        done = ops.post(address, {"plan": plan, "reason": "calls failed"}, follow=True)
    assert "1 change made. The next call obeys." in done.content.decode()
    assert policy_for("get_booking").token_budget_threshold == 8000
    event = Event.objects.first()
    assert (event.actor, event.reason, event.after) == ("ops-2", "calls failed", "8000")
    assert "Undo the rollback" in done.content.decode()


def test_a_plan_that_others_have_changed_meanwhile_is_shown_again(ops: Client):
    budget = TokenBudget.objects.create(operation="get_booking", hard_cap=8000)
    then = moment()
    budget.hard_cap = 9000
    budget.save()
    address = f"{ROLLBACK}?moment={then.isoformat().replace('+', '%2B')}"
    seen = ops.get(address).context["digest"]
    budget.hard_cap = 10_000
    budget.save()
    answer = ops.post(address, {"plan": seen, "reason": "x"})
    assert answer.status_code == 400
    assert "has changed since you saw this plan" in answer.content.decode()
    assert TokenBudget.objects.get().hard_cap == 10_000


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("soon", "This is not a date and time"),
        ("0001-01-01T00:00:00+1400", "This is not a date and time"),
        ("", "Choose the date"),
        ("2999-01-01T00:00", "in the future"),
    ],
)
def test_a_moment_that_is_none_is_named(ops: Client, to: str, said: str):
    answer = ops.get(ROLLBACK, {"moment": to})
    assert answer.status_code == 400
    assert said in answer.content.decode()
