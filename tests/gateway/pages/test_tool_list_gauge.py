"""The gauge of the tool list: home, imports, servers and keys say how much of its budget the list takes."""

from typing import Any

import orjson
import pytest
from django.test import Client

from context_protection.configuration.revisions import revisions
from context_protection.core.tokens import claude
from gateway.mcp.tools import unrestricted_list

pytestmark = pytest.mark.django_db

WITH_GAUGE = (
    "/",
    "/admin/openapi/importedapi/",
    "/admin/mcp_servers/mcpserver/",
    "/admin/access/apikey/",
    "/admin/openapi/importedoperation/",
    "/admin/mcp_servers/mcptool/",
    "/admin/mcp_servers/mcpserver/add/",
)


@pytest.mark.parametrize("page", WITH_GAUGE)
def test_a_page_says_how_much_of_its_budget_the_list_takes(admin_client: Client, page: str, settings: Any):
    settings.TOOL_LIST_BUDGET = 9876
    text = admin_client.get(page).content.decode()
    assert f"<strong>{unrestricted_list().whole:,} of 9,876</strong>" in text
    assert f"clients get all {len(unrestricted_list().definitions)} tools" in text


@pytest.mark.parametrize("page", WITH_GAUGE)
def test_a_page_says_that_clients_must_search(admin_client: Client, page: str, large_api: list[str], settings: Any):
    """Once, the list became a search, and nobody was told."""
    revisions.bump()
    text = admin_client.get(page).content.decode()
    assert "It is over its budget" in text
    assert unrestricted_list().whole > settings.TOOL_LIST_BUDGET


def test_only_what_a_model_reads_counts():
    """Once, titles and hints counted, which clients keep to themselves: the gauge showed an eighth more."""
    read_by_models = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in (each.tool for each in unrestricted_list().definitions)
    ]
    counted = claude.count(orjson.dumps(read_by_models).decode())
    assert unrestricted_list().whole == pytest.approx(counted, rel=0.002)


def test_a_server_is_added_knowing_how_much_room_is_left(admin_client: Client, settings: Any):
    listed = unrestricted_list()
    usual = listed.whole // len(listed.definitions)
    settings.TOOL_LIST_BUDGET = listed.whole + 3 * usual + 1
    text = admin_client.get("/admin/mcp_servers/mcpserver/add/").content.decode()
    assert "There is room for about 3 more tools of the usual size" in text
