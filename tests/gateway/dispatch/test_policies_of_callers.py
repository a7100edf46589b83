"""Budgets and arms of single callers, as their calls and their tool lists show them."""

from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.configuration import policies
from context_protection.configuration.arms import Arm
from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.mcp import tools
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors

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
    """For the caller desk and bookings only."""

    def arm_of(self, operation: str, caller: str) -> Arm | None:
        return (
            Arm("small-pages", {"default_page_size": 5}) if (operation, caller) == ("list_bookings", "desk") else None
        )


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
