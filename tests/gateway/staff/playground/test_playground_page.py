"""The playground: a tool's answer beside what the API sent, recorded outside all figures."""

import html
import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.access.models import ApiKey
from gateway.catalog.catalog import catalogue
from gateway.connectors.hostaway.models import Booking
from telemetry import queries, recorder
from telemetry.models import TelemetryRecord
from telemetry.queries import Selection
from tests.gateway.staff.budgets.test_budget_page import words
from tests.gateway.test_failing_upstreams import Bad
from tests.gateway.test_failing_upstreams import bad as bad  # a fixture

pytestmark = pytest.mark.django_db
PAGE = "/telemetry/playground/"


@pytest.fixture
def engineer(django_user_model: Any) -> Client:
    user = django_user_model.objects.create_user("engineer-1", password="a long password", is_staff=True)
    user.groups.set(Group.objects.filter(name="engineer"))
    client = Client()
    client.force_login(user)
    return client


def run(client: Client, tool: str, **values: Any) -> Any:
    return client.post(PAGE, {"tool": tool, **values})


def recorded() -> list[TelemetryRecord]:
    assert recorder.flush()
    return list(TelemetryRecord.objects.order_by("-pk"))


def test_the_form_has_the_arguments_of_the_tool_the_required_ones_first(engineer: Client):
    page = engineer.get(PAGE, {"tool": "get_booking"}).content.decode()
    names = re.findall(r'<label for="argument-(\w+)">', page)
    assert names[0] == "id"
    assert "fields" in names
    of_list = engineer.get(PAGE, {"tool": "list_bookings"}).content.decode()
    assert re.search(r'<select id="argument-format".*?<option>table', of_list, re.DOTALL)


def test_a_reading_tool_runs_at_once_and_both_sides_are_shown(engineer: Client):
    said = words(run(engineer, "list_bookings", **{"argument-limit": "3"}))
    assert re.search(r"Without Sluice [\d,]{6,} tokens", said)
    assert "500 rows" in said
    assert re.search(r"With Sluice [\d,]+ tokens [\d.]+% saved", said)
    assert "Next page" in said
    assert "curl -X POST" in said
    assert re.search(r"Took [\d.]+ m?s, all of it Sluice's own: no upstream was called\.", said)


def test_the_time_of_the_upstream_stands_apart_also_if_the_call_fails(engineer: Client, bad: Bad):
    bad.imported(attempts=1)
    revisions.bump()
    catalogue.refresh()
    for status in (503, 200):  # what came is kept for a while
        bad.upstream.mode, bad.upstream.status = "given", status
        said = words(run(engineer, "bad_list_rows"))
        assert re.search(r"Took [\d.]+ m?s: [\d.]+ m?s upstream bad \+ [\d.]+ m?s Sluice\.", said), said[
            said.find("Took") :
        ][:90]


def test_a_tool_that_is_not_there_runs_nothing(engineer: Client):
    response = run(engineer, "list_bokings")
    assert response.status_code == 422
    assert "There is no tool list_bokings, so nothing was run." in words(response)
    assert recorded() == []


def test_it_is_recorded_as_playground_and_no_figure_counts_it(engineer: Client):
    run(engineer, "list_bookings", **{"argument-limit": "3"})
    [record] = recorded()
    assert (record.transport, record.operation) == ("playground", "list_bookings")
    span = queries.Span.of(record.created_at.replace(hour=0), record.created_at.replace(hour=23, minute=59))
    assert not queries.select(span, Selection()).exists()
    assert queries.select(span, Selection.of({"transport": ["playground"]})).count() == 1


def test_it_runs_as_the_chosen_key_without_what_the_key_reveals(engineer: Client):
    ApiKey.objects.issue("desk")
    ApiKey.objects.filter(name="desk").update(hidden_tools=["list_documents"], reveal=["doorCode"])
    said = words(run(engineer, "list_documents", key="desk"))
    assert "unknown_operation" in said
    booking = Booking.objects.order_by("id").first()
    text = run(engineer, "get_booking", key="desk", **{"argument-id": booking.id, "argument-fields": "all"})
    assert "[withheld: door code]" in html.unescape(text.content.decode())
    assert recorded()[0].caller == "desk"


