"""The history of all objects: who, what, when, why, its effect, and a cursor opened for debugging."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from context_protection.models import TokenBudget
from gateway.access.models import ApiKey
from telemetry.models import Event
from tests.doors import Doors
from tests.telemetry.examples import a_call, stored

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


@pytest.mark.parametrize(
    ("scope", "calls"),
    [
        ({}, "90"),
        ({"connector": "hostaway"}, "60"),
        ({"operation": "list_*"}, "60"),
        ({"operation": "list_bookings"}, "60"),
        ({"operation": "list_bookings", "caller": "ci-bot"}, "30"),
    ],
)
@pytest.mark.parametrize("is_deleted", [False, True])
def test_the_effect_of_a_budget_is_that_on_the_calls_that_it_is_for(
    people: Any, scope: dict[str, str], calls: str, is_deleted: bool, django_capture_on_commit_callbacks: Any
):
    at = timezone.now() - timedelta(minutes=20)
    for minutes in (-5, 5):
        bookings = {"at": at + timedelta(minutes=minutes), "operation": "list_bookings", "connector": "hostaway"}
        stored(*[a_call(**bookings, caller="ci-bot")] * 30, *[a_call(**bookings, caller="desk")] * 30)
        stored(*[a_call(at=bookings["at"], operation="search_sheep", connector="nsip")] * 30)
    made = TokenBudget(**scope, hard_cap=9000)
    made._history_date = at
    with django_capture_on_commit_callbacks(execute=True):
        made.save()
    event = Event.objects.get()
    if is_deleted:
        made.delete()
    effect = people("viewer").get(event.link).context["effect"].content
    assert effect.rows[:1] == (("Calls", calls, calls),)


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
        address = page.older
    assert sorted(seen) == sorted(f"tool-{number}" for number in range(120))
    for invalid in ("yesterday~x", "0001-01-01T00:00:00+14:00~1"):
        assert viewer.get(HISTORY, {"cursor": invalid}).context["panel"].content.rows


def test_the_pages_of_two_times_have_the_same_times_and_filters(people: Any):
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    Event.objects.bulk_create(
        Event(kind="C", at=at + timedelta(minutes=minute), subject=name, summary="x")
        for minute in range(60)
        for name in ("budget-a", "other")
    )
    viewer = people("viewer")
    times = {"from": "2026-03-01T00:00:00Z", "to": "2026-03-02T00:00:00Z"}
    first = viewer.get(HISTORY, {**times, "object": "budget"}).context["panel"].content
    second = viewer.get(first.older).context["panel"].content
    assert [row.name for row in (*first.rows, *second.rows)] == ["budget-a"] * 60
    assert second.older == ""


def test_another_range_has_the_same_filters_and_another_filter_the_same_times(people: Any):
    text = people("viewer").get(HISTORY, {"object": "x", "from": "2026-03-01", "to": "2026-03-02"}).content.decode()
    forms = {
        name: re.findall(r'type="hidden" name="(\w+)"', re.search(rf"<form [^>]*{name}.*?</form>", text, re.S)[0])
        for name in ("controls", "times", "history-filters")
    }
    assert forms == {"controls": ["from", "to", "object"], "times": ["object"], "history-filters": ["from", "to"]}


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
