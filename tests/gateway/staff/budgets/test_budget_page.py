"""The page of one budget: what it says, what it refuses, what it saves."""

import html
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from context_protection.configuration import policies
from context_protection.configuration.policies import policy_for
from context_protection.configuration.revisions import revisions
from context_protection.core.policy import Policy
from context_protection.layers.file.source import configuration_file
from context_protection.models import TokenBudget
from gateway.staff.rollouts.models import Rollout
from telemetry import recorder
from tests.doors import Doors
from tests.telemetry.examples import a_call, a_summary, stored

pytestmark = pytest.mark.django_db

BOOKINGS = "/admin/budgets/list_bookings/"
BOOKING = "/admin/budgets/get_booking/"


def in_force(operation: str, caller: str = "") -> Policy:
    """As after the commit, which the test's transaction never reaches."""
    revisions.bump()
    return policy_for(operation, caller)


def words(response: Any) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())))


def version(client: Client, page: str) -> str:
    found = re.search(r'name="version" value="(\d+)"', client.get(page).content.decode())
    assert found is not None
    return found[1]


def send(client: Client, page: str, do: str = "save", **values: Any) -> Any:
    return client.post(page, {"version": version(client, page), "do": do, **values})


def allowed(django_user_model: Any, name: str, *permissions: str) -> Client:
    user = django_user_model.objects.create_user(name, password="a long password", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


# -- What it says -----------------------------------------------------------------------------------


def test_it_says_what_is_in_force_and_where_it_is_from(admin_client: Client):
    TokenBudget.objects.create(operation="", hard_cap=15_000)
    said = words(admin_client.get(BOOKINGS))
    assert "tokenBudgetThreshold" in said
    assert "15,000 set for all operations" in said
    assert "4,000 built-in default" in said


def test_groups_that_do_not_concern_the_tool_are_hidden(admin_client: Client):
    of_list, of_record = words(admin_client.get(BOOKINGS)), words(admin_client.get(BOOKING))
    assert "defaultPageSize" in of_list
    assert "defaultPageSize" not in of_record
    assert "chunkTokens" not in of_list
    assert "chunkTokens" in words(admin_client.get("/admin/budgets/read_document/"))
    assert "chunkTokens" in words(admin_client.get("/admin/budgets/*/"))


def test_a_hidden_setting_stays_as_it_is_stored(admin_client: Client):
    TokenBudget.objects.create(operation="get_booking", chunk_size=50)
    assert send(admin_client, BOOKING, token_budget_threshold=6000).status_code == 302
    saved = TokenBudget.objects.get()
    assert (saved.token_budget_threshold, saved.chunk_size) == (6000, 50)


def test_it_names_stronger_budgets_and_how_many_tools_a_value_would_change(admin_client: Client):
    TokenBudget.objects.create(operation="list_bookings", hard_cap=15_000)
    said = words(admin_client.get("/admin/budgets/*/"))
    assert "Stronger than this one: list_bookings" in said
    assert re.search(r"a new value changes \d+ of \d+ tools; the others have their own", said)


@pytest.fixture
def file_with_a_cap(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A configuration file with a cap for one tool. Its watcher counts as started: a thread would read the database
    outside this test's transaction."""
    monkeypatch.setattr(policies._watcher, "_running_in", os.getpid())
    path = tmp_path / "sluice.yaml"
    path.write_text("operations: {list_bookings: {hardCap: 15000}}\n")
    settings.CONFIG_FILE = str(path)
    yield
    settings.CONFIG_FILE = ""
    configuration_file.latest(lambda layer: [])


@pytest.mark.usefixtures("file_with_a_cap")
def test_a_new_value_also_changes_the_tools_that_the_file_has_values_for(admin_client: Client):
    assert in_force("list_bookings").hard_cap == 15_000
    assert "tools; the others have their own" not in words(admin_client.get("/admin/budgets/*/"))
    TokenBudget.objects.create(operation="", hard_cap=9000)
    assert in_force("list_bookings").hard_cap == 9000, "the admin is above the file, whatever their scopes"


def test_an_unknown_tool_is_not_found(admin_client: Client):
    assert admin_client.get("/admin/budgets/nothing/").status_code == 404


# -- The effect -------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [BOOKING, "/admin/rollouts/new/"])
def test_a_number_in_an_address_that_is_too_long_to_be_valid_is_ignored(admin_client: Client, page: str):
    response = admin_client.get(page, {"hard_cap": "9" * 5000, "token_budget_threshold": "3000"})
    assert response.status_code == 200
    assert 'value="3000"' in response.content.decode()


def test_no_version_is_as_long_as_this(admin_client: Client):
    response = admin_client.post(f"{BOOKING}undo/", {"version": "9" * 5000}, follow=True)
    assert "Nothing to undo: the form names no version." in words(response)


def test_no_key_has_a_name_with_nul(admin_client: Client):
    assert admin_client.get(BOOKING, {"caller": "\0"}).status_code == 404


def test_the_effect_is_shown_and_nothing_is_saved(admin_client: Client):
    stored(*[a_summary(at=timezone.now())] * 31)
    response = send(admin_client, BOOKING, "show", token_budget_threshold=8000)
    said = words(response)
    assert "31 of the last 31 calls would be longer" in said
    assert "shortened 31 0 −31" in said
    assert "Forecast: exact for 0 calls, estimated from recorded sizes for 31." in said
    assert not TokenBudget.objects.exists()


def test_a_real_call_is_shown_before_and_after(admin_client: Client, doors: Doors):
    doors.mcp("list_bookings", {"limit": 40})
    assert recorder.flush()
    page = admin_client.get(BOOKINGS).content.decode()
    call = re.search(r'<option value="([0-9a-f-]+)">[^<]*limit=40', page)
    assert call is not None
    said = words(send(admin_client, BOOKINGS, "show", token_budget_threshold=1500, call=call[1]))
    assert "Read again from Sluice's own store" in said
    assert re.search(r"Before [\d,]+ tokens \(formula [\d,]+\)", said)
    assert re.search(r"Left out: [\d,]+ of [\d,]+ fields · 4\d\d of 500 rows", said)


def test_a_pasted_response_is_shown_and_a_bad_one_explained(admin_client: Client):
    said = words(send(admin_client, BOOKINGS, "show", response='[{"id": 1, "doorCode": "4711"}]'))
    assert "From the pasted response." in said
    assert "4711" not in said.split("Before")[1].split("Reason")[0]
    assert "is not JSON" in words(send(admin_client, BOOKINGS, "show", response="{"))


def test_values_and_texts_are_shown_only_to_those_who_may_see_them(doors: Doors, django_user_model: Any):
    doors.mcp("list_bookings", {"limit": 40})
    assert recorder.flush()
    client = allowed(django_user_model, "ops-3", "view_tokenbudget")
    page = client.get(BOOKINGS).content.decode()
    assert "limit=40" not in page
    call = re.search(r'<option value="([0-9a-f-]+)">[^<]*tests, limit<', page)
    assert call is not None
    said = words(send(client, BOOKINGS, "show", token_budget_threshold=1500, call=call[1]))
    assert "permission telemetry.view_callarguments" in said
    assert re.search(r"Before [\d,]+ tokens", said)
    assert "guestName" not in said


# -- Saving -----------------------------------------------------------------------------------------


def test_a_save_is_obeyed_says_so_and_can_be_undone(admin_client: Client, doors: Doors):
    response = send(admin_client, BOOKING, token_budget_threshold=8000, change_reason="month end")
    assert in_force("get_booking").token_budget_threshold == 8000
    page = admin_client.get(response["Location"])
    assert re.search(
        r"Saved as revision \d+\. In force in 1 of 1 processes after [\d.]+ ms\.", words(page).replace("\xa0", " ")
    )
    assert TokenBudget.history.latest().history_change_reason == "month end"
    saved = TokenBudget.history.latest().history_id
    again = admin_client.post(f"{BOOKING}undo/", {"version": saved})
    assert "is undone" in words(admin_client.get(again["Location"]))
    assert in_force("get_booking").token_budget_threshold == 2000
    assert not TokenBudget.objects.exists()


def test_an_undo_restores_the_values_of_before(admin_client: Client):
    send(admin_client, BOOKING, token_budget_threshold=8000)
    send(admin_client, BOOKING, token_budget_threshold=9000)
    admin_client.post(f"{BOOKING}undo/", {"version": TokenBudget.history.latest().history_id})
    assert in_force("get_booking").token_budget_threshold == 8000


def test_a_budget_is_removed(admin_client: Client):
    send(admin_client, BOOKING, token_budget_threshold=8000)
    send(admin_client, BOOKING, "remove", change_reason="no longer needed")
    assert not TokenBudget.objects.exists()
    assert TokenBudget.history.latest().history_change_reason == "no longer needed"


def test_a_budget_of_a_connector_and_of_one_key(admin_client: Client):
    send(admin_client, "/admin/budgets/connector:hostaway/", token_budget_threshold=5000)
    send(admin_client, "/admin/budgets/*/?caller=ci-bot", token_budget_threshold=6000)
    assert in_force("get_booking").token_budget_threshold == 5000
    assert in_force("get_booking", "ci-bot").token_budget_threshold == 6000
    assert in_force("nsip_get_animal").token_budget_threshold == 2000


def test_a_recommendation_is_tried_and_taken(admin_client: Client):
    at = timezone.now()
    small = {"operation": "get_booking", "kind": "record", "estimated_tokens": 800, "threshold": 2000}
    stored(*[a_summary(at=at, threshold=2000)] * 120, *[a_call(at=at, **small)] * 130)
    page = admin_client.get(BOOKING).content.decode()
    assert "A budget of 6,000 tokens instead of 2,000" in html.unescape(page)
    tried = words(admin_client.get(f"{BOOKING}?token_budget_threshold=6000"))
    assert "120 of the last 250 calls would be longer" in tried
    form = page[page.index('id="take-recommendation"') :]
    fields = dict(re.findall(r'name="([a-z_]+)" value="([^"]*)"', form))
    fields.pop("csrfmiddlewaretoken", None)
    assert admin_client.post(BOOKING, fields).status_code == 302
    assert in_force("get_booking").token_budget_threshold == 6000
    assert TokenBudget.history.latest().history_change_reason.startswith("Recommendation. From the newest 250 answers")


# -- Refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "Nothing to save: every value is inherited. Fill in at least one."),
        (
            {"summary_fields": "id, nosuchfield"},
            "“nosuchfield” is not a field of list_bookings. Known:",
        ),
        ({"token_budget_threshold": 4000}, "Nothing would change: tokenBudgetThreshold is 4,000 already."),
        ({"token_budget_threshold": 20_000}, "hardCap (12,000) is below tokenBudgetThreshold (20,000)"),
        ({"token_budget_threshold": 5}, "tokenBudgetThreshold is 5; it must be from 100 to 25,000."),
        ({"hard_cap": 25_000, "change_reason": "large"}, "25,000 is Claude Code's own default limit"),
        ({"hard_cap": 25_000, "is_confirmed": "on"}, "Give a reason"),
    ],
)
def test_what_is_refused(admin_client: Client, values: dict[str, Any], sentence: str):
    said = words(send(admin_client, BOOKINGS, **values))
    assert sentence in said
    assert not TokenBudget.objects.exists()


