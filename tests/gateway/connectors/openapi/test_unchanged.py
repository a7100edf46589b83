"""An upstream that is asked each time and answers as before: the answer is given again, and not protected again."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.connectors.openapi.importer import import_plan
from gateway.dispatch import dispatch
from gateway.dispatch.response_cache import response_cache
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests import crawler
from tests.caches import keep_responses
from tests.doors import Doors
from tests.simulators.shop import Shop, shop

LIST, RECORD, TEXT = ("shop_list_all", {}), ("shop_get_customer", {"id": "large"}), ("shop_read_log", {})


@pytest.fixture
def api(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    keep_responses(monkeypatch)
    with shop() as simulated:
        plan = import_plan.plan(json.dumps(simulated.document).encode(), name="shop", source="shop.json")
        import_plan.store(plan, chosen=[each.key for each in plan.proposals])
        UpstreamApi.objects.update(keep_seconds=0)
        revisions.bump()
        yield simulated
    retain(())


@pytest.fixture
def protected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations whose answers were protected, in their order."""
    seen: list[str] = []
    protect = dispatch.protect

    def protect_and_note(payload: Any, ask: Any, *more: Any) -> Any:
        seen.append(ask.operation)
        return protect(payload, ask, *more)

    monkeypatch.setattr(dispatch, "protect", protect_and_note)
    return seen


@pytest.mark.parametrize(("tool", "arguments"), [LIST, RECORD, TEXT])
def test_upstream_is_asked_each_time_and_what_has_not_changed_is_protected_once(
    doors: Doors, api: Shop, protected: list[str], tool: str, arguments: dict[str, Any]
):
    first, second, third = (doors.mcp(tool, arguments) for _ in range(3))
    assert first == second == third
    assert len(api.calls) == 3
    assert protected == [tool]


def test_what_can_never_be_given_again_takes_no_room(doors: Doors, api: Shop):
    doors.mcp("shop_list_by_offset", {})
    assert "shop_list_by_offset" not in {key.operation for key in response_cache.entries.entries}


def test_each_of_them_is_recorded(doors: Doors, api: Shop):
    for _ in range(2):
        doors.mcp(*LIST)
    recorder.flush()
    first, second = TelemetryRecord.objects.filter(operation=LIST[0])
    assert (first.claude_tokens, first.response_bytes) == (second.claude_tokens, second.response_bytes)


def test_what_has_changed_is_answered_at_once(doors: Doors, api: Shop):
    for name in ("before", "after", "before"):
        api.extra = {"name": name}
        answer = doors.mcp(LIST[0], {"fields": "id,name"})
        assert {row["name"] for row in crawler.rows(answer)} == {name}


def test_a_budget_is_obeyed_though_upstream_has_not_changed(doors: Doors, api: Shop):
    before = doors.mcp(*LIST)
    TokenBudget.objects.create(operation=LIST[0], default_page_size=3)
    revisions.bump()
    assert len(crawler.rows(before)) > 3
    assert len(crawler.rows(doors.mcp(*LIST))) == 3


def test_another_call_of_the_same_answer_is_another_answer(doors: Doors, api: Shop):
    tool, _ = LIST
    assert len(crawler.rows(doors.mcp(tool, {"limit": 5}))) == 5
    assert len(crawler.rows(doors.mcp(tool, {"limit": 6}))) == 6


def test_it_goes_on_being_read_from_where_it_ended(doors: Doors, api: Shop):
    tool, _ = LIST
    doors.mcp(tool, {"limit": 20})
    walked = crawler.walk(doors.mcp, tool, {"limit": 20})
    assert [row["id"] for row in walked] == list(range(1, 51))
