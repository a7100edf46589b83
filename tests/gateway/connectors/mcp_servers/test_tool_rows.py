"""The tools of other servers are rows that ops switch on and off, and follow their server to another name."""

import json
import re
from typing import Any

import mcp.types as types
import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.access.models import ApiKey, FormerToolName, ToolSet
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.connectors.mcp_servers import configuration, registry, server_switches, tool_rows
from gateway.connectors.mcp_servers import operations as tools
from gateway.connectors.mcp_servers.configuration import StdioServer, from_file
from gateway.connectors.mcp_servers.connector import CONNECTOR
from gateway.connectors.mcp_servers.models import McpServer, McpTool, ToolList
from gateway.failure_origins import origin_of
from gateway.upstreams.errors import UpstreamRefused
from telemetry.measurement import Origin
from tests.doors import Doors
from tests.simulators.mcp_server import mcp_server

pytestmark = pytest.mark.django_db
SERVER = StdioServer("sim", "x")
READS = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
ACTS = {"name": "act", "inputSchema": {"type": "object"}, "description": "Acts."}


def listed(server: Any = SERVER, *documents: Any, all_on: bool = False) -> None:
    """As a refresh stores what a server lists."""
    found = [*(documents or (ACTS, READS))]
    tool_rows.update(server, found, tools.by_tool(server, found), all_on=all_on)
    ToolList.objects.update_or_create(server=server.name, defaults={"tools": found, "all_on": all_on})


def on() -> set[str]:
    return set(McpTool.objects.filter(enabled=True, is_gone=False).values_list("name", flat=True))


def test_what_is_not_marked_read_only_is_off_at_first():
    listed()
    assert on() == {"look"}
    row = McpTool.objects.get(name="act")
    assert (row.description, row.reads_only) == ("Acts.", False)
    assert row.tokens > 20


TASK = {**READS, "name": "long", "description": "Takes hours.", "execution": {"taskSupport": "required"}}


def test_a_tool_that_runs_only_as_a_task_is_off_and_says_why():
    listed(StdioServer("sim", "x", allow=("*",)), TASK, READS, all_on=True)
    assert on() == {"look"}
    description = McpTool.objects.get(name="long").description
    assert description.startswith("Cannot be called here: its server runs it only as a task")
    assert description.endswith("Takes hours.")


def test_a_call_of_a_tool_that_runs_only_as_a_task_says_what_is_missing():
    (stored,) = tools.documents([types.Tool.model_validate(TASK)])
    (operation,) = tools.operations(SERVER, [stored])
    with pytest.raises(UpstreamRefused, match="taskSupport: required") as refused:
        async_to_sync(operation.fetch)({}, Caller("t", "t"))
    assert (refused.value.reason, origin_of(refused.value)) == ("upstream_task_only", Origin.UPSTREAM)


def test_servers_that_were_there_before_keep_all_tools_on():
    listed(all_on=True)
    assert on() == {"act", "look"}


@pytest.mark.parametrize(("allow", "expected"), [(("*",), {"act", "look"}), (("a*",), {"act", "look"}), ((), {"look"})])
def test_the_file_says_what_is_on_at_first(allow: tuple[str, ...], expected: set[str]):
    listed(StdioServer("sim", "x", allow=allow))
    assert on() == expected


def test_allow_is_a_list_of_texts(tmp_path: Any):
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"sim": {"command": "x", "allow": ["read_*"]}}}))
    assert from_file(str(path))[0].allow == ("read_*",)


def test_only_tools_that_are_on_are_offered(settings: Any, tmp_path: Any):
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"sim": {"command": "x"}}}))
    settings.MCP_SERVERS_FILE = str(path)
    listed()
    revisions.bump()
    assert [each.name for each in registry.operations()] == ["sim_look"]
    McpTool.objects.update(enabled=True)
    revisions.bump()
    assert {each.name for each in registry.operations()} == {"sim_look", "sim_act"}


def test_what_ops_switch_stays_as_it_is(admin_client: Client):
    listed()
    row = McpTool.objects.get(name="act")
    admin_client.post(f"/admin/mcp_servers/mcptool/{row.pk}/change/", {"enabled": "on"})
    listed()
    assert on() == {"act", "look"}
    listed(SERVER, READS)
    assert McpTool.objects.get(name="act").is_gone
    listed()
    assert on() == {"act", "look"}


