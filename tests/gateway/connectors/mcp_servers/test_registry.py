"""What is known of the servers: kept while they are away, asked for again when they say so, and added in the admin."""

import asyncio
import json
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import anyio
import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.test import Client

from context_protection.configuration.revisions import revisions
from gateway.connectors.mcp_servers import refresh, registry
from gateway.connectors.mcp_servers.models import McpServer, McpTool, ToolList
from gateway.connectors.mcp_servers.refresh import Refreshing
from gateway.connectors.mcp_servers.sessions import ServerSessions
from gateway.threads.bridge import run_sync
from tests.gateway.connectors.mcp_servers.conftest import CHILD, Configure
from tests.patience import PATIENCE
from tests.simulators.bad_upstream import bad_upstream
from tests.simulators.mcp_server import Simulator, mcp_server

pytestmark = pytest.mark.django_db
DEEP: Any = reduce(lambda below, _: [below], range(300), "x")  # deeper than the fast writer goes


def names() -> set[str]:
    revisions.bump()
    return {operation.name for operation in registry.operations()}


def test_the_tools_of_a_server_that_is_away_are_offered(configure: Configure):
    configure(sim=CHILD)
    before = names()
    assert "sim_rows" in before
    configure(sim={"command": "/bin/false"})
    assert names() == before


def test_equal_lists_make_the_same_operations_and_no_write(configure: Configure):
    configure(sim=CHILD)
    before, changed_at = registry.operations(), ToolList.objects.get(server="sim").changed_at
    configure(sim=CHILD)
    assert all(one is other for one, other in zip(before, registry.operations(), strict=True))
    assert ToolList.objects.get(server="sim").changed_at == changed_at


def test_a_server_that_is_taken_out_takes_its_tools_with_it(configure: Configure):
    configure(sim=CHILD)
    configure()
    assert names() == set()
    assert not McpTool.objects.filter(is_gone=False).exists()
    configure(sim=CHILD)
    assert "sim_rows" in names()
    assert not McpTool.objects.filter(is_gone=True).exists()