def test_what_is_saved_already_is_refused(admin_client: Client):
    send(admin_client, BOOKING, token_budget_threshold=8000)
    assert "these values are already saved" in words(send(admin_client, BOOKING, token_budget_threshold=8000))


def test_a_cap_at_a_clients_limit_is_saved_when_confirmed_with_a_reason(admin_client: Client):
    send(admin_client, BOOKINGS, hard_cap=25_000, is_confirmed="on", change_reason="one client reads whole lists")
    assert in_force("list_bookings").hard_cap == 25_000


def test_known_fields_sections_and_paths_are_accepted(admin_client: Client):
    assert send(admin_client, BOOKINGS, summary_fields="id, guestName, financial").status_code == 302


ALL, HOSTAWAY = "/admin/budgets/*/", "/admin/budgets/connector:hostaway/"


def test_fields_are_withheld_for_all_tools_for_a_connector_or_for_a_key(admin_client: Client):
    assert send(admin_client, ALL, withheld_fields="guestName").status_code == 302
    assert in_force("list_bookings").withheld == {"guestName"}
    assert send(admin_client, HOSTAWAY, withheld_fields="guest_email, phone").status_code == 302
    assert in_force("list_bookings").withheld == {"guest_email", "phone"}
    assert in_force("nsip_search").withheld == {"guestName"}
    assert send(admin_client, f"{ALL}?caller=desk", withheld_fields="none").status_code == 302
    assert in_force("list_bookings", "desk").withheld == set()
    assert 'name="withheld_fields"' not in admin_client.get(BOOKINGS).content.decode()
    send(admin_client, BOOKINGS, withheld_fields="phone", default_page_size=20)
    assert in_force("list_bookings").withheld == {"guest_email", "phone"}