def test_a_tools_description_is_in_sight_beside_its_name(admin_client: Client):
    listed()
    page = admin_client.get("/admin/mcp_servers/mcptool/").content.decode()
    (cell,) = re.findall(r'<th class="field-tool">(.*?)</th>', page, re.DOTALL)[:1]
    assert "act" in cell
    assert "Acts." in cell


@pytest.mark.parametrize("is_on", [True, False])
def test_each_switch_has_the_name_that_clients_see(settings: Any, tmp_path: Any, is_on: bool):
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {name: {"command": "x"} for name in ("a", "a_b")}}))
    settings.MCP_SERVERS_FILE = str(path)
    listed(StdioServer("a", "x"), {**READS, "name": "b_look"})
    listed(StdioServer("a_b", "x"), READS)
    McpTool.objects.filter(server="a").update(enabled=is_on)
    McpServer.objects.create(name="a_b_c", url="https://example.com/mcp", enabled=False)
    listed(StdioServer("a_b_c", "x"), READS)
    revisions.bump()
    offered = {each.name: each.tags for each in registry.operations()}
    assert len(offered) == 1 + is_on
    switches = {row.tool: row for row in CONNECTOR.switches()}
    assert {name: (switches[name].row.server, switches[name].row.name) for name in offered} == offered
    assert len(switches) == 3
    assert [row.tool for row in switches.values() if not row.has_effect] == ["a_b_c_look"]


def test_several_tools_are_switched_at_once(admin_client: Client):
    listed()
    ids = list(McpTool.objects.values_list("pk", flat=True))
    admin_client.post("/admin/mcp_servers/mcptool/", {"action": "switch_on", "_selected_action": ids})
    assert on() == {"act", "look"}
    admin_client.post("/admin/mcp_servers/mcptool/", {"action": "switch_off", "_selected_action": ids})
    listed()
    assert on() == set()


def test_what_a_switch_of_several_says_counts_the_chosen(admin_client: Client):
    listed()
    row = McpTool.objects.get(name="act")
    body = {"action": "switch_on", "_selected_action": [row.pk]}
    page = admin_client.post("/admin/mcp_servers/mcptool/?enabled__exact=0", body, follow=True)
    assert "1 tool is on from now on." in page.content.decode()
    body = {"action": "switch_off", "_selected_action": list(McpTool.objects.values_list("pk", flat=True))}
    page = admin_client.post("/admin/mcp_servers/mcptool/", body, follow=True)
    assert "2 tools are off from now on." in page.content.decode()


# -- Another name -----------------------------------------------------------------------------------


@pytest.fixture
def server() -> McpServer:
    row = McpServer.objects.create(name="old", url="https://example.com/mcp")
    listed(row.address())
    return row


def saved(client: Client, server: McpServer, **more: str) -> Any:
    given = {"name": "new", "url": server.url, "enabled": "on", "authentication": "none", "client_place": "header"}
    return client.post(f"/admin/mcp_servers/mcpserver/{server.pk}/change/", {**given, **more})


def rename(client: Client, server: McpServer, name: str = "new") -> Any:
    body = {"name": name, "shown": name, "_rename": "1"}
    return client.post(f"/admin/mcp_servers/mcpserver/{server.pk}/rename/", body, follow=True)


def test_another_name_is_asked_for_and_says_which_tools_it_renames(admin_client: Client, server: McpServer):
    revisions.bump()
    catalogue.offer(registry.operations())
    asking = saved(admin_client, server)
    assert asking.url == f"/admin/mcp_servers/mcpserver/{server.pk}/rename/?name=new"
    page = admin_client.get(asking.url).content.decode()
    assert "<td><code>old_look</code></td><td><code>new_look</code></td>" in page
    assert "1 tool gets another name" in page
    assert "1 more, which is off, changes in the same way." in page
    assert McpServer.objects.get().name == "old"
    assert ToolList.objects.get().server == "old"
    catalogue.withdraw("old_look")