def test_a_server_that_is_deleted_takes_its_tools_with_it(configure: Configure, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with mcp_server() as url:
        server = McpServer.objects.create(name="web", url=url)
        revisions.bump()
        configure(sim=CHILD)
    server.enabled = False
    server.save()
    configure(sim=CHILD)
    assert McpTool.objects.filter(server="web", is_gone=False).exists()
    server.delete()
    assert (
        {each.server for each in McpTool.objects.all()} == {each.server for each in ToolList.objects.all()} == {"sim"}
    )


def test_a_server_that_moves_to_the_file_keeps_its_switches(configure: Configure):
    server = McpServer.objects.create(name="sim", url="https://example.com/mcp")
    configure(sim=CHILD)
    McpTool.objects.update(enabled=False, is_chosen=True)
    server.delete()
    configure(sim=CHILD)
    assert names() == set()


@pytest.mark.parametrize(
    "odd", [{}, {"name": "act", "inputSchema": 10**30}, {"name": "act", "inputSchema": {"type": "object", "a": DEEP}}]
)
def test_a_server_whose_kept_tools_are_odd_costs_only_its_own(
    configure: Configure, odd: Any, caplog: pytest.LogCaptureFixture
):
    configure(a_odd={"command": "/bin/false"}, sim=CHILD)
    others = names()
    assert ToolList.objects.filter(server="a_odd").update(tools=[odd]) == 1
    assert names() == others
    assert "sim_rows" in others
    assert "MCP server's tool cannot be offered" in caplog.text


async def test_a_list_with_numbers_beyond_64_bits_is_kept_as_what_every_reader_can_read(
    configure: Any, settings: Any, tmp_path: Path
):
    simulated = Simulator()
    simulated.offer("vast", simulated.echo, schema={"type": "object", "properties": {"n": {"const": 10**30}}})
    with mcp_server(simulator=simulated) as url:
        path = tmp_path / "vast.json"
        path.write_text(json.dumps({"mcpServers": {"vast": {"url": url, "allow": ["*"]}}}))
        settings.MCP_SERVERS_FILE = str(path)
        sessions = ServerSessions()
        await Refreshing(sessions).refresh()
        await sessions.close()
    kept = await ToolList.objects.aget(server="vast")
    (tool,) = [each for each in kept.tools if each["name"] == "vast"]
    assert tool["inputSchema"]["properties"]["n"] == {"const": str(10**30)}


def test_a_server_of_the_admin_is_offered_while_it_is_enabled(configure: Configure, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with mcp_server() as url:
        server = McpServer.objects.create(name="web", url=url)
        revisions.bump()
        configure()
        assert "web_rows" in names()
        McpServer.objects.filter(pk=server.pk).update(enabled=False)
        configure()
        assert names() == set()


def test_a_server_of_the_file_goes_before_one_of_the_admin(configure: Configure):
    McpServer.objects.create(name="sim", url="http://127.0.0.1:9/mcp")
    configure(sim=CHILD)
    assert [type(server).__name__ for server in registry.servers()] == ["StdioServer"]


@pytest.mark.parametrize("over", ["stdio", "http", "http of 2025"])
async def test_tools_that_a_server_adds_are_offered(configure: Any, settings: Any, tmp_path: Any, over: str):
    """It says that they have changed, and is asked again: long before the next look."""
    sessions = ServerSessions()
    refreshing = Refreshing(sessions, every=3600)
    with mcp_server(era="2025" if "2025" in over else "") as url:
        path = tmp_path / "growing.json"
        path.write_text(
            json.dumps({"mcpServers": {"growing": {**(CHILD if over == "stdio" else {"url": url}), "allow": ["*"]}}})
        )
        settings.MCP_SERVERS_FILE = str(path)
        await refreshing.start()
        await until_offered("growing_rows")
        (server,) = await run_sync(registry.servers)
        assert "growing_grown" not in await run_sync(names)
        await sessions.call(server, "grow", {})
        await until_offered("growing_grown")
        await refreshing.stop()


async def test_a_server_that_is_added_is_asked_at_once(db: None, settings: Any):
    """Long before the next look."""
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    sessions = ServerSessions()
    refreshing = Refreshing(sessions, every=3600)
    with mcp_server() as url:
        await refreshing.start()
        await run_sync(registry.servers)
        server = await McpServer.objects.acreate(name="added", url="http://127.0.0.1:9/mcp")
        revisions.bump()
        await until_known("added", lambda kept: "cannot be reached" in kept.failure)
        server.url = url
        await server.asave()
        await until_offered("added_rows")
        await until_known("added", lambda kept: kept.failure == "")
        await refreshing.stop()


async def test_a_silent_server_holds_up_no_other(db: None, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    sessions = ServerSessions()
    refreshing = Refreshing(sessions, every=3600, patience=6)
    with bad_upstream() as silent, mcp_server() as url:
        silent.mode = "hang"
        await McpServer.objects.acreate(name="silent", url=f"{silent.url}/mcp")
        revisions.bump()
        await refreshing.start()
        await asyncio.to_thread(silent.wait_for, 1)
        await McpServer.objects.acreate(name="added", url=url)
        await until_offered("added_rows")
        assert not await ToolList.objects.filter(server="silent").aexists()
        await until_known("silent", lambda kept: "in time" in kept.failure)
        await refreshing.stop()


def test_what_a_server_has_said_is_not_said_of_another_of_its_name(db: None):
    server = McpServer.objects.create(name="web", url="https://example.com/mcp")
    ToolList.objects.create(server="web", tools=[{"name": "act"}])
    server.enabled = False
    server.save()
    assert ToolList.objects.exists(), "it is the same server"
    server.url = "https://example.org/mcp"
    server.save()
    assert not ToolList.objects.exists()
    ToolList.objects.create(server="web", tools=[{"name": "act"}])
    server.delete()
    McpServer.objects.create(name="web", url="https://example.com/mcp")
    assert not ToolList.objects.exists()


async def until_known(name: str, holds: Callable[[ToolList], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while (kept := await ToolList.objects.filter(server=name).afirst()) is None or not holds(kept):
        assert time.monotonic() < deadline, kept and kept.failure
        await asyncio.sleep(0.01)


def test_why_a_server_gives_no_tools_is_kept_beside_those_it_had(configure: Configure):
    configure(sim=CHILD)
    before = ToolList.objects.get(server="sim")
    assert before.failure == ""
    configure(sim={"command": "/bin/false"})
    away = ToolList.objects.get(server="sim")
    assert away.tools == before.tools
    assert away.failure
    configure(sim={"command": "/bin/false"})
    assert ToolList.objects.get(server="sim").changed_at == away.changed_at
    configure(sim=CHILD)
    assert ToolList.objects.get(server="sim").failure == ""


def test_an_invalid_tool_costs_only_itself_and_is_named(db: None, settings: Any, tmp_path: Path):
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"sim": {"command": "x", "allow": ["*"]}}}))
    settings.MCP_SERVERS_FILE = str(path)
    odd = {"name": "odd", "inputSchema": {"type": "object", "a": DEEP}}
    look = {"name": "look", "inputSchema": {"type": "object", "properties": {"a": {}}, "required": None}}
    (server,) = registry.servers()
    refresh._store_tools(server, [odd, look])
    assert names() == {"sim_look"}
    assert ToolList.objects.get().failure.endswith("cannot be offered, as their definitions are invalid: odd.")
    refresh._store_tools(server, [look])
    assert ToolList.objects.get().failure == ""


async def until_offered(name: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while name not in await run_sync(names):
        assert time.monotonic() < deadline, "it has not happened in time"
        await asyncio.sleep(0.01)


async def test_a_file_that_became_odd_stops_nothing(settings: Any, tmp_path: Any, caplog: pytest.LogCaptureFixture):
    path = tmp_path / "odd.json"
    path.write_text("{")
    settings.MCP_SERVERS_FILE = str(path)
    sessions = ServerSessions()
    await Refreshing(sessions).refresh()
    assert "MCP servers not checked" in caplog.text
    await sessions.close()


def test_calls_go_on_while_the_file_is_odd(configure: Configure, settings: Any):
    configure(sim=CHILD)
    before = names()
    with open(settings.MCP_SERVERS_FILE, "w") as file:
        file.write("{")
    assert names() == before
    assert [server.name for server in registry.servers()] == ["sim"]


async def test_servers_of_the_admin_are_asked_while_the_file_is_odd(
    configure: Any, settings: Any, caplog: pytest.LogCaptureFixture
):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    await run_sync(lambda: configure(sim=CHILD))
    await run_sync(registry.operations)
    await anyio.Path(settings.MCP_SERVERS_FILE).write_text("{")
    sessions = ServerSessions()
    with mcp_server() as url:
        await McpServer.objects.acreate(name="web", url=url)
        await run_sync(revisions.bump)
        await Refreshing(sessions).refresh()
        await sessions.close()
    assert {"sim_rows", "web_rows"} <= await run_sync(names)
    assert "MCP servers of the file stay as they were" in caplog.text


def test_a_file_that_is_odd_from_the_start_is_refused(db: None, settings: Any, tmp_path: Any):
    settings.MCP_SERVERS_FILE = str(tmp_path / "not there.json")
    with pytest.raises(ImproperlyConfigured):
        registry.operations()


# -- The admin --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"name": "Web", "url": "https://example.com/mcp"}, "name"),
        ({"name": "taken", "url": "https://example.com/mcp"}, "name"),
        ({"name": "web", "url": "https://me:pw@example.com/mcp"}, "url"),
        ({"name": "web", "url": "ftp://example.com/mcp"}, "url"),
        ({"name": "web", "url": "http://127.0.0.1:8000/mcp"}, "url"),
        ({"name": "web", "url": "http://2130706433/mcp"}, "url"),
        ({"name": "web", "url": "http://169.254.169.254/mcp"}, "url"),
        ({"name": "web", "url": "http://localhost/mcp"}, "url"),
        ({"name": "web", "url": "https://example.com/mcp", "authentication": "bearer"}, "secret"),
        ({"name": "web", "url": "https://example.com/mcp", "authentication": "magic"}, "authentication"),
    ],
)
def test_what_ops_cannot_mean_is_refused_at_its_field(settings: Any, tmp_path: Any, fields: Any, wrong: str):
    path = tmp_path / "servers.json"
    path.write_text('{"mcpServers": {"taken": {"command": "x"}}}')
    settings.MCP_SERVERS_FILE = str(path)
    with pytest.raises(ValidationError) as refused:
        McpServer(**fields).full_clean()
    assert set(refused.value.message_dict) == {wrong}


