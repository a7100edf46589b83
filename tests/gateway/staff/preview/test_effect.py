"""The effect of a new budget on recorded calls."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from context_protection.configuration import policies
from context_protection.core.scopes import EVERYTHING, BudgetScope
from context_protection.layers.budgets import Budgets
from context_protection.models import StoredWalk
from gateway.staff.preview import effect as effects
from gateway.staff.preview.effect import effect
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors
from tests.telemetry.examples import a_call, a_summary, stored

pytestmark = pytest.mark.django_db
BOOKINGS = BudgetScope("list_bookings")


def with_threshold(tokens: int, scope: BudgetScope = EVERYTHING) -> Budgets:
    return policies.budgets().with_budget(scope, {"token_budget_threshold": tokens})


def test_a_stored_answer_is_made_again_and_counts_exactly(doors: Doors):
    doors.mcp("list_bookings", {})
    assert recorder.flush()
    sent = TelemetryRecord.objects.latest("pk")
    found = effect(BOOKINGS, policies.budgets(), policies.budgets().with_budget(BOOKINGS, {"default_page_size": 10}))
    assert (found.calls, found.exact, found.estimated) == (1, 1, 0)
    assert found.now.tokens == sent.claude_tokens
    assert found.new.tokens < found.now.tokens / 2


def test_nothing_is_stored_by_it(doors: Doors):
    doors.mcp("list_bookings", {})
    assert recorder.flush()
    before = StoredWalk.objects.count()
    effect(BOOKINGS, policies.budgets(), with_threshold(1000))
    assert StoredWalk.objects.count() == before


def test_the_scope_chooses_the_calls():
    at = timezone.now() - timedelta(minutes=1)
    stored(
        *[a_call(at=at, operation="list_bookings", connector="hostaway")] * 3,
        *[a_call(at=at, operation="get_booking", connector="hostaway", caller="desk")] * 2,
        *[a_call(at=at, operation="nsip_search_animals", connector="nsip")] * 4,
        *[a_call(at=at, operation="list_bookings", transport="playground")] * 5,
    )

    def calls(scope: BudgetScope) -> int:
        return effect(scope, policies.budgets(), policies.budgets()).calls

    assert calls(EVERYTHING) == 9
    assert calls(BOOKINGS) == 3
    assert calls(BudgetScope("*_booking*")) == 5
    assert calls(BudgetScope(connector="nsip")) == 4
    assert calls(BudgetScope(caller="desk")) == 2


def test_a_thousand_calls_take_less_than_a_second(doors: Doors):
    at = timezone.now() - timedelta(minutes=1)
    stored(*[a_summary(at=at)] * 400, *[a_call(at=at)] * 600)
    for limit in range(20, 50):
        doors.mcp("list_bookings", {"limit": limit})
    assert recorder.flush()
    began = time.process_time()
    found = effect(EVERYTHING, policies.budgets(), with_threshold(8000))
    took = time.process_time() - began
    assert found.calls == 1000
    assert found.exact >= 600
    assert found.new.shortened < found.now.shortened
    assert took < 1 + effects.RENDER_SECONDS