def test_the_page_of_one_tool_shows_what_is_withheld_and_where_that_is_set(admin_client: Client):
    TokenBudget.objects.create(withheld_fields="guestPhone")
    page = admin_client.get("/admin/budgets/get_booking/").content.decode()
    line = page[page.index("withheldFields") :]
    assert line.index("guestPhone") < line.index("Not here: one query can join the results of several operations.")
    assert 'name="withheld_fields"' not in page


def test_a_misspelt_withheld_field_is_named_and_saved_only_when_confirmed(admin_client: Client):
    assert "withheldFields has the name 'a=b', which no field can have" in words(
        send(admin_client, ALL, withheld_fields="guestName, a=b", is_confirmed="on")
    )
    asked = words(send(admin_client, HOSTAWAY, withheld_fields="guestName, guestNmae"))
    assert "No tool here is known to have a field “guestNmae”. Save anyway?" in asked
    assert not TokenBudget.objects.exists()
    assert send(admin_client, HOSTAWAY, withheld_fields="guestNmae", is_confirmed="on").status_code == 302
    assert in_force("list_bookings").withheld == {"guestNmae"}


def test_a_save_that_another_person_overtook_shows_both_versions(admin_client: Client, django_user_model: Any):
    opened = version(admin_client, BOOKING)
    other = allowed(django_user_model, "ops-1", "view_tokenbudget", "change_tokenbudget")
    send(other, BOOKING, token_budget_threshold=9000)
    response = admin_client.post(BOOKING, {"version": opened, "do": "save", "token_budget_threshold": 8000})
    said = words(response)
    assert re.search(r"ops-1 saved revision \d+ while you were editing", said)
    assert "tokenBudgetThreshold 9,000 8,000" in said
    assert in_force("get_booking").token_budget_threshold == 9000
    newest = re.search(r'name="version" value="(\d+)"', response.content.decode())
    assert newest is not None
    admin_client.post(BOOKING, {"version": newest[1], "do": "save", "token_budget_threshold": 8000})
    assert in_force("get_booking").token_budget_threshold == 8000