def test_a_server_can_be_added_while_the_file_is_odd(configure: Configure, settings: Any):
    configure(taken=CHILD)
    registry.operations()
    with open(settings.MCP_SERVERS_FILE, "w") as file:
        file.write("{")
    McpServer(name="web", url="https://example.com/mcp").full_clean()
    with pytest.raises(ValidationError) as refused:
        McpServer(name="taken", url="https://example.com/mcp").full_clean()
    assert set(refused.value.message_dict) == {"name"}


@pytest.mark.parametrize(
    ("fields", "sentences"),
    [
        ({"name": "", "url": ""}, 2),
        ({"name": "Über uns", "url": "https://example.com/mcp"}, 1),
        ({"name": "Web", "url": "ftp://example.com"}, 2),
    ],
)
def test_one_thing_is_said_of_each_field_that_is_wrong(admin_client: Client, fields: Any, sentences: int):
    given = {**fields, "enabled": "on", "authentication": "none", "client_place": "header"}
    form = admin_client.post("/admin/mcp_servers/mcpserver/add/", given).context["adminform"].form
    assert sum(map(len, form.errors.values())) == sentences


def test_ops_add_an_address_and_can_set_no_command(admin_client: Client):
    form = admin_client.get("/admin/mcp_servers/mcpserver/add/").content.decode()
    assert 'name="url"' in form
    assert 'name="command"' not in form
    assert "What it offers" not in form
    admin_client.post(
        "/admin/mcp_servers/mcpserver/add/",
        {
            "name": "web",
            "url": "https://example.com/mcp",
            "enabled": "on",
            "authentication": "none",
            "client_place": "header",
        },
    )
    assert McpServer.objects.get().history.count() == 1


def test_ops_see_what_a_server_offers_or_why_it_does_not(admin_client: Client):
    server = McpServer.objects.create(name="web", url="https://example.com/mcp")

    def is_told(*words: str) -> bool:
        pages = [admin_client.get(f"/admin/mcp_servers/mcpserver/{path}") for path in ("", f"{server.pk}/change/")]
        return all(word in page.content.decode() for page in pages for word in words)

    assert is_told("Sluice connects to it within seconds.")
    kept = ToolList.objects.create(server="web", failure="web cannot be reached.")
    assert is_told("web cannot be reached.")
    kept.tools, kept.failure = [{"name": f"tool{n}"} for n in range(4321)], ""
    kept.save()
    assert is_told("0 on, of 4,321", "It has answered.")
    McpServer.objects.update(enabled=False)
    assert is_told("It is switched off.")
