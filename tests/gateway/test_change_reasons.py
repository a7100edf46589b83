"""Every form whose changes are kept asks why, and the history has the answer."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from gateway.access.models import ToolSet
from telemetry.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ops-2"))
    return client


def test_a_reason_is_kept_with_the_change_and_stands_at_the_mark(
    staff: Client, django_capture_on_commit_callbacks: Any
):
    page = staff.get("/admin/access/toolset/add/").content.decode()
    assert "Kept in History" in page
    sent = {"name": "month end", "tools": ["list_bookings"], "change_reason": " the month ends "}
    with django_capture_on_commit_callbacks(execute=True):
        staff.post("/admin/access/toolset/add/", sent)
    made = ToolSet.objects.get()
    assert made.history.get().history_change_reason == "the month ends"
    assert Event.objects.get(subject="month end").reason == "the month ends"


def test_a_save_without_a_reason_is_saved(staff: Client):
    staff.post("/admin/access/toolset/add/", {"name": "month end", "tools": ["list_bookings"]})
    assert ToolSet.objects.get().history.get().history_change_reason is None


def test_a_reason_that_is_too_long_is_named(staff: Client):
    answer = staff.post(
        "/admin/access/toolset/add/",
        {"name": "x", "tools": ["list_bookings"], "change_reason": "a" * 101},
    )
    assert "at most 100 characters" in answer.content.decode()
    assert not ToolSet.objects.exists()


def test_who_may_only_read_is_asked_for_no_reason(client: Client):
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_toolset"))
    client.force_login(viewer)
    made = ToolSet.objects.create(name="month end")
    page = client.get(f"/admin/access/toolset/{made.pk}/change/")
    assert page.status_code == 200
    assert "change_reason" not in page.content.decode()


@pytest.mark.parametrize("is_selected", [False, True])
def test_a_deletion_keeps_its_reason(staff: Client, django_capture_on_commit_callbacks: Any, is_selected: bool):
    made = ToolSet.objects.create(name="month end")
    address, sent = f"/admin/access/toolset/{made.pk}/delete/", {}
    if is_selected:
        address, sent = "/admin/access/toolset/", {"action": "delete_selected", "_selected_action": made.pk}
    asked = staff.post(address, sent) if is_selected else staff.get(address)
    assert "Why this is deleted" in asked.content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        staff.post(address, {**sent, "post": "yes", "change_reason": "no key uses it"})
    assert not ToolSet.objects.exists()
    assert ToolSet.history.filter(history_type="-").get().history_change_reason == "no key uses it"
    assert Event.objects.get(subject="month end", summary__contains="deleted").reason == "no key uses it"
