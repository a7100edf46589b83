"""A preview answers as the call would under a budget, and leaves nothing behind."""

import json
from dataclasses import replace
from typing import Any

import pytest

from context_protection.configuration.policies import policy_for
from context_protection.configuration.revisions import revisions
from context_protection.core.errors import InvalidArgument
from context_protection.core.policy import Policy
from context_protection.models import StoredWalk, TokenBudget
from gateway.catalog.catalog import catalogue
from gateway.connectors.hostaway.models import Booking
from gateway.replay import caller_for_staff
from gateway.staff.preview import sources
from gateway.staff.preview.answers import PreviewSource, compared, previewed
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors

pytestmark = pytest.mark.django_db


@pytest.fixture
def booking(db: None) -> int:
    first: Booking = Booking.objects.order_by("id").first()
    return first.id


def read(operation: str, **arguments: Any) -> PreviewSource:
    return sources.read_again(catalogue.get(operation), arguments, caller_for_staff("tests"))


def budget(operation: str, **changes: Any) -> Policy:
    return replace(policy_for(operation), **changes)


def test_a_preview_under_the_budget_in_force_is_what_the_client_gets(doors: Doors, booking: int):
    sent = doors.mcp("get_booking", {"id": booking})
    answer = previewed(read("get_booking", id=booking), policy_for("get_booking"))
    assert json.loads("".join(answer.lines)) == sent
    assert answer.formula_tokens == sent["meta"]["estimatedTokens"]


def test_another_budget_is_compared_with_the_one_in_force(doors: Doors, booking: int):
    found = compared(
        read("get_booking", id=booking), policy_for("get_booking"), budget("get_booking", token_budget_threshold=12_000)
    )
    assert found.before.is_shortened
    assert not found.after.is_shortened
    assert found.before.claude_tokens < found.after.claude_tokens
    assert any("fields" in each for each in found.before.left_out)
    assert any(line.is_own for line in found.after_lines)


@pytest.mark.parametrize("operation", ["list_bookings", "get_booking"])
def test_a_preview_shows_what_another_budget_would_withhold_or_no_longer(doors: Doors, booking: int, operation: str):
    TokenBudget.objects.create(caller="tests", withheld_fields="guestName")
    revisions.bump()
    asked = {"limit": 3} if operation == "list_bookings" else {"id": booking, "fields": "guestName,status"}
    found = compared(
        read(operation, **asked), policy_for(operation, "tests"), budget(operation, withheld_fields="status")
    )
    before, after = "".join(found.before.lines), "".join(found.after.lines)
    assert '"guestName":"[withheld: by policy]"' in before
    assert '"status":"[withheld: by policy]"' in after
    assert '"status":"[withheld: by policy]"' not in before
    assert '"guestName":"[withheld: by policy]"' not in after


def test_a_list_says_which_rows_are_left_out(doors: Doors):
    answer = previewed(read("list_bookings", limit=3), policy_for("list_bookings"))
    total = json.loads("".join(answer.lines))["meta"]["totalCount"]
    assert f"{total - 3:,} of {total:,} rows" in answer.left_out
    assert answer.is_paged


def test_nothing_is_stored_and_nothing_recorded(doors: Doors, booking: int):
    assert recorder.flush()
    before = StoredWalk.objects.count(), TelemetryRecord.objects.count()
    previewed(read("list_bookings", limit=3), policy_for("list_bookings"))
    previewed(read("get_booking", id=booking), policy_for("get_booking"))
    assert recorder.flush()
    assert (StoredWalk.objects.count(), TelemetryRecord.objects.count()) == before


def test_a_call_that_the_new_budget_refuses_shows_its_error(doors: Doors):
    answer = previewed(read("list_bookings", limit=40), budget("list_bookings", max_page_size=20, default_page_size=20))
    assert answer.is_refused
    assert "limit exceeds maximum of 20" in answer.left_out[0]


def test_an_operation_that_acts_is_never_called(doors: Doors, large_api: list[str]):
    with pytest.raises(InvalidArgument, match="never calls it"):
        read("cancel_booking")


# -- Pasted responses -------------------------------------------------------------------------------


def test_a_pasted_list_is_found_in_its_wrapper_and_its_secrets_are_masked():
    rows = [{"id": number, "doorCode": f"48{number}1"} for number in range(30)]
    source = sources.pasted(catalogue.get("list_bookings"), json.dumps({"status": "ok", "result": rows}))
    answer = previewed(source, budget("list_bookings", default_page_size=10))
    text = "".join(answer.lines)
    assert (answer.items, answer.total_rows) == (10, 30)
    assert "4801" not in text


def test_a_pasted_text_is_protected_as_a_text():
    source = sources.pasted(catalogue.get("read_document"), "One line.\n" * 5000)
    answer = previewed(source, policy_for("read_document"))
    assert answer.outcome == "chunked"


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "is empty"), ('{"id": 1', "is not JSON"), ("[" * 200 + "]" * 200, "nested more than")],
)
def test_what_cannot_be_read_is_explained(text: str, words: str):
    with pytest.raises(InvalidArgument, match=words):
        sources.pasted(catalogue.get("list_bookings"), text)
