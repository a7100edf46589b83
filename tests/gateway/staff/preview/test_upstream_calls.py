"""A call whose answer is only at its upstream is read again when somebody asks for it, and once for both budgets."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from context_protection.configuration import policies
from context_protection.core.policy import Kind
from context_protection.core.scopes import BudgetScope
from context_protection.core.upstream_pages import PagedRows, SourcePage
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.replay import STAFF
from gateway.staff.preview import sources
from gateway.staff.preview.answers import compared
from gateway.staff.preview.effect import effect
from telemetry.models import TelemetryRecord
from tests.gateway.staff.budgets.test_budget_page import allowed, send, words
from tests.telemetry.examples import a_call, stored

pytestmark = pytest.mark.django_db
PAGE = "/admin/budgets/far_orders/"


class FarOrders:
    """An upstream's list of 90 orders, in pages of the size that is asked for."""

    def __init__(self) -> None:
        self.requests: list[tuple[Any, int]] = []

    async def page(self, token: Any, size: int) -> SourcePage:
        self.requests.append((token, size))
        first = token or 0
        rows = [{"id": number, "password": "canary"} for number in range(first, min(first + size, 90))]
        return SourcePage(rows, first + size if first + size < 90 else None, total=90)


@pytest.fixture
def upstream(db: None) -> Iterator[FarOrders]:
    orders = FarOrders()

    async def fetch(arguments: Mapping[str, Any], caller: Caller) -> PagedRows:
        return PagedRows(orders)

    operation = Operation("far_orders", "Orders", "Orders far away.", Kind.LIST, {}, fetch, "/api/v1/tools/far_orders")
    catalogue.offer([operation], "far")
    yield orders
    catalogue.withdraw("far_orders")


@pytest.fixture
def recorded(upstream: FarOrders) -> str:
    """A call without arguments, whose snapshot is gone."""
    call = a_call(at=timezone.now(), operation="far_orders", request_id="far-1", item_count=50, total_rows=90)
    stored(call._replace(pagination_used=True, outcome="paginated", chain="gone"))
    return "far-1"


def test_two_budgets_share_the_pages_that_were_read(upstream: FarOrders):
    source = sources.read_again(catalogue.get("far_orders"), {"limit": 20}, STAFF)
    now = policies.budgets()
    new = now.with_budget(BudgetScope("far_orders"), {"token_budget_threshold": 1000})
    both = compared(source, now.policy("far_orders"), new.policy("far_orders"))
    assert both.before.items == 20
    assert len(upstream.requests) == len(set(upstream.requests))
    assert "canary" not in "".join(both.before.lines)


def test_the_upstream_is_called_only_when_somebody_asks_for_it(
    admin_client: Client, upstream: FarOrders, recorded: str
):
    shown = words(send(admin_client, PAGE, "show", hard_cap=9000, call=recorded))
    assert "reads from the upstream again" in shown
    assert "Reading it again counts against the upstream's rate limit." in shown
    assert upstream.requests == []
    assert "Read again from the upstream just now." in words(
        send(admin_client, PAGE, "read", hard_cap=9000, call=recorded)
    )
    assert upstream.requests == [(None, 50)]
    assert TelemetryRecord.objects.count() == 1


def test_who_may_not_replay_calls_is_not_offered_it(django_user_model: Any, upstream: FarOrders, recorded: str):
    client = allowed(django_user_model, "ops-9", "view_tokenbudget", "view_callarguments")
    for do in ("show", "read"):
        response = send(client, PAGE, do, call=recorded)
        assert "needs the permission telemetry.replay_call" in words(response)
        assert re.search(r'value="read"', response.content.decode()) is None
    assert upstream.requests == []


def test_a_forecast_calls_no_upstream(upstream: FarOrders, recorded: str):
    new = policies.budgets().with_budget(BudgetScope("far_orders"), {"default_page_size": 10})
    found = effect(BudgetScope("far_orders"), policies.budgets(), new)
    assert (found.calls, found.exact) == (1, 0)
    assert upstream.requests == []
