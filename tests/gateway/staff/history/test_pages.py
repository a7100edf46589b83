"""The history of all objects: who, what, when, why, its effect, and a cursor opened for debugging."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from context_protection.models import TokenBudget
from gateway.access.models import ApiKey
from telemetry.models import Event
from tests.doors import Doors

pytestmark = pytest.mark.django_db
HISTORY = "/admin/history/"


@pytest.fixture
def people(client: Client) -> Any:
    def as_role(name: str) -> Client:
        user = User.objects.create_user(f"one-{name}", is_staff=True)
        user.groups.add(Group.objects.get(name=name))
        client.force_login(user)
        return client

    return as_role


@pytest.fixture
def budget(django_capture_on_commit_callbacks: Any) -> TokenBudget:
    with django_capture_on_commit_callbacks(execute=True):
        made = TokenBudget.objects.create(operation="list_bookings", hard_cap=9000)
    made.hard_cap, made._change_reason = 11_000, "month end"
    with django_capture_on_commit_callbacks(execute=True):
        made.save()
    return made


def test_a_change_is_a_row_with_old_and_new_value_and_its_reason(people: Any, budget: TokenBudget):
    text = people("viewer").get(HISTORY).content.decode()
    assert "hard cap: 9000 → 11000" in text
    assert "month end" in text
    assert "The last change: budget list_bookings: hard cap changed" in text


def test_a_value_that_was_or_is_not_there_is_no_dash(
    people: Any, budget: TokenBudget, django_capture_on_commit_callbacks: Any
):
    budget.hard_cap, budget.default_page_size = None, 20
    with django_capture_on_commit_callbacks(execute=True):
        budget.save()
    viewer = people("viewer")
    text = viewer.get(HISTORY).content.decode()
    assert "operation: list_bookings" in text
    assert "hard cap: 11000 → not set" in text
    assert "default page size: 20" in text
    assert "- →" not in text
    page = viewer.get(Event.objects.first().link)
    assert page.context["differences"] == [
        ("default page size", "not set", "20", "20"),
        ("hard cap", "11000", "not set", "not set"),
    ]


def test_the_way_back_for_everything_is_not_the_button_that_strikes_first(people: Any, budget: TokenBudget):
    text = people("ops").get(HISTORY).content.decode()
    assert re.search(r'class="button-like" href="[^"]+">Roll back everything', text)


def test_its_own_page_says_before_after_and_now(people: Any, budget: TokenBudget):
    TokenBudget.objects.filter(pk=budget.pk).update(hard_cap=12_345)
    event = Event.objects.first()
    assert event.link == f"{HISTORY}{event.pk}/"
    page = people("viewer").get(event.link)
    assert page.context["differences"] == [("hard cap", "9000", "11000", "12345")]
    assert "Set back" in page.content.decode()
    assert "Too few calls to compare" in page.content.decode()


def test_filters_and_what_they_leave(people: Any, budget: TokenBudget):
    viewer = people("viewer")
    assert "list_bookings" in viewer.get(HISTORY, {"object": "bookings", "setting": "hard"}).content.decode()
    nothing = viewer.get(HISTORY, {"object": "nothing", "who": "nobody\0"}).content.decode()
    assert "No change matches these filters. Without them there are 2." in nothing


def test_pages_go_on_where_the_last_one_ended(people: Any):
    now = timezone.now()
    Event.objects.bulk_create(
        Event(kind="C", at=now - timedelta(seconds=number // 3), subject=f"tool-{number}", summary=f"tool-{number}.")
        for number in range(120)
    )
    viewer, address, seen = people("viewer"), HISTORY, []
    while address:
        page = viewer.get(address).context["panel"].content
        seen += [row.name for row in page.rows]
        address = f"{HISTORY}{page.older}" if page.older else ""
    assert sorted(seen) == sorted(f"tool-{number}" for number in range(120))
    assert viewer.get(HISTORY, {"before": "yesterday~x"}).context["panel"].content.rows


def test_nobody_without_a_role_reads_it(client: Client, budget: TokenBudget):
    client.force_login(User.objects.create_user("new", is_staff=True))
    event = Event.objects.first()
    for address in (HISTORY, event.link, f"{HISTORY}rollback/", f"{HISTORY}cursor/"):
        assert client.get(address).status_code == 403


def test_a_cursor_shows_its_call_to_an_engineer(people: Any, doors: Doors):
    token = doors.rest("list_bookings", {"status": "confirmed"})["nextCursor"]
    assert people("viewer").get(f"{HISTORY}cursor/").status_code == 403
    page = people("engineer").post(f"{HISTORY}cursor/", {"cursor": f" {token} "})
    facts = dict(page.context["opened"].facts)
    assert facts["Tool"] == "list_bookings"
    assert "confirmed" in facts["Arguments"]
    assert facts["Key"] == ApiKey.objects.get().name
    event = Event.objects.first()
    assert (event.subject_type, event.subject, event.actor) == ("cursor", "list_bookings", "one-engineer")


def test_a_damaged_cursor_is_explained(people: Any, doors: Doors):
    token = doors.rest("list_bookings", {})["nextCursor"]
    changed = f"{token[:-4]}{'AAAA' if token[-4:] != 'AAAA' else 'BBBB'}"
    page = people("engineer").post(f"{HISTORY}cursor/", {"cursor": changed})
    assert "was not issued by this server, or has been altered" in page.content.decode()
    assert page.context["opened"].facts == ()


def test_the_front_page_of_the_admin_has_the_last_changes(people: Any, budget: TokenBudget):
    text = people("viewer").get("/admin/").content.decode()
    assert "list_bookings: hard cap changed." in text
    assert "“month end”" in text
