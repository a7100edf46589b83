"""Budgets and arms of single callers, as their calls and their tool lists show them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from context_protection.configuration import policies
from context_protection.configuration.revisions import revisions
from context_protection.layers.arms import Arm
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Operation
from gateway.dispatch import configuration
from gateway.mcp import tools
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors
from tests.gateway.test_waiting import offered as offered  # a fixture

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> Doors:
    return Doors(ApiKey.objects.issue("desk")[1])


def rows(doors: Doors) -> set[int]:
    arguments: dict[str, Any] = {"order": "-insertedOn"}
    return {len(ask("list_bookings", arguments)["items"]) for ask in (doors.rest, doors.mcp, doors.post)}


def test_a_budget_of_one_caller_is_obeyed_at_every_door_and_by_no_other_caller(doors: Doors, desk: Doors):
    TokenBudget.objects.create(operation="list_*", default_page_size=20)
    TokenBudget.objects.create(connector="hostaway", caller="desk", default_page_size=7)
    revisions.bump()
    assert (rows(doors), rows(desk)) == ({20}, {7})


def test_a_tool_list_names_the_limits_of_its_caller(doors: Doors, desk: Doors):
    TokenBudget.objects.create(operation="list_bookings", caller="desk", max_page_size=60)
    revisions.bump()

    def maximum(of: Doors) -> int:
        listed = tools.tool_list_of(caller_of_key(of.key)).definitions
        schema = next(each.tool.input_schema for each in listed if each.tool.name == "list_bookings")
        return int(schema["properties"]["limit"]["maximum"])

    assert (maximum(doors), maximum(desk)) == (200, 60)


class Trial:
    """For the caller desk and two tools only."""

    def arm_of(self, operation: str, caller: str) -> Arm | None:
        is_in = caller == "desk" and operation in ("list_bookings", "get_seven")
        return Arm("small-pages", {"default_page_size": 5}) if is_in else None


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(policies, "_arm_providers", [lambda: [Trial()]])
    revisions.bump()
    yield
    monkeypatch.undo()
    revisions.bump()


@pytest.mark.usefixtures("trial")
def test_calls_are_recorded_with_the_arm_that_they_were_answered_by(doors: Doors, desk: Doors):
    assert len(doors.rest("list_bookings", {})["items"]) == 50
    assert len(desk.rest("list_bookings", {})["items"]) == 5
    assert len(desk.rest("list_bookings", {})["items"]) == 5  # from the cache
    desk.rest("list_bookings", {"limit": 1000})  # an error
    desk.rest("list_listings", {})
    recorder.flush()
    seen = TelemetryRecord.objects.order_by("pk").values_list("caller", "operation", "outcome", "arm")
    assert [each[3] for each in seen] == ["", "small-pages", "small-pages", "small-pages", ""]
    assert seen[3][2] == "error"


@pytest.mark.usefixtures("trial")
@pytest.mark.parametrize("door", ["post", "mcp"])
def test_a_call_that_fails_after_a_change_is_recorded_with_the_arm_that_it_began_with(
    desk: Doors, offered: Callable[..., Operation], monkeypatch: pytest.MonkeyPatch, door: str
):
    def end_the_trial() -> None:
        monkeypatch.setattr(policies, "_arm_providers", [list])
        revisions.bump()
        assert configuration.current().budgets.arm_name("get_seven", "desk") == ""

    async def fetch(arguments: Mapping[str, Any], caller: Caller) -> Any:
        await sync_to_async(end_the_trial)()
        raise RuntimeError("seven is away")

    offered(fetch)
    began = str(configuration.current().revision)
    assert "error" in getattr(desk, door)("get_seven", {})
    recorder.flush()
    seen = TelemetryRecord.objects.get()
    assert (seen.outcome, seen.arm, seen.revision) == ("error", "small-pages", began)