def test_new_values_become_the_filled_in_form_of_a_rollout(admin_client: Client):
    page = BOOKINGS
    sent = {"do": "roll-out", "default_page_size": "40", "tables": "false", "change_reason": "shorter pages"}
    answer = admin_client.post(page, sent)
    assert answer.status_code == 302
    form = admin_client.get(answer["Location"]).content.decode()
    assert re.search(r'name="operations" value="list_bookings"', form)
    assert re.search(r'name="default_page_size" value="40"', form)
    assert re.search(r'name="reason" value="shorter pages"', form)
    assert re.search(r'name="tables".*?value="false" selected', form, re.DOTALL)
    assert not TokenBudget.objects.exists(), "nothing is saved on the way"
    made = {"name": "shorter", "operations": "list_bookings", "steps": "100", "minimum_calls": 20, "minimum_minutes": 1}
    admin_client.post(answer["Location"], {**made, "default_page_size": "40", "reason": "shorter pages"})
    assert Rollout.objects.get().values == {"default_page_size": 40}


@pytest.mark.parametrize(
    ("page", "values", "said"),
    [
        ("list_bookings/", {}, "Nothing to roll out"),
        ("list_bookings/?caller=ci-bot", {"default_page_size": "40"}, "cannot be rolled out to others"),
        ("list_bookings/", {"summary_fields": "id,status"}, "belong to one tool"),
        ("*/", {"withheld_fields": "guestName"}, "cannot have withheldFields"),
    ],
)
def test_what_cannot_be_a_rollout_is_explained(admin_client: Client, page: str, values: dict[str, str], said: str):
    answer = admin_client.post(f"/admin/budgets/{page}", {"do": "roll-out", **values})
    assert answer.status_code == 422
    assert said in words(answer)


def test_only_those_who_may_save_do(django_user_model: Any):
    viewer = allowed(django_user_model, "viewer", "view_tokenbudget")
    assert "but not save them" in words(viewer.get(BOOKING))
    assert send(viewer, BOOKING, token_budget_threshold=8000).status_code == 403
    assert viewer.post(f"{BOOKING}undo/", {"version": "1"}).status_code == 403
    assert not TokenBudget.objects.exists()
    nobody = allowed(django_user_model, "nobody")
    assert nobody.get(BOOKING).status_code == 403
