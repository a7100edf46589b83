"""Calls by a tool's former name obey the budgets of the tool, and are recorded as its calls."""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from context_protection.configuration.policies import policy_for
from context_protection.configuration.revisions import revisions
from context_protection.core.errors import InvalidArgument, TooSlow
from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve
from telemetry import arguments as kept_arguments
from telemetry import recorder
from telemetry.models import CallArguments, TelemetryRecord
from tests.doors import Doors
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db


async def _never(arguments: Mapping[str, Any], caller: Caller) -> Record:
    await asyncio.wait_for(asyncio.Event().wait(), PATIENCE)
    return Record({})


def _fails(arguments: Mapping[str, Any], caller: Caller) -> Record:
    raise InvalidArgument("The guest is unknown.", reason="unknown_guest", parameter="guestName")


@pytest.fixture(autouse=True)
def renamed() -> Iterator[None]:
    guest = {"guestName": {"type": "string"}}
    offered = [
        Operation("wait_long", "Waits", "Waits.", Kind.RECORD, {}, _never, "/x", former_names=("wait_short",)),
        Operation("find_guest", "Finds", "Finds.", Kind.RECORD, guest, _fails, "/y", former_names=("seek_guest",)),
    ]
    catalogue.offer(offered)
    yield
    for each in offered:
        catalogue.withdraw(each.name)


def save_budget(operation: str, **settings: Any) -> None:
    TokenBudget.objects.create(operation=operation, **settings)
    revisions.bump()
    policy_for(operation)  # loads it


@pytest.mark.parametrize("name", ["wait_long", "wait_short"])
async def test_a_call_is_stopped_in_the_time_of_the_tool(api_key: str, name: str):
    await sync_to_async(save_budget)("wait_long", timeout_seconds=1)
    caller = await sync_to_async(caller_of_key)(api_key)
    with pytest.raises(TooSlow) as stopped:
        await serve(Call(name, {}, caller, Transport.HTTP, hints.mcp))
    assert "after 1 seconds" in stopped.value.message


@pytest.mark.parametrize("name", ["find_guest", "seek_guest"])
def test_stored_arguments_hide_the_fields_that_the_tool_withholds(doors: Doors, name: str):
    save_budget("find_guest", withheld_fields="guestName")
    assert doors.post(name, {"guestName": "Zoe Quill"})["error"]["reason"] == "unknown_guest"
    assert recorder.flush()
    assert kept_arguments.flush()
    stored = CallArguments.objects.get()
    assert (stored.operation, stored.values) == ("find_guest", {"guestName": "[withheld: by policy]"})
    assert TelemetryRecord.objects.get().operation == "find_guest"
