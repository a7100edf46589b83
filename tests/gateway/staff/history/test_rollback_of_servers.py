"""A server that was deleted comes back with the switches of its tools, or the page says what is missing."""

from datetime import datetime
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone
from simple_history.models import registered_models

from gateway.connectors.mcp_servers import operations, tool_rows
from gateway.connectors.mcp_servers.models import McpServer, McpTool
from gateway.connectors.openapi.models import ImportedApi, ImportedOperation
from gateway.staff.history import rollback
from gateway.upstreams.models import UpstreamApi

pytestmark = pytest.mark.django_db
READS = {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
ACTS = {"name": "act", "inputSchema": {"type": "object"}}
MAKES = {"name": "make", "inputSchema": {"type": "object"}}


@pytest.fixture
def boss() -> User:
    return User.objects.create_superuser("boss")


def listed(server: McpServer, *tools: dict[str, Any]) -> None:
    """As a refresh stores the tools of a server."""
    found = list(tools or (READS, ACTS, MAKES))
    tool_rows.update(server.address(), found, operations.by_tool(server.address(), found), all_on=False)


def switch(name: str, *, is_on: bool) -> None:
    row = McpTool.objects.get(name=name)
    row.switch(is_on=is_on)
    row.save()


def server(**fields: Any) -> McpServer:
    """The server files, of whose tools staff have switched one on, and one off."""
    made = McpServer(name="files", url="https://files.example.com/mcp", **fields)
    if fields:
        made.set_secret("Zx7-first-secret")
    made.save()
    listed(made)
    switch("act", is_on=True)
    switch("look", is_on=False)
    return made


def states() -> dict[str, bool]:
    return dict(McpTool.objects.values_list("name", "enabled"))


SWITCHED = {"look": False, "act": True, "make": False}


def deleted(found: McpServer) -> datetime:
    """The moment before the server was deleted."""
    then = timezone.now()
    found.delete()
    assert states() == {}
    return then


@pytest.mark.parametrize("is_all", [True, False])
def test_a_server_without_a_secret_comes_back_with_its_switches(boss: User, is_all: bool):
    gone = server()
    only = "" if is_all else f"mcp_servers.mcpserver:{gone.pk}"
    then = deleted(gone)
    chosen = rollback.plan(then, boss, only)
    assert chosen.steps[0].name == "files"
    assert sorted((step.name, step.action, step.switched) for step in chosen.steps) == [
        ("files", "create", ""),
        ("files: act", "create", "on"),
        ("files: look", "create", "off"),
    ]
    assert not any("files" in sentence for sentence in chosen.kept)
    rollback.apply(chosen, "deleted by mistake")
    listed(McpServer.objects.get())
    assert states() == SWITCHED
    assert rollback.plan(then, boss, only).steps == ()


def unswitched() -> McpServer:
    made = McpServer.objects.create(name="files", url="https://files.example.com/mcp")
    listed(made)
    return made


def test_the_first_switch_of_a_tool_is_set_back(boss: User):
    unswitched()
    then = timezone.now()
    switch("act", is_on=True)
    (step,) = rollback.plan(then, boss).steps
    assert (step.name, step.action, step.differences) == ("files: act", "change", (("enabled", "True", "False"),))
    rollback.apply(rollback.plan(then, boss), "too early")
    assert states() == {"look": True, "act": False, "make": False}


def test_a_switch_that_nobody_has_moved_is_left_to_its_default(boss: User):
    before = timezone.now()
    made = unswitched()
    then = timezone.now()
    listed(made, {**READS, "annotations": {"readOnlyHint": False}}, ACTS, MAKES)
    assert states()["look"] is False
    assert (rollback.plan(then, boss).steps, rollback.plan(then, boss).kept) == ((), ())
    assert not any("files: " in sentence for sentence in rollback.plan(before, boss).kept)


def test_a_switch_goes_back_to_what_its_server_had_made_of_it(boss: User):
    made = unswitched()
    listed(made, {**READS, "annotations": {"readOnlyHint": False}}, ACTS, MAKES)
    then = timezone.now()
    switch("look", is_on=True)
    rollback.apply(rollback.plan(then, boss), "it acts")
    assert states()["look"] is False


def test_a_tool_of_before_there_was_a_history_gets_one(boss: User):
    McpTool.objects.bulk_create([McpTool(server="files", name="act", enabled=False)])
    migration = import_module("gateway.connectors.mcp_servers.migrations.0007_a_history_for_every_tool")
    for _ in range(2):
        migration.add_first_versions(apps, None)
    then = timezone.now()
    switch("act", is_on=True)
    rollback.apply(rollback.plan(then, boss), "too early")
    assert states() == {"act": False}
    assert McpTool.history.count() == 3  # the migration's, the switch's and the rollback's


def test_a_server_with_a_secret_is_added_again_by_hand_and_then_gets_its_switches_back(boss: User):
    then = deleted(server(authentication="bearer"))
    chosen = rollback.plan(then, boss)
    assert chosen.steps == ()
    assert sorted((sentence for sentence in chosen.kept if "files" in sentence), reverse=True) == [
        "The upstream files was deleted since. Its secret is not stored, so add it again. "
        "Then roll back once more, for its tools.",
        "The tool of an MCP server files: look was deleted since, with its server. Add that again first.",
        "The tool of an MCP server files: act was deleted since, with its server. Add that again first.",
    ]
    again = McpServer.objects.create(name="files", url="https://files.example.com/mcp")
    listed(again)
    chosen = rollback.plan(then, boss)
    assert sorted((step.name, step.differences) for step in chosen.steps) == [
        ("files: act", (("enabled", "False", "True"),)),
        ("files: look", (("enabled", "True", "False"),)),
    ]
    assert [sentence for sentence in chosen.kept if "files" in sentence] == [
        "The upstream files was added since and stays. Remove it on its own page if you do not want it."
    ]
    rollback.apply(chosen, "the server is back")
    listed(again)
    assert states() == SWITCHED


def test_ops_set_the_switches_back_but_only_an_admin_the_server():
    ops = User.objects.create_user("ops-2", is_staff=True)
    ops.groups.add(Group.objects.get(name="ops"))
    then = deleted(server())
    assert rollback.plan(then, ops).steps == ()
    listed(McpServer.objects.create(name="files", url="https://files.example.com/mcp"))
    assert {step.name for step in rollback.plan(then, ops).steps} == {"files: act", "files: look"}


def test_the_page_shows_how_each_tool_comes_back(admin_client: Client):
    then = deleted(server())
    shown = admin_client.get("/admin/history/rollback/", {"moment": then.isoformat()}).content.decode()
    assert "Will be created again, switched on, because it was deleted since." in shown


def test_tools_of_an_api_that_was_deleted_need_its_document(admin_client: Client, boss: User):
    upstream = UpstreamApi.objects.create(name="acme", base_url="https://example.com/v1")
    api = ImportedApi.objects.create(upstream=upstream)
    ImportedOperation.objects.create(api=api, key="GET /x", name="list_x", spec={})
    then = timezone.now()
    upstream.delete()
    said = (
        "The imported operation list_x was deleted since. Its definition is not stored, so import the document of its "
    )
    assert f"{said}API again." in rollback.plan(then, boss).kept
    assert admin_client.get("/admin/history/rollback/", {"moment": then.isoformat()}).status_code == 200


def test_every_history_that_leaves_out_fields_says_what_it_lacks():
    for model in registered_models.values():
        if model.history.model._history_excluded_fields and not getattr(model, "is_left_out_of_rollbacks", False):
            assert hasattr(model, "not_in_history"), model
