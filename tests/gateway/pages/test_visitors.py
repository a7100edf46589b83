"""What a caller is shown who is not known, and what opens the rest: a key, a staff session or PUBLIC_PAGES."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from gateway.access.models import ApiKey
from gateway.catalog.catalog import catalogue
from gateway.version import VERSION

pytestmark = pytest.mark.django_db

CLOSED = ("/metrics", "/api/schema/", "/api/docs/")
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def text(response: Any) -> str:
    return unescape(response.content.decode())


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


# -- Those unknown ----------------------------------------------------------------------------------


def test_health_tells_those_unknown_that_it_works_and_the_version(client: Client):
    response = client.get("/health")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "version": VERSION}


@pytest.mark.parametrize("address", CLOSED)
def test_programs_that_are_unknown_are_told_how_to_come_in(client: Client, address: str):
    response = client.get(address)
    error = response.json()["error"]
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="sluice"'
    assert error["reason"] == "not_authenticated"
    for way in ("Authorization: Bearer <key>", "/admin/", "PUBLIC_PAGES=true"):
        assert way in error["data"]["suggestion"]


@pytest.mark.parametrize("address", CLOSED)
def test_browsers_that_are_unknown_are_led_to_the_login_and_back(client: Client, address: str):
    response = client.get(address, headers={"Accept": BROWSER})
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == 'Bearer realm="sluice"'
    assert f'href="/admin/login/?next={address}"' in text(response)
    response = client.get(f"{address}?x=1&y=a%26b", headers={"Accept": BROWSER})
    assert f'href="/admin/login/?next={address}%3Fx%3D1%26y%3Da%2526b"' in response.content.decode()


def test_home_tells_those_unknown_how_to_log_in_and_make_a_key(client: Client):
    page = text(client.get("/"))
    assert 'href="/admin/login/?next=/"' in page
    assert 'href="/admin/access/apikey/add/"' in page
    assert "manage.py apikey create NAME" in page
    assert "manage.py changepassword admin" in page
    assert "Authorization: Bearer KEY" in page


def test_home_tells_those_unknown_nothing_of_the_account(client: Client):
    page = text(client.get("/"))
    assert not [operation.name for operation in catalogue if operation.name in page]
    assert "24 hours" not in page
    for address in ("/api/docs/", "/api/schema/", "/metrics"):
        assert address not in page


def test_home_asks_nothing_of_the_database_for_those_unknown(client: Client, django_assert_num_queries: Any):
    with django_assert_num_queries(0):
        client.get("/")


def test_a_login_without_staff_is_as_good_as_none(client: Client):
    client.force_login(User.objects.create_user("visitor"))
    assert set(client.get("/health").json()) == {"status", "version"}
    assert client.get("/metrics").status_code == 401
    assert "Make a key" in text(client.get("/"))


# -- What opens them --------------------------------------------------------------------------------


def opened(client: Client, **headers: str) -> None:
    assert "calls" in client.get("/health", headers=headers).json()
    assert "Operations" in text(client.get("/", headers=headers))
    for address in CLOSED:
        assert client.get(address, headers=headers).status_code == 200


def test_a_key_opens_them(client: Client, api_key: str):
    opened(client, **bearer(api_key))


def test_the_session_of_staff_opens_them(client: Client):
    client.force_login(User.objects.create_user("clerk", is_staff=True))
    opened(client)


def test_public_pages_open_them_even_to_a_key_that_is_none(client: Client, settings: Any):
    settings.PUBLIC_PAGES = True
    opened(client)
    opened(client, **bearer("nobodys"))


@pytest.mark.parametrize("address", [*CLOSED, "/", "/health"])
def test_a_key_that_is_refused_opens_nothing(client: Client, address: str):
    _, expired = ApiKey.objects.issue("expired", expires_at=timezone.now() - timedelta(seconds=1))
    revoked_key, revoked = ApiKey.objects.issue("revoked")
    revoked_key.revoke()
    revisions.bump()
    for key, words in ((expired, "expired"), (revoked, "unknown or was revoked"), ("nobodys", "unknown")):
        response = client.get(address, headers=bearer(key))
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == 'Bearer realm="sluice"'
        assert words in response.json()["error"]["message"]


def test_credentials_of_a_proxy_are_not_taken_for_a_key(client: Client):
    """A proxy's basic authentication reaches us as well."""
    assert client.get("/health", headers={"Authorization": "Basic YTpi"}).status_code == 200
    assert client.get("/", headers={"Authorization": "Basic YTpi"}).status_code == 200
    client.force_login(User.objects.create_user("clerk", is_staff=True))
    opened(client, Authorization="Basic YTpi")


@pytest.mark.parametrize("address", [*CLOSED, "/", "/health"])
def test_no_cache_gives_one_visitors_page_to_another(client: Client, api_key: str, address: str):
    for headers in ({}, bearer(api_key)):
        vary = client.get(address, headers=headers)["Vary"]
        assert {"Authorization", "Cookie"} <= {name.strip() for name in vary.split(",")}