@pytest.mark.parametrize("key", ["", "desk"])
def test_what_ops_withhold_is_shown_on_neither_side(engineer: Client, key: str):
    ApiKey.objects.issue("desk")
    TokenBudget.objects.create(withheld_fields="guestName, guestFirstName, guestLastName, guestEmail, guestPicture")
    revisions.bump()
    booking = Booking.objects.exclude(guest_name=None).order_by("id").first()
    page = run(engineer, "get_booking", key=key, **{"argument-id": booking.id, "argument-fields": "all"})
    text = html.unescape(page.content.decode())
    assert '"guestName":"[withheld: by policy]"' in text
    assert f'"guestName":{json.dumps(booking.guest_name, ensure_ascii=False)}' not in text
    refused = words(run(engineer, "list_bookings", key=key, **{"argument-guestName": "x"}))
    assert "withheld_field" in refused


def test_a_follow_up_is_the_literal_instruction_of_the_answer(engineer: Client):
    page = run(engineer, "list_bookings", **{"argument-limit": "3"}).content.decode()
    following = json.loads(html.unescape(re.search(r'name="json" value="([^"]*)"><button[^>]*>Next page', page)[1]))
    assert list(following) == ["cursor"]
    said = words(run(engineer, "list_bookings", json=json.dumps(following)))
    assert "invalid" not in said
    assert recorded()[0].page == 2


def test_a_draft_budget_answers_this_call_only(engineer: Client):
    values = {"argument-limit": "40", "budget": "draft"}
    said = words(run(engineer, "list_bookings", **values, **{"draft-token_budget_threshold": "1000"}))
    assert "with the draft budget" in said
    assert recorded()[0].threshold == 1000
    assert recorded()[0].item_count < 40
    run(engineer, "list_bookings", **{"argument-limit": "40"})
    assert recorded()[0].item_count == 40


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"json": "{"}, "The arguments are not JSON"),
        ({"json": "[1]"}, "The arguments are not a JSON object"),
        ({"argument-where": "{"}, "where is not JSON"),
        ({"budget": "draft", "draft-hard_cap": "5"}, "hardCap is 5; it must be from 1,000 to 25,000."),
        ({"budget": "draft", "draft-hard_cap": "1000"}, "hardCap (1,000) is below tokenBudgetThreshold"),
    ],
)
def test_what_cannot_be_run_is_explained(engineer: Client, values: dict[str, str], sentence: str):
    assert sentence in words(run(engineer, "list_bookings", **values))
    assert recorded() == []


def test_an_error_is_an_answer_too(engineer: Client):
    said = words(run(engineer, "list_bookings", **{"argument-limit": "abc"}))
    assert "With Sluice" in said
    assert "limit" in said
    assert recorded()[0].outcome == "error"


# -- Tools that change data -------------------------------------------------------------------------


def test_a_writing_tool_asks_first_and_a_confirmation_runs_it_once(engineer: Client, large_api: list[str]):
    asked = run(engineer, "cancel_booking", do="run")
    assert "This changes data in" in words(asked)
    assert recorded() == []
    once = re.search(r'name="once" value="([^"]+)"', asked.content.decode())
    assert once is not None
    run(engineer, "cancel_booking", do="confirm", once=once[1])
    assert [record.operation for record in recorded()] == ["cancel_booking"]
    again = words(run(engineer, "cancel_booking", do="confirm", once=once[1]))
    assert "This confirmation was used already" in again
    assert len(recorded()) == 1


def test_who_may_not_run_writes_may_still_run_reads(django_user_model: Any, large_api: list[str]):
    from django.contrib.auth.models import Permission

    user = django_user_model.objects.create_user("reader", password="a long password", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["replay_call", "view_callarguments"]))
    client = Client()
    client.force_login(user)
    assert run(client, "cancel_booking").status_code == 403
    assert run(client, "list_documents").status_code == 200


@pytest.mark.parametrize("role", ["viewer", "ops"])
def test_it_is_for_engineers(django_user_model: Any, role: str):
    user = django_user_model.objects.create_user("other", password="a long password", is_staff=True)
    user.groups.set(Group.objects.filter(name=role))
    client = Client()
    client.force_login(user)
    assert client.get(PAGE).status_code == 403
    assert run(client, "list_bookings").status_code == 403
    assert recorded() == []
