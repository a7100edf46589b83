"""Each change of the configuration is a line in the log: who changed what, from which value to which (O3)."""

import logging
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from context_protection.models import TokenBudget
from gateway.access.models import ApiKey
from gateway.process.logs import line_formatter
from gateway.upstreams.models import UpstreamApi

pytestmark = pytest.mark.django_db
CANARY = "hunter2-canary-secret"


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture, django_capture_on_commit_callbacks: Any) -> Any:
    """The lines that a change makes, as they are written."""
    caplog.set_level(logging.INFO, "context_protection.configuration.changes")

    def made(change: Any) -> list[logging.LogRecord]:
        caplog.clear()
        with django_capture_on_commit_callbacks(execute=True):
            change()
        return [each for each in caplog.records if each.message == "configuration changed"]

    return made


def test_a_changed_budget_is_logged_with_old_and_new_values(lines: Any):
    budget = TokenBudget.objects.create(operation="list_bookings", token_budget_threshold=4000)
    budget.token_budget_threshold, budget.summary_fields = 8000, "id,status"
    (line,) = lines(budget.save)
    assert (line.kind, line.object, line.change) == ("token budget", "list_bookings", "changed")
    assert line.fields == {"token_budget_threshold": "4000 → 8000", "summary_fields": "- → id,status"}


def test_a_new_and_a_deleted_object_are_logged_too(lines: Any):
    (line,) = lines(lambda: TokenBudget.objects.create(operation="get_booking", hard_cap=9000))
    assert (line.change, line.fields) == ("created", {"operation": "- → get_booking", "hard_cap": "- → 9000"})
    (line,) = lines(TokenBudget.objects.get(operation="get_booking").delete)
    assert (line.change, line.object) == ("deleted", "get_booking")


def test_a_save_without_a_change_is_no_line(lines: Any):
    budget = TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)
    assert lines(budget.save) == []


def test_the_line_names_who_changed_it(lines: Any):
    user = get_user_model()._default_manager.create_superuser("ops-2", password="long enough")
    browser = Client()
    browser.force_login(user)
    form = {"operation": "", "hard_cap": "9000"}
    (line,) = lines(lambda: browser.post("/admin/context_protection/tokenbudget/add/", form))
    assert (line.by, line.object, line.fields) == ("ops-2", "All operations", {"hard_cap": "- → 9000"})


def test_a_secret_is_only_said_to_be_changed(lines: Any):
    def change() -> None:
        api.set_secret(CANARY)
        api.base_url = f"https://user:{CANARY}@api.example.com/v1"
        api.save()

    api = UpstreamApi.objects.create(name="acme", base_url="https://api.example.com/v1")
    (line,) = lines(change)
    assert line.fields["secret"] == "changed"
    assert CANARY not in line_formatter("json").format(line)
    (line,) = lines(lambda: ApiKey.objects.issue("desk"))
    assert "digest" not in line.fields


def test_a_change_that_is_rolled_back_is_no_line(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "context_protection.configuration.changes")
    TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)  # this test's transaction does not commit
    assert caplog.records == []
