"""A save in the admin is a mark on every chart: which field, from what to what, by whom, and no secret."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from context_protection.layers.file.source import ConfigurationFile
from context_protection.models import TokenBudget
from gateway import change_events
from gateway.access.models import ApiKey, ToolSet
from gateway.upstreams.models import UpstreamApi
from telemetry.models import Event

pytestmark = pytest.mark.django_db
Captured = Callable[..., object]


def last_event() -> Event:
    return Event.objects.latest("pk")


def test_a_changed_budget_is_told_with_its_old_and_new_value(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        budget = TokenBudget.objects.create(operation="list_bookings", token_budget_threshold=4000)
    assert last_event().summary == "list_bookings was created."

    with django_capture_on_commit_callbacks(execute=True):
        budget.token_budget_threshold = 8000
        budget.save()
    event = last_event()
    assert (event.kind, event.subject_type, event.subject) == ("C", "budget", "list_bookings")
    assert (event.before, event.after) == ("4000", "8000")
    assert event.summary == "list_bookings: token budget threshold changed."
    assert event.revision
    assert event.link == f"/admin/history/{event.pk}/"
    assert event.object == f"context_protection.tokenbudget:{budget.pk}"
    assert event.differences == [["token_budget_threshold", "4000", "8000"]]


def test_a_secret_is_said_to_have_changed_and_never_shown(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        api = UpstreamApi(name="acme", base_url="https://ada:Zx74711qZx74711q@example.com/v1", authentication="bearer")
        api.set_secret("Zx7-first-secret")
        api.save()
        api.set_secret("Zx7-second-secret")
        api.base_url = "https://eve:Zx79999qZx79999q@example.com/v2"
        api.save()
    event = last_event()
    assert event.subject == "acme"
    assert "secret: changed" in event.after
    written = " ".join(map(str, Event.objects.values_list("summary", "before", "after", "subject", "reason")))
    assert "Zx7" not in written


def test_a_key_that_is_saved_without_a_change_is_no_event(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        key, _ = ApiKey.objects.issue("desk")
    count = Event.objects.count()
    with django_capture_on_commit_callbacks(execute=True):
        key.save()
    assert Event.objects.count() == count


def test_a_change_that_is_rolled_back_is_no_event(django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks():
        TokenBudget.objects.create(operation="list_bookings", token_budget_threshold=4000)
    assert not Event.objects.exists()


def test_the_person_who_saved_it_is_named(django_capture_on_commit_callbacks):
    person = User.objects.create_superuser("ops-2", password="a long password")
    client = Client()
    client.force_login(person)
    with django_capture_on_commit_callbacks(execute=True):
        client.post("/admin/context_protection/tokenbudget/add/", {"operation": "list_bookings", "timeout_seconds": 9})
    assert last_event().actor == "ops-2"


def test_a_key_with_other_tool_sets_is_told(admin_client: Client, django_capture_on_commit_callbacks):
    key, _ = ApiKey.objects.issue("desk")
    shop, audit = (ToolSet.objects.create(name=name, tools=["list_bookings"]) for name in ("shop", "audit"))
    form = f"/admin/access/apikey/{key.pk}/change/"
    for chosen in ([shop.pk], [shop.pk, audit.pk], [audit.pk, shop.pk]):
        with django_capture_on_commit_callbacks(execute=True):
            admin_client.post(form, {"name": "desk", "tool_sets": chosen, "change_reason": "month end"})
    told = [(each.summary, each.actor, each.reason, each.differences) for each in Event.objects.order_by("pk")]
    assert told == [
        ("desk: tool sets changed.", "admin", "month end", [["tool_sets", "-", "shop"]]),
        ("desk: tool sets changed.", "admin", "month end", [["tool_sets", "shop", "audit, shop"]]),
    ]
    shown = admin_client.get(f"/admin/history/{last_event().pk}/").content.decode()
    assert shown.count("audit, shop") >= 2, "after the change, and now"
    assert "access.ToolSet" not in shown
    assert "/admin/history/rollback/?" not in shown, "a rollback cannot set them back"


def test_a_configuration_file_is_told_once_however_many_processes_see_it(tmp_path: Path, settings: LazySettings):
    path = tmp_path / "sluice.yaml"
    settings.CONFIG_FILE = str(path)

    def outcomes(text: str) -> None:
        path.write_text(text)
        for _ in range(2):  # processes
            file = ConfigurationFile()
            file.latest(lambda layer: [])
            change_events.record_file(file.outcomes[-1])

    outcomes("global: {hardCap: 9000}\n")
    outcomes("global: {hardCap: many}\n")
    refused, taken = Event.objects.all()
    assert (taken.kind, taken.subject_type, taken.subject) == ("C", "file", "sluice.yaml")
    assert taken.summary == "sluice.yaml is in force. all operations: hardCap - → 9,000"
    assert refused.summary.startswith("sluice.yaml was refused: line 1: global: hardCap is 'many'")
    assert refused.before == taken.after