def test_the_old_names_reach_the_new_tools_for_a_while(admin_client: Client, server: McpServer):
    TokenBudget.objects.create(operation="old_look", hard_cap=5000)
    key = ApiKey.objects.issue("desk")[0]
    ApiKey.objects.filter(pk=key.pk).update(
        allowed_tools=["old_act", "old_look"], hidden_tools=["old_act"], pinned_tools=["get_booking", "old_look"]
    )
    tools = ToolSet.objects.create(name="desk", tools=["old_look", "get_booking"])
    assert "Renamed old to new, and 2 of its tools with it" in rename(admin_client, server).content.decode()
    revisions.bump()
    catalogue.offer(registry.operations())
    assert catalogue.get("old_look") is catalogue.get("new_look")
    assert "old_look" not in [each.name for each in catalogue]
    assert catalogue.find("old_look", {"new_look"}) is None
    assert TokenBudget.objects.get().operation == "new_look"
    key.refresh_from_db()
    assert key.allowed_tools == ["new_act", "new_look"]
    assert (key.hidden_tools, key.pinned_tools) == (["new_act"], ["get_booking", "new_look"])
    tools.refresh_from_db()
    assert tools.tools == ["new_look", "get_booking"]
    FormerToolName.objects.update(until="2020-01-01T00:00:00Z")
    revisions.bump()
    assert all(not each.former_names for each in registry.operations())
    catalogue.withdraw("new_look")


def test_a_name_that_was_given_back_is_no_old_one(admin_client: Client, server: McpServer):
    rename(admin_client, server)
    rename(admin_client, server, "old")
    former = {each.former: each.current for each in FormerToolName.objects.all()}
    assert former == {"new_act": "old_act", "new_look": "old_look"}


def test_old_names_follow_a_second_renaming(admin_client: Client, server: McpServer):
    rename(admin_client, server)
    rename(admin_client, server, "newest")
    former = {each.former: each.current for each in FormerToolName.objects.filter(current="newest_look")}
    assert former == {"old_look": "newest_look", "new_look": "newest_look"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"name": "Not a name", "shown": "Not a name"}, "Enter a valid"),
        ({"name": "another", "shown": "new"}, "Rename to another"),
    ],
)
def test_only_a_name_that_was_shown_is_given(admin_client: Client, server: McpServer, body: dict[str, str], told: str):
    path = f"/admin/mcp_servers/mcpserver/{server.pk}/rename/"
    assert told in admin_client.post(path, {**body, "_rename": "1"}).content.decode()
    assert McpServer.objects.get().name == "old"


def test_a_renamed_tool_takes_no_name_of_another_server(admin_client: Client, server: McpServer):
    listed(McpServer.objects.create(name="a", url="https://example.com/a").address(), {**READS, "name": "b_look"})
    revisions.bump()
    rename(admin_client, server, "a_b")
    revisions.bump()
    (ours,) = [each.name for each in registry.operations() if each.tags == ("a_b", "look")]
    assert ours.startswith("a_b_look_")
    assert FormerToolName.objects.get(former="old_look").current == ours


# -- The test button --------------------------------------------------------------------------------


def test_staff_try_a_server(admin_client: Client, settings: Any, doors: Doors):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with mcp_server() as url:
        server = McpServer.objects.create(name="web", url=url)
        page = saved(admin_client, server, name="web", _test="1")
        told = admin_client.get(page.url).content.decode()
    assert "MCP server web answers: " in told
    page = saved(admin_client, server, name="web", _test="1")
    assert "MCP server web cannot be reached." in admin_client.get(page.url).content.decode()


def test_the_tools_page_and_renamings_go_on_while_the_file_of_servers_is_invalid(
    admin_client: Client, settings, tmp_path
):
    listed()
    file = tmp_path / "servers.json"
    file.write_text("{ broken")
    settings.MCP_SERVERS_FILE = str(file)
    configuration._last_valid.clear()
    revisions.bump()
    assert admin_client.get("/admin/tools/").status_code == 200
    rows = server_switches.switch_rows()
    assert [(row.tool, row.has_effect) for row in rows] == [("sim_act", False), ("sim_look", False)]
