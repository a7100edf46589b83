"""The admin pages of the copied account say how to connect one, and what comes next."""

from typing import Any

import pytest
from django.test import Client

from gateway.connectors.hostaway.models import SyncState

pytestmark = pytest.mark.django_db
PAGES = ("/admin/hostaway/syncstate/", "/admin/hostaway/webhookevent/")


def page_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return str(response.content.decode())


@pytest.fixture
def account(settings: Any) -> None:
    settings.HOSTAWAY_ACCOUNT_ID, settings.HOSTAWAY_API_SECRET = "12345", "canary-api-secret"


@pytest.mark.parametrize("address", PAGES)
def test_without_an_account_the_page_says_how_to_connect_one(admin_client: Client, settings: Any, address: str):
    page = page_of(admin_client, address)
    assert "No Hostaway account is connected" in page
    for step in (
        "<strong>Settings → Hostaway API</strong>",
        f"<code>{settings.BASE_DIR}/.env</code>",
        "HOSTAWAY_ACCOUNT_ID=12345\nHOSTAWAY_API_SECRET=",
        f"cd {settings.BASE_DIR}\n",
        " manage.py hostaway_sync</pre>",
    ):
        assert step in page
    assert 'class="paginator"' not in page


def test_with_an_account_the_page_says_when_the_copy_begins(admin_client: Client, account: None):
    page = page_of(admin_client, PAGES[0])
    assert "Account 12345 is connected. What has changed is read every 5 minutes. Nothing has been copied yet" in page
    assert "canary-api-secret" not in page
    SyncState.objects.create(resource="reservations", account="12345")
    page = page_of(admin_client, PAGES[0])
    assert "Nothing has been copied yet" not in page
    assert "reservations" in page


def test_the_page_of_webhooks_says_how_to_register_one(admin_client: Client, account: None, settings: Any):
    page = page_of(admin_client, PAGES[1])
    assert "register <code>http://testserver/webhooks/hostaway</code> at Hostaway" in page
    settings.HOSTAWAY_WEBHOOK_SECRET = "a-long-random-text"
    page = page_of(admin_client, PAGES[1])
    assert "No event has come yet." in page
    assert "a-long-random-text" not in page
