"""A large response is parsed, and answered, before that of the next call is parsed."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from context_protection.configuration.revisions import revisions
from gateway.catalog.caller import Caller
from gateway.connectors.openapi import operations as imported_operations
from gateway.connectors.openapi.call import LARGE
from gateway.connectors.openapi.importer import import_plan
from gateway.dispatch import dispatch
from gateway.threads import turns
from gateway.threads.turns import Turn
from gateway.upstreams.registry import retain
from tests import crawler
from tests.doors import Doors
from tests.simulators.shop import Shop, customer, shop

TOOL = "shop_list_all"
FEW, MANY = 20, LARGE // 300


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        plan = import_plan.plan(json.dumps(simulated.document).encode(), name="shop", source="shop.json")
        import_plan.store(plan, chosen=[each.key for each in plan.proposals])
        revisions.bump()
        yield simulated
    retain(())


def are_taken() -> bool:
    return any(each.locked() for each in turns._by_loop.values())


@pytest.mark.parametrize(("count", "is_large"), [(FEW, False), (MANY, True)])
def test_only_a_call_with_a_large_response_has_a_turn_until_it_is_answered(
    doors: Doors, api: Shop, monkeypatch: pytest.MonkeyPatch, count: int, is_large: bool
):
    were_taken: list[bool] = []
    protect = dispatch.protect

    def protect_and_note(*arguments: Any) -> Any:
        were_taken.append(are_taken())
        return protect(*arguments)

    monkeypatch.setattr(dispatch, "protect", protect_and_note)
    api.odd["/all"] = [customer(number) for number in range(count)]
    assert crawler.rows(doors.mcp(TOOL, {}))[0]["id"] == 0
    assert were_taken == [is_large]
    assert not are_taken()


def test_a_call_has_no_turn_while_it_waits_for_a_further_page(doors: Doors, api: Shop):
    rows = [customer(number) | {"notes": "n" * LARGE} for number in range(4)]
    were_taken: list[bool] = []

    def page(query: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        were_taken.append(are_taken())
        start = int(query.get("offset", 0))
        return {"items": rows[start : start + 1], "total": len(rows)}, {}

    api.odd["/by-offset"] = page
    assert [row["id"] for row in crawler.rows(doors.mcp("shop_list_by_offset", {}))] == [0, 1, 2, 3]
    assert were_taken == [False] * len(rows)
    assert not are_taken()


def test_a_large_response_is_parsed_when_the_call_before_has_ended(api: Shop, caller: Caller):
    api.odd["/all"] = [customer(number) for number in range(MANY)]
    operation = next(each for each in imported_operations.operations() if each.name == TOOL)

    async def second() -> Any:
        with Turn():
            return await operation.fetch({}, caller)

    async def both() -> Any:
        with Turn() as first:
            await first.begin()
            places = turns._by_loop[asyncio.get_running_loop()]
            call = asyncio.create_task(second())
            while not (places._waiters or call.done()):  # noqa: ASYNC110 — a semaphore has no event for it
                await asyncio.sleep(0)
            assert not call.done()
        return await call

    assert async_to_sync(both)().payload.open().total == MANY
