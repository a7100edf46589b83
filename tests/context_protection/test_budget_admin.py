"""Ops edit token budgets in the admin, and the very next answer obeys."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from context_protection.configuration.policies import policy_for
from context_protection.core.policy import SETTINGS
from context_protection.core.setting import Setting
from context_protection.models import TokenBudget
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db

LIST = "/admin/context_protection/tokenbudget/"
ADD = f"{LIST}add/"


def submitted(client: Client, **values: Any) -> Any:
    return client.post(ADD, {"operation": "", **values})


def another_value(setting: Setting) -> Any:
    if setting.value_type is bool:
        return not setting.default
    return setting.range[1] if setting.range else list(setting.choices or [setting.example or "id"])[-1]


def errors_of(response: Any) -> dict[str, list[str]]:
    return dict(response.context["adminform"].form.errors)


def test_the_very_next_answer_obeys_over_every_door(
    admin_client: Client, doors: Doors, django_capture_on_commit_callbacks: Any
):
    assert crawler.is_preview(doors.rest("get_booking", {"id": 43000000}))
    with django_capture_on_commit_callbacks(execute=True):
        response = submitted(admin_client, operation="get_booking", token_budget_threshold=8000)
    assert response.status_code == 302
    for ask in (doors.rest, doors.mcp, doors.post):
        assert not crawler.is_preview(ask("get_booking", {"id": 43000000}))
        assert crawler.is_preview(ask("get_listing", {"id": 200100})), "another operation keeps its own"


def test_a_budget_for_all_covers_records_too(
    admin_client: Client, doors: Doors, django_capture_on_commit_callbacks: Any
):
    with django_capture_on_commit_callbacks(execute=True):
        submitted(admin_client, token_budget_threshold=8000)
    assert policy_for("get_booking").token_budget_threshold == 8000
    assert not crawler.is_preview(doors.rest("get_booking", {"id": 43000003}))


def test_an_invalid_row_is_named_on_the_list_and_on_its_own_page(admin_client: Client):
    row = TokenBudget.objects.create(operation="list_bookings", default_page_size=0)
    for page in (LIST, f"{LIST}{row.pk}/change/"):
        text = admin_client.get(page).content.decode()
        assert "The budget for list_bookings is not used: defaultPageSize is 0" in text


def test_a_budget_for_one_operation_goes_before_the_budget_for_all(django_capture_on_commit_callbacks: Any):
    with django_capture_on_commit_callbacks(execute=True):
        TokenBudget.objects.create(operation="", default_page_size=20)
        TokenBudget.objects.create(operation="list_bookings", default_page_size=5)
    assert policy_for("list_bookings").default_page_size == 5
    assert policy_for("list_transactions").default_page_size == 20


def test_a_page_size_that_is_lowered_takes_effect_on_the_next_page_of_a_walk(
    doors: Doors, django_capture_on_commit_callbacks: Any
):
    cursor = doors.rest("list_bookings", {})["nextCursor"]
    with django_capture_on_commit_callbacks(execute=True):
        TokenBudget.objects.create(operation="list_bookings", default_page_size=5, max_page_size=10)
    assert len(doors.rest("list_bookings", {"cursor": cursor})["items"]) == 5


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"hard_cap": 3000}, "hard_cap", "below tokenBudgetThreshold"),
        ({"hard_cap": 5000, "token_budget_threshold": 6000}, "hard_cap", "Raise hardCap or lower"),
        ({"token_budget_threshold": 0}, "token_budget_threshold", "must be from 100 to 25,000"),
        ({"token_budget_threshold": -5}, "token_budget_threshold", "must be from 100 to 25,000"),
        ({"token_budget_threshold": "many"}, "token_budget_threshold", "whole number"),
        ({"hard_cap": 10**12}, "hard_cap", "must be from 1,000 to 25,000"),
        ({"default_page_size": 300}, "default_page_size", "above maxPageSize"),
        ({"max_page_size": 20}, "default_page_size", "Lower defaultPageSize or raise maxPageSize"),
        ({"chunk_size": 0}, "chunk_size", "must be from 1 to 10,000"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_with_a_sentence(
    admin_client: Client, values: dict[str, Any], field: str, words: str
):
    response = submitted(admin_client, **values)
    assert response.status_code == 200
    sentences = errors_of(response)[field]
    assert len(sentences) == 1, sentences
    assert words in sentences[0]
    assert not TokenBudget.objects.exists()


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_every_setting_can_be_set_and_set_back_to_inherited(
    admin_client: Client, setting: Setting, django_capture_on_commit_callbacks: Any
):
    built_in = getattr(policy_for("list_bookings"), setting.name)
    other = another_value(setting)
    values = {"hard_cap": 25_000, "max_page_size": 1000, setting.name: other}
    scope = "" if setting.whole_connectors_only else "list_bookings"
    with django_capture_on_commit_callbacks(execute=True):
        submitted(admin_client, operation=scope, **values)
    assert getattr(policy_for("list_bookings"), setting.name) == other
    budget = TokenBudget.objects.get()
    address = f"/admin/context_protection/tokenbudget/{budget.pk}/change/"
    assert setting.shown(built_in) in admin_client.get(address).content.decode()
    with django_capture_on_commit_callbacks(execute=True):
        admin_client.post(address, dict.fromkeys(values, ""))
    budget.refresh_from_db()
    assert getattr(budget, setting.name) is None
    assert getattr(policy_for("list_bookings"), setting.name) == built_in


def test_a_budget_for_all_that_breaks_one_operations_budget_names_it(admin_client: Client):
    TokenBudget.objects.create(operation="get_listing", token_budget_threshold=9000)
    (sentence,) = errors_of(submitted(admin_client, hard_cap=8000))["hard_cap"]
    assert "for get_listing" in sentence


def test_an_operation_has_one_budget(admin_client: Client):
    TokenBudget.objects.create(operation="")
    (sentence,) = errors_of(submitted(admin_client, hard_cap=8000))["operation"]
    assert "has a budget already" in sentence


def test_the_form_shows_what_applies_and_where_it_comes_from(admin_client: Client):
    budget = TokenBudget.objects.create(operation="get_booking", hard_cap=9000)
    page = admin_client.get(f"/admin/context_protection/tokenbudget/{budget.pk}/change/").content.decode()
    assert 'placeholder="2,000"' in page
    assert "Inherited (on)" in page
    assert "<td>9,000 tokens, as Claude counts</td><td>set here</td>" in page
    assert "<td>2,000 tokens, formula estimate</td><td>built-in default</td>" in page


def test_a_budget_for_one_operation_can_be_changed_beside_one_for_all(admin_client: Client):
    TokenBudget.objects.create(operation="")
    budget = TokenBudget.objects.create(operation="list_bookings")
    address = f"/admin/context_protection/tokenbudget/{budget.pk}/change/"
    assert admin_client.post(address, {"default_page_size": 11}).status_code == 302
    budget.refresh_from_db()
    assert (budget.operation, budget.default_page_size) == ("list_bookings", 11)


def test_the_history_says_who_changed_what(admin_client: Client):
    budget = TokenBudget.objects.create(operation="get_booking", hard_cap=9000)
    admin_client.post(
        f"/admin/context_protection/tokenbudget/{budget.pk}/change/", {"hard_cap": 8000, "ruler": "claude"}
    )
    latest, first = budget.history.all()
    assert (first.hard_cap, latest.hard_cap, latest.ruler) == (9000, 8000, "claude")
    assert latest.history_user.username == "admin"


@pytest.fixture
def two_versions() -> tuple[TokenBudget, str]:
    """A budget whose hard cap was lowered, and the address of its first version."""
    budget = TokenBudget.objects.create(operation="get_booking", hard_cap=24000)
    version = f"/admin/context_protection/tokenbudget/{budget.pk}/history/{budget.history.get().pk}/"
    budget.hard_cap = 6000
    budget.save()
    return budget, version


def test_whoever_may_only_look_sees_an_old_version_and_cannot_go_back_to_it(two_versions: tuple[TokenBudget, str]):
    budget, version = two_versions
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_tokenbudget"))
    client = Client()
    client.force_login(viewer)
    page = client.get(version).content.decode()
    assert '<div class="readonly">24000</div>' in page
    assert 'name="hard_cap"' not in page
    assert 'type="submit"' not in page.partition('id="content"')[2]
    assert client.post(version, {"hard_cap": 24000}).status_code == 403
    budget.refresh_from_db()
    assert (budget.hard_cap, budget.history.count()) == (6000, 2)


def test_whoever_may_change_it_goes_back_to_an_old_version(admin_client: Client, two_versions: tuple[TokenBudget, str]):
    budget, version = two_versions
    page = admin_client.get(version).content.decode()
    assert 'value="24000"' in page
    assert 'value="Revert"' in page
    assert admin_client.post(version, {"hard_cap": 24000}).status_code == 302
    budget.refresh_from_db()
    assert budget.hard_cap == 24000
    assert budget.history.first().history_user.username == "admin"


def test_a_version_of_a_budget_that_was_deleted_can_only_be_looked_at(
    admin_client: Client, two_versions: tuple[TokenBudget, str]
):
    budget, version = two_versions
    budget.delete()
    page = admin_client.get(version).content.decode()
    assert '<div class="readonly">24000</div>' in page
    assert 'value="Revert"' not in page
    admin_client.post(version, {"hard_cap": 24000})
    assert not TokenBudget.objects.exists()


def test_the_ruler_decides_what_a_threshold_is_measured_with(doors: Doors, django_capture_on_commit_callbacks: Any):
    """A page of 2,900 tokens by the formula takes some 5,000 as Claude counts."""
    assert "items" in doors.rest("list_bookings", {})
    with django_capture_on_commit_callbacks(execute=True):
        TokenBudget.objects.create(operation="list_bookings", ruler="claude")
    answer = doors.rest("list_bookings", {})
    assert len(answer["items"]) < 50


def test_thresholds_and_caps_say_whose_tokens_they_count(admin_client: Client):
    page = admin_client.get(ADD).content.decode()
    for label in (
        "Token budget threshold (tokens, formula estimate):",
        "Hard cap (tokens, as Claude counts):",
        "Chunk tokens (tokens, formula estimate):",
        "Chunk size (lines):",
    ):
        assert label in page
    row = TokenBudget.objects.create(operation="get_booking", ruler="claude", token_budget_threshold=3000)
    page = admin_client.get(f"{LIST}{row.pk}/change/").content.decode()
    assert "Token budget threshold (tokens, as Claude counts):" in page
    assert "<td>12,000 tokens, as Claude counts</td>" in page
    assert "3,000 tokens, as Claude counts" in admin_client.get(LIST).content.decode()


def test_ops_choose_what_previews_hold_and_what_identifies_stays(
    admin_client: Client, doors: Doors, django_capture_on_commit_callbacks: Any
):
    with django_capture_on_commit_callbacks(execute=True):
        submitted(
            admin_client, operation="get_booking", summary_fields="totalPrice, guestFirstName, financeField.*.name"
        )
        submitted(admin_client, operation="list_bookings", summary_fields="nights,channelName")
    preview = doors.rest("get_booking", {"id": 43000000})
    assert {"id", "status", "guestName", "propertyId"} <= set(preview["summary"])
    assert "totalPrice" in preview["summary"]
    assert "checkInDate" not in preview["summary"]
    assert preview["summary"]["guestFirstName"]
    row = doors.rest("list_bookings", {})["items"][0]
    assert {"id", "status", "guestName", "propertyId", "nights", "channelName"} <= set(row)
    assert "totalPrice" not in row


def test_summary_fields_are_set_for_one_operation(admin_client: Client):
    (sentence,) = errors_of(submitted(admin_client, summary_fields="id"))["summary_fields"]
    assert "Set it for one operation" in sentence


def test_an_empty_budget_is_not_saved(admin_client: Client):
    [sentence] = errors_of(submitted(admin_client, operation="get_booking"))["__all__"]
    assert sentence == "Nothing to save: every value is inherited. Fill in at least one."
    assert not TokenBudget.objects.exists()


def test_ops_choose_the_sections_of_a_record_which_are_all_of_it(
    admin_client: Client, doors: Doors, django_capture_on_commit_callbacks: Any
):
    before = doors.rest("get_booking", {"id": 43000000})["meta"]["detailsAvailable"]["sections"]
    assert "money" not in before
    with django_capture_on_commit_callbacks(execute=True):
        submitted(admin_client, operation="get_booking", sections="money=totalPrice, *Fee*; who=guest*")
    whole = doors.rest("get_booking", {"id": 43000000, "fields": "all"})
    for ask in (doors.rest, doors.mcp, doors.post):
        sections = ask("get_booking", {"id": 43000000})["meta"]["detailsAvailable"]["sections"]
        assert {"money", "who", "other"} == set(sections)
        parts = [ask("get_booking", {"id": 43000000, "fields": name}) for name in sections]
        assert {name for part in parts for name in part} == set(whole)
    assert "guestFirstName" in doors.rest("get_booking", {"id": 43000000, "fields": "who"})


@pytest.mark.parametrize("text", ["money", "money=", "=price", "money=price;", "my money=price", "a=b,,c", "a=b=c"])
def test_sections_that_cannot_be_read_are_refused_with_an_example(admin_client: Client, text: str):
    (sentence,) = errors_of(submitted(admin_client, operation="get_booking", sections=text))["sections"]
    assert "it must be a text such as money=price,tax*; guest=guest*" in sentence
