"""The table of old tool names keeps its rows when it changes its app."""

from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from gateway.access.models import FormerToolName

pytestmark = pytest.mark.django_db(transaction=True)
OF_SERVERS = ("mcp_servers", "0004_tools_switched_on_and_off")


def migrated(*targets: tuple[str, str]) -> Any:
    executor = MigrationExecutor(connection)
    executor.migrate([*targets])
    return executor.loader.project_state([*targets]).apps


@pytest.fixture
def before() -> Any:
    apps = migrated(("access", "0004_tool_sets_and_connectors"), OF_SERVERS)
    yield apps
    graph = MigrationExecutor(connection).loader.graph
    migrated(*(graph.leaf_nodes(app)[0] for app in ("mcp_servers", "access")))


def test_old_names_of_servers_are_there_after_the_upgrade_and_back(before: Any):
    before.get_model("mcp_servers", "FormerToolName").objects.create(
        former="old_look", current="new_look", until=timezone.now()
    )
    graph = MigrationExecutor(connection).loader.graph
    migrated(*(graph.leaf_nodes(app)[0] for app in ("mcp_servers", "access")))
    assert FormerToolName.objects.get().current == "new_look"
    again = migrated(("access", "0004_tool_sets_and_connectors"), OF_SERVERS)
    assert again.get_model("mcp_servers", "FormerToolName").objects.get().former == "old_look"
