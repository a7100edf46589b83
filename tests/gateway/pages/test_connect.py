"""The page /connect/: each client's configuration, for everybody; the wait for a first call, for staff."""

import pytest
from django.test import Client

from gateway.access.models import ApiKey

pytestmark = pytest.mark.django_db
CLIENTS = ("Claude Code", "Claude Desktop", "VS Code", "Cursor", "Windsurf", "Codex", "MCP Inspector", "curl")


def test_everybody_sees_configuration_without_a_key_or_a_path(client: Client):
    ApiKey.objects.issue("ci-bot")
    page = client.get("/connect/", headers={"host": "localhost"}).content.decode()
    assert all(name in page for name in CLIENTS)
    assert "http://localhost/mcp" in page
    assert "YOUR_KEY" in page
    assert "/path/to/sluice/manage.py" in page
    assert "ci-bot" not in page
    assert "Log in</a> to see here" in page


def test_staff_wait_for_the_first_call_of_a_key(admin_client: Client):
    key, _ = ApiKey.objects.issue("ci-bot")
    page = admin_client.get("/connect/").content.decode()
    assert "<option>ci-bot</option>" in page
    assert f"/admin/keys/{key.pk}/first-call/" not in page
    page = admin_client.get("/connect/", {"key": "ci-bot"}).content.decode()
    assert f"/admin/keys/{key.pk}/first-call/" in page


def test_the_home_page_leads_there(admin_client: Client):
    assert 'href="/connect/"' in admin_client.get("/").content.decode()
