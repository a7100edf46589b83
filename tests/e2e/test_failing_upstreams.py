"""A running Sluice and upstreams that fail: who calls others notices nothing, who gives up is not called for, and what
is not to be reached is not reached."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.e2e.serving import Serving, serving
from tests.e2e.test_clients import over_http, over_websocket
from tests.patience import PATIENCE
from tests.simulators.bad_upstream import BadUpstream, bad_upstream
from tests.simulators.upstream import WaitingUpstream, waiting_upstream

CONNECT = {"http": over_http, "websocket": over_websocket}
HELD, HANGING = "/hold/rows", "/hang/rows"

IMPORT = """
from context_protection.configuration.revisions import revisions
from gateway.connectors.openapi.importer import import_plan
for name, document in {documents!r}.items():
    plan = import_plan.plan(document.encode(), name=name, source="document.json")
    import_plan.store(plan, chosen=[each.key for each in plan.proposals])
revisions.bump()
"""


def imported(sluice: Serving, **urls: str) -> None:
    """APIs by their names, each with one operation, which lists what is at its address."""
    documents = {name: document_at(url) for name, url in urls.items()}
    done = sluice.manage("shell", "-c", IMPORT.format(documents=documents))
    assert done.returncode == 0, done.stderr


def document_at(url: str) -> str:
    row = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    answer = {"description": "ok", "content": {"application/json": {"schema": {"type": "array", "items": row}}}}
    query = {"name": "query", "in": "query", "schema": {"type": "string"}}
    rows = {"operationId": "rows", "parameters": [query], "responses": {"200": answer}}
    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "Rows", "version": "1"},
            "servers": [{"url": url}],
            "paths": {"/rows": {"get": rows}},
        }
    )


@pytest.fixture(scope="module")
def bad() -> Iterator[BadUpstream]:
    with bad_upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def waiting() -> Iterator[dict[str, WaitingUpstream]]:
    with ExitStack() as stack:
        yield {transport: stack.enter_context(waiting_upstream()) for transport in CONNECT}


@pytest.fixture(scope="module")
def sluice(
    tmp_path_factory: pytest.TempPathFactory, bad: BadUpstream, waiting: dict[str, WaitingUpstream]
) -> Iterator[Serving]:
    modes = {"held": "hold", "hanging": "hang", "one": "ok", "two": "ok"}
    urls = {name: f"{bad.url}/{mode}" for name, mode in modes.items()}
    urls |= {f"waiting_{transport}": upstream.url for transport, upstream in waiting.items()}
    with serving(tmp_path_factory.mktemp("sluice"), ALLOW_PRIVATE_UPSTREAMS="true") as running:
        imported(running, **urls)
        yield running


async def text_of(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    result = await client.call_tool(tool, arguments)
    text: str = result.content[0].text
    return text


def test_a_hundred_equal_calls_at_once_are_one_question_to_upstream(sluice: Serving, bad: BadUpstream):
    """Over connections of their own, as several clients have them."""

    async def talk() -> list[str]:
        answers: list[str] = []

        async def ask(client: Client) -> None:
            answers.append(await text_of(client, "held_rows", {}))

        async with client_of(sluice) as one, client_of(sluice) as other, anyio.create_task_group() as tasks:
            for client in (one, other):
                for _ in range(50):
                    tasks.start_soon(ask, client)
            await asyncio.to_thread(bad.wait_for, before + 1, PATIENCE, HELD)
            for client in (one, other):
                await client.list_tools()  # it is answered, so that the calls before it have arrived
            bad.release()
        return answers

    before = bad.count_at(HELD)
    answers = anyio.run(talk)
    assert len(answers) == 100
    assert len(set(answers)) == 1
    assert bad.count_at(HELD) == before + 1


def client_of(sluice: Serving, transport: str = "websocket") -> Client:
    return Client(CONNECT[transport](sluice), mode="legacy")


@pytest.mark.parametrize("transport", list(CONNECT))
def test_a_call_that_is_given_up_hangs_up_on_upstream(
    sluice: Serving, waiting: dict[str, WaitingUpstream], transport: str
):
    upstream = waiting[transport]

    async def talk() -> None:
        async with client_of(sluice, transport) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, f"waiting_{transport}_rows", {})
            assert await asyncio.to_thread(upstream.begun.wait, PATIENCE)
            tasks.cancel_scope.cancel()

    anyio.run(talk)
    assert upstream.hung_up.wait(PATIENCE)


def test_calls_of_others_are_answered_while_an_api_hangs(sluice: Serving, bad: BadUpstream):
    """Eight calls wait for it all the while, over a connection of their own and over that of the others."""
    given_up: list[str] = []

    async def wait_in_vain(client: Client, query: str) -> None:
        given_up.append(await text_of(client, "hanging_rows", {"query": query}))

    async def some(client: Client, tool: str) -> None:
        for number in range(10):
            text = await text_of(client, tool, {"query": str(number)})
            assert '"error"' not in text, text

    async def talk() -> None:
        async with (
            client_of(sluice) as client,
            client_of(sluice) as waiting,
            anyio.create_task_group() as hanging,
        ):
            for number in range(4):
                hanging.start_soon(wait_in_vain, waiting, f"{number}")
                hanging.start_soon(wait_in_vain, client, f"{number} beside the others")
            await asyncio.to_thread(bad.wait_for, before + 8, PATIENCE, HANGING)
            async with anyio.create_task_group() as others:
                others.start_soon(some, client, "one_rows")
                others.start_soon(some, client, "two_rows")
            hanging.cancel_scope.cancel()

    before = bad.count_at(HANGING)
    anyio.run(talk)
    assert given_up == []


def test_a_private_address_is_not_connected_to_though_it_is_stored(tmp_path: Path):
    """It was allowed when it was imported."""
    with bad_upstream() as canary, serving(tmp_path) as strict:
        done = strict.manage(
            "shell", "-c", IMPORT.format(documents={"inside": document_at(canary.url)}), ALLOW_PRIVATE_UPSTREAMS="true"
        )
        assert done.returncode == 0, done.stderr
        error = anyio.run(refused_by, strict)
        assert error["reason"] == "upstream_address"
        assert "ALLOW_PRIVATE_UPSTREAMS" in error["data"]["suggestion"]
        assert canary.connections == 0


async def refused_by(sluice: Serving) -> dict[str, Any]:
    """What the call of its tool says, once the tool is there: another process has stored it."""
    deadline = time.monotonic() + PATIENCE
    async with client_of(sluice) as client:
        while True:
            error: dict[str, Any] = json.loads(await text_of(client, "inside_rows", {}))["error"]
            if error["reason"] != "unknown_operation" or time.monotonic() > deadline:
                return error
