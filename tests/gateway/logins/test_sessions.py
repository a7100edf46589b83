"""Sessions end after twelve idle hours, and are not written at every page."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from gateway.logins import sessions
from tests.admin_walk import Writes, is_login

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(admin_user: Any) -> Client:
    client = Client()
    client.force_login(admin_user)
    return client


def seen(client: Client, ago: int) -> None:
    session = client.session
    session[sessions.SEEN] -= ago
    session.save()


def test_a_session_lives_twelve_hours(client: Client):
    left = Session.objects.get().expire_date - timezone.now()
    assert timedelta(hours=11, minutes=59) < left <= timedelta(hours=12)


def test_an_idle_session_is_over(client: Client):
    assert client.get("/admin/").status_code == 200
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert is_login(client.get("/admin/"))


def test_a_page_writes_nothing_a_moment_later(client: Client):
    client.get("/admin/")
    with Writes() as writes:
        response = client.get("/admin/")
    assert writes.found == []
    assert "sessionid" not in response.cookies


def test_a_page_prolongs_the_session_now_and_then(client: Client):
    seen(client, sessions.STEP_SECONDS + 1)
    Session.objects.update(expire_date=timezone.now() + timedelta(hours=1))
    response = client.get("/admin/")
    assert Session.objects.get().expire_date > timezone.now() + timedelta(hours=11, minutes=59)
    assert response.cookies["sessionid"]["max-age"] == 12 * 3600


def test_rest_and_public_pages_leave_sessions_alone(client: Client, api_key: str):
    seen(client, sessions.STEP_SECONDS + 1)
    for path in ("/api/v1/bookings?limit=1", "/"):
        with Writes() as writes:
            response = client.get(path, headers={"authorization": f"Bearer {api_key}"})
        assert response.status_code == 200
        assert not [sql for sql in writes.found if "django_session" in sql]
