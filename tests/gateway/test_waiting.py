"""Calls that take long: told of, given up, cancelled, and never at the expense of others (FR/SC-010)."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import anyio
import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from mcp import Client

from context_protection.core.errors import TooSlow
from context_protection.core.payloads import Payload, Record
from context_protection.core.policy import Kind
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve
from gateway.mcp.peers import Peer
from gateway.mcp.server import build_server
from gateway.threads import bridge
from gateway.threads.bridge import POOL_SIZE
from gateway.threads.limits import WIDTH
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors
from tests.patience import PATIENCE
from tests.simulators.upstream import WaitingUpstream, waiting_upstream


@pytest.fixture
def upstream() -> Iterator[WaitingUpstream]:
    with waiting_upstream() as simulated:
        yield simulated


@pytest.fixture
def offered() -> Iterator[Callable[..., Operation]]:
    """Offers an operation for one test."""
    names = []

    def offer(fetch: Any, name: str = "get_seven") -> Operation:
        operation = Operation(
            name=name,
            title="Get seven",
            description="Seven, of an upstream that takes its time.",
            kind=Kind.RECORD,
            parameters={},
            fetch=fetch,
            endpoint=f"/api/v1/tools/{name}",
        )
        catalogue.offer([operation])
        names.append(name)
        return operation

    yield offer
    for name in names:
        catalogue.withdraw(name)


@pytest.fixture
def seven(offered: Callable[..., Operation], upstream: WaitingUpstream) -> Operation:
    async def fetch(arguments: Mapping[str, Any], caller: Caller) -> Payload:
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            return Record((await client.get(upstream.url)).json())

    return offered(fetch)


@pytest.fixture
def on_the_pool(on_this_thread: None) -> Iterator[None]:
    token = bridge.on_callers_thread.set(False)
    yield
    bridge.on_callers_thread.reset(token)


async def reached(event: threading.Event) -> bool:
    return await asyncio.to_thread(event.wait, PATIENCE)


def server_for(key: str) -> Any:
    return build_server(Peer(caller_of_key(key), "stdio"))


# -- Upstream calls ---------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_cancelling_a_call_hangs_up_on_upstream(
    api_key: str, seven: Operation, upstream: WaitingUpstream, era: str
):
    server = await sync_to_async(server_for)(api_key)
    async with Client(server, mode=era) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, seven.name, {})
        assert await reached(upstream.begun)
        tasks.cancel_scope.cancel()
    assert upstream.hung_up.wait(PATIENCE)
    await sync_to_async(recorder.flush)()
    assert [each async for each in TelemetryRecord.objects.values_list("outcome", "error_reason")] == [
        ("error", "cancelled")
    ]


async def test_a_call_over_its_time_is_given_up_and_upstream_hung_up_on(
    api_key: str, seven: Operation, upstream: WaitingUpstream, doors: Doors
):
    await sync_to_async(allow_seconds)(seven.name, 1)
    document = await doors.mcp_async(seven.name, {})
    assert document["error"]["reason"] == "timeout"
    assert "1 seconds" in document["error"]["message"]
    assert document["error"]["data"]["retry_after"] > 0
    assert await reached(upstream.hung_up)
    await sync_to_async(recorder.flush)()
    assert [each async for each in TelemetryRecord.objects.values_list("outcome", "error_reason")] == [
        ("error", "timeout")
    ]


def allow_seconds(operation: str, seconds: int) -> None:
    TokenBudget.objects.create(operation=operation, timeout_seconds=seconds)
    from context_protection.configuration.policies import policy_for
    from context_protection.configuration.revisions import revisions

    revisions.bump()
    assert policy_for(operation).timeout_seconds == seconds


def test_rest_waits_for_upstream_too(doors: Doors, seven: Operation, upstream: WaitingUpstream):
    upstream.release.set()
    assert doors.post(seven.name, {})["name"] == "Seven"


async def test_a_client_hears_of_a_long_call_at_least_every_two_seconds(
    api_key: str, seven: Operation, upstream: WaitingUpstream
):
    heard: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))
        if len(heard) == 2:
            upstream.release.set()

    server = await sync_to_async(server_for)(api_key)
    async with Client(server) as client:
        result = await client.call_tool(seven.name, {}, progress_callback=hear)
    assert json.loads(result.content[0].text)["name"] == "Seven"
    assert [seconds for seconds, _ in heard] == [1.5, 3.0]
    assert heard[0][1] == "get_seven: 1.5 s so far"


# -- The database -----------------------------------------------------------------------------------

FOREVER = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(600)",
}


@pytest.mark.django_db(transaction=True)
async def test_a_cancelled_query_is_stopped(on_the_pool: None):
    """On a thread of the pool, which would else be lost for ten minutes."""
    begun, ended = threading.Event(), threading.Event()

    def count() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                begun.set()
                cursor.execute(FOREVER[connection.vendor])
        finally:
            ended.set()

    task = asyncio.create_task(bridge.run_sync(count))
    assert await reached(begun)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await reached(ended)
    assert await bridge.run_sync(lambda: 7) == 7


@pytest.mark.django_db(transaction=True)
async def test_nothing_is_begun_for_a_caller_who_has_gone(on_the_pool: None):
    """Its turn comes when a thread is free; by then nobody waits."""
    gate, ran = threading.Event(), threading.Event()
    busy = [asyncio.create_task(bridge.run_sync(gate.wait)) for _ in range(POOL_SIZE)]
    late = asyncio.create_task(bridge.run_sync(ran.set))
    await asyncio.sleep(0)
    late.cancel()
    with pytest.raises(asyncio.CancelledError):
        await late
    gate.set()
    await asyncio.gather(*busy)
    await bridge.run_sync(lambda: None)
    assert not ran.is_set()


# -- Others -----------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_a_session_that_keeps_every_thread_of_its_own_busy_holds_up_no_other(
    on_the_pool: None, offered: Callable[..., Operation], api_key: str
):
    gate = threading.Event()

    def blocked(arguments: Mapping[str, Any], caller: Caller) -> Payload:
        gate.wait(PATIENCE)
        return Record({"id": 1})

    offered(blocked)
    offered(lambda arguments, caller: Record({"id": 2}), "get_two")
    caller = await bridge.run_sync(caller_of_key, api_key)

    def call(name: str, session: str) -> Call:
        return Call(name, {}, caller, "websocket", hints.mcp, session=session)

    busy = [asyncio.create_task(serve(call("get_seven", "a"))) for _ in range(3 * POOL_SIZE)]
    envelope = await asyncio.wait_for(serve(call("get_two", "b")), PATIENCE)
    gate.set()
    assert json.loads(envelope.body)["id"] == 2
    assert len(await asyncio.gather(*busy)) == 3 * POOL_SIZE


@pytest.mark.django_db(transaction=True)
async def test_a_blocking_call_over_its_time_is_given_up(
    on_the_pool: None, offered: Callable[..., Operation], api_key: str
):
    ended = threading.Event()

    def forever(arguments: Mapping[str, Any], caller: Caller) -> Payload:
        try:
            with connection.cursor() as cursor:
                cursor.execute(FOREVER[connection.vendor])
        finally:
            ended.set()
        return Record({})

    offered(forever)
    await bridge.run_sync(allow_seconds, "get_seven", 1)
    caller = await bridge.run_sync(caller_of_key, api_key)
    with pytest.raises(TooSlow):
        await serve(Call("get_seven", {}, caller, "websocket", hints.mcp))
    assert await reached(ended)


@pytest.mark.django_db(transaction=True)
async def test_calls_that_are_begun_and_cancelled_again_and_again_take_no_more_than_their_share(
    on_the_pool: None, offered: Callable[..., Operation], api_key: str
):
    """Python code on a thread cannot be stopped, so its thread counts against the limit until the code ends."""
    gate, begun = threading.Event(), threading.Semaphore(0)

    def stubborn(arguments: Mapping[str, Any], caller: Caller) -> Payload:
        begun.release()
        gate.wait(PATIENCE)
        return Record({"id": 1})

    offered(stubborn)
    offered(lambda arguments, caller: Record({"id": 2}), "get_two")
    caller = await bridge.run_sync(caller_of_key, api_key)
    for _ in range(WIDTH):
        task = asyncio.create_task(serve(Call("get_seven", {}, caller, "websocket", hints.mcp, session="a")))
        assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE)
        task.cancel()
    one_more = asyncio.create_task(serve(Call("get_seven", {}, caller, "websocket", hints.mcp, session="a")))
    other = Call("get_two", {}, caller, "websocket", hints.mcp, session="b")
    assert json.loads((await asyncio.wait_for(serve(other), PATIENCE)).body)["id"] == 2
    assert not begun.acquire(blocking=False)
    gate.set()
    assert json.loads((await asyncio.wait_for(one_more, PATIENCE)).body)["id"] == 1
