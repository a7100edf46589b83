"""The page at /admin/tools/: every tool with its cost and its use, also those that are off."""

import html
import json
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from gateway.access.models import ApiKey, ConnectorSwitch
from gateway.catalog.catalog import catalogue
from gateway.connectors.mcp_servers.models import McpTool
from gateway.mcp.tools import unrestricted_list
from tests.telemetry.examples import a_call, stored

pytestmark = pytest.mark.django_db
PAGE = "/admin/tools/"


def rows(client: Client, q: str = "", key: str = "") -> dict[str, dict[str, object]]:
    """The rows of the export, by tool."""
    answer = client.get(PAGE, {"export": "json", "q": q, "key": key})
    return {row["tool"]: row for row in json.loads(b"".join(answer.streaming_content))}


@pytest.fixture
def on_again() -> Iterator[None]:
    yield
    ConnectorSwitch.objects.update(is_on=True)
    revisions.bump()
    catalogue.refresh()


def test_every_tool_has_its_cost_its_use_and_its_links(admin_client: Client):
    now = timezone.now()
    stored(
        a_call(operation="list_bookings", at=now, claude_tokens=900),
        a_call(operation="list_bookings", at=now - timedelta(minutes=1), claude_tokens=300),
    )
    found = rows(admin_client)
    listed = unrestricted_list()
    assert {each.tool.name: each.tokens for each in listed.definitions} == {
        k: row["tokens"] for k, row in found.items()
    }
    bookings = found["list_bookings"]
    assert (bookings["state"], bookings["kind"], bookings["connector"]) == ("on", "reads", "hostaway")
    assert (bookings["calls"], bookings["sent"]) == (2, 1200)
    text = html.unescape(admin_client.get(PAGE).content.decode())
    assert f"<strong>{listed.whole:,} of 8,000</strong>" in text
    for link in (
        "/admin/budgets/list_bookings/",
        "/telemetry/playground/?tool=list_bookings",
        "/telemetry/tools/list_bookings/",
    ):
        assert f'href="{link}' in text
    cost = sum(each.tokens for each in listed.definitions if each.tool.name != "list_bookings")
    assert f"Not called in 1 day: {len(found) - 1}, which take {cost:,} tokens of the list." in text


def test_tools_that_are_off_are_rows_too(admin_client: Client, on_again: None):
    McpTool.objects.create(server="papers", name="delete_page", enabled=False, tokens=140, reads_only=False)
    ConnectorSwitch.objects.update_or_create(connector="nsip", defaults={"is_on": False})
    revisions.bump()
    catalogue.refresh()
    found = rows(admin_client, "off")
    assert found["papers_delete_page"]["tokens"] == 140
    assert found["papers_delete_page"]["kind"] == "writes"
    assert {row["connector"] for row in found.values()} == {"nsip", "mcp_servers"}
    assert all(row["tokens"] for row in found.values())
    text = admin_client.get(PAGE, {"q": "off"}).content.decode()
    assert re.search(r'href="/admin/mcp_servers/mcptool/\d+/change/"', text)
    assert re.search(r'href="/admin/access/connectorswitch/\d+/change/"', text)
    assert "/admin/budgets/nsip" not in text, "a tool that is off has no budget page"


def test_a_filter_takes_parts_of_names_and_whole_words(admin_client: Client):
    assert set(rows(admin_client, "list_book")) == {"list_bookings"}
    assert {row["connector"] for row in rows(admin_client, "hostaway on").values()} == {"hostaway"}
    assert rows(admin_client, "no_such_tool") == {}
    assert "No tool matches." in admin_client.get(PAGE, {"q": "no_such_tool"}).content.decode()


def test_links_lead_only_where_one_may_go(client: Client):
    user = User.objects.create_user("looker", is_staff=True)
    client.force_login(user)
    assert client.get(PAGE).status_code == 403
    user.user_permissions.add(Permission.objects.get(codename="view_toolset"))
    text = client.get(PAGE).content.decode()
    assert "list_bookings" in text
    assert not re.search(r'href="/(admin/(budgets|access|openapi|mcp_servers)|telemetry)/', text)


def test_the_list_is_shown_as_a_key_sees_it(admin_client: Client, on_again: None):
    """Also where a tool that is off would be hidden from it."""
    McpTool.objects.create(server="papers", name="delete_page", enabled=False, tokens=140, reads_only=False)
    ApiKey.objects.issue("reader", reads_only=True, hidden_tools=["list_bookings"])
    revisions.bump()
    text = html.unescape(admin_client.get(PAGE, {"key": "reader"}).content.decode())
    listed = [each for each in unrestricted_list().definitions if each.tool.name != "list_bookings"]
    cost = sum(each.tokens for each in listed)
    assert f"reader gets all {len(listed)} tools; all that it may call take {cost:,} of 8,000 tokens." in text
    assert "Hidden from it: 2." in text
    found = rows(admin_client, key="reader")
    assert {name for name, row in found.items() if "hidden" in str(row["state"])} == {
        "list_bookings",
        "papers_delete_page",
    }
    assert "<option selected>reader</option>" in text
    assert "hidden" not in str(rows(admin_client, key="nobody")["list_bookings"]["state"])


def test_who_may_not_see_keys_is_not_offered_their_views(client: Client, on_again: None):
    user = User.objects.create_user("looker", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_toolset"))
    client.force_login(user)
    ApiKey.objects.issue("reader", hidden_tools=["list_bookings"])
    revisions.bump()
    text = client.get(PAGE, {"key": "reader"}).content.decode()
    assert "As seen by" not in text
    assert "Hidden from it" not in text
