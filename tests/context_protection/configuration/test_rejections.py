"""What is not in force is said on the admin's front page and beside the budgets."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from context_protection.configuration import policies
from context_protection.layers.file.source import configuration_file
from context_protection.models import TokenBudget

pytestmark = pytest.mark.django_db
PAGES = ("/admin/", "/admin/context_protection/tokenbudget/")


@pytest.fixture
def refused(tmp_path: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A configuration file that this process has refused. Its watcher counts as started: a thread would read the
    database outside this test's transaction."""
    monkeypatch.setattr(policies._watcher, "_running_in", os.getpid())
    path = tmp_path / "sluice.yaml"
    path.write_text("global:\n  hardCaps: 9000\n")
    settings.CONFIG_FILE = str(path)
    configuration_file.latest(lambda layer: [])
    yield
    settings.CONFIG_FILE = ""
    configuration_file.latest(lambda layer: [])


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("page", PAGES)
def test_a_refused_file_and_an_invalid_budget_are_named(admin_client: Client, page: str):
    TokenBudget.objects.create(operation="list_bookings", default_page_size=0)
    text = admin_client.get(page).content.decode()
    assert "The file sluice.yaml is not in force: line 2: global.hardCaps: there is no setting" in text
    assert "The defaults are in force." in text
    assert "The budget for list_bookings is not used: defaultPageSize is 0" in text


@pytest.mark.usefixtures("refused")
def test_people_who_may_not_view_budgets_are_not_told():
    browser = Client()
    browser.force_login(User.objects.create_user("guest", is_staff=True))
    assert "hardCaps" not in browser.get("/admin/").content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_said_while_everything_is_in_force(admin_client: Client, page: str):
    assert "not in force" not in admin_client.get(page).content.decode()
