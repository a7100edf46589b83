"""The lights on other pages than Now: the home page and the admin's index."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from gateway.pages import home
from telemetry.models.alerts import AlertRule
from telemetry.queries import recent
from tests.telemetry.pages.test_now import acme_dies, read, reported, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def now() -> Iterator[datetime]:
    """All is read anew, and alerts were checked just now."""
    home.forget_state()
    recent.forget_usual()
    AlertRule.objects.update(checked_at=timezone.now())
    yield timezone.now()
    home.forget_state()
    recent.forget_usual()


def test_home_is_not_green_while_an_upstream_is_down(admin_client, now):
    reported(now)
    assert "<strong>Running</strong>" in read(admin_client, "/")
    acme_dies(now)
    page = read(admin_client, "/")
    assert "<strong>Running, but acme is down</strong>" in page
    assert 'class="state state-degraded"' in page
    assert "state-ok" not in page


def test_unknown_visitors_see_the_state_without_names(client, now):
    acme_dies(now)
    page = read(client, "/")
    assert "<strong>Running, but one upstream is down</strong>" in page
    assert "acme" not in page


def test_unknown_visitors_do_not_keep_the_database_busy(client, now, django_assert_num_queries):
    reported(now)
    read(client, "/")
    with django_assert_num_queries(0):
        read(client, "/")


def test_the_admins_index_shows_the_lights_to_those_who_may_see_calls(admin_client, now, django_user_model):
    acme_dies(now)
    page = text(read(admin_client, "/admin/"))
    assert "acme down, 1 more" in page
    assert "breaker open" in page
    clerk = Client(headers={"Accept": "text/html"})
    user = django_user_model.objects.create_user("clerk", password="a long password", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_tokenbudget"))
    clerk.force_login(user)
    assert "breaker open" not in read(clerk, "/admin/")
