"""What a key may use: reading tools only, chosen tools only; and two secrets for a day after a rotation."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import NotAuthenticated
from context_protection.core.payloads import Payload, Record
from context_protection.core.policy import Kind
from gateway.access.callers import caller_of_key, confirm
from gateway.access.models import ApiKey
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.mcp.tools import tool_list_of
from tests.doors import Doors

pytestmark = pytest.mark.django_db
ACTING = "shop_create_order"


async def create_order(arguments: Mapping[str, Any], caller: Caller) -> Payload:
    return Record({"id": 1})


@pytest.fixture
def acting() -> Iterator[str]:
    operation = Operation(
        name=ACTING,
        title="Create an order",
        description="Creates an order.",
        kind=Kind.ACTION,
        parameters={},
        fetch=create_order,
        endpoint=f"/api/v1/tools/{ACTING}",
    )
    catalogue.offer([operation])
    yield ACTING
    catalogue.withdraw(ACTING)


def listed(doors: Doors) -> set[str]:
    return set(tool_list_of(caller_of_key(doors.key)).names)


def reason(answer: Mapping[str, Any]) -> str:
    return str(answer.get("error", {}).get("reason", ""))


def test_a_key_that_only_reads_sees_no_tool_that_acts(doors: Doors, acting: str):
    doors.choose(tool_listing="all")
    assert acting in listed(doors)
    assert reason(doors.mcp(acting, {})) == ""
    doors.choose(reads_only=True)
    assert acting not in listed(doors)
    assert "list_bookings" in listed(doors)
    assert reason(doors.mcp(acting, {})) == "unknown_operation"
    assert reason(doors.post(acting, {})) == "unknown_operation"


def test_a_tool_that_acts_and_comes_later_is_hidden_too(doors: Doors, acting: str):
    catalogue.withdraw(acting)
    doors.choose(reads_only=True)
    caller = caller_of_key(doors.key)
    assert acting not in caller.tools.hidden
    operation = Operation(
        name=acting, title="", description="", kind=Kind.ACTION, parameters={}, fetch=create_order, endpoint="/x"
    )
    catalogue.offer([operation])
    assert acting in caller.tools.hidden


def test_a_key_sees_only_its_chosen_tools(doors: Doors):
    doors.choose(allowed_tools=["list_bookings"])
    assert listed(doors) == {"list_bookings", "result_get", "result_search", "result_query"}
    assert reason(doors.mcp("get_booking", {"id": 1})) == "unknown_operation"
    doors.choose(hidden_tools=["list_bookings"])
    assert "list_bookings" not in listed(doors)


# -- Rotation ---------------------------------------------------------------------------------------


def test_after_a_rotation_both_secrets_work_and_a_day_later_one(doors: Doors):
    key = ApiKey.objects.get()
    secret = key.rotate()
    revisions.bump()
    assert caller_of_key(secret).id == caller_of_key(doors.key).id
    ApiKey.objects.update(previous_until=timezone.now() - timedelta(seconds=1))
    revisions.bump()
    assert caller_of_key(secret).name == "tests"
    with pytest.raises(NotAuthenticated, match="expired"):
        caller_of_key(doors.key)


def test_a_connection_with_the_old_secret_ends_with_it(doors: Doors):
    opened = caller_of_key(doors.key)
    ApiKey.objects.get().rotate()
    revisions.bump()
    assert confirm(opened).id == opened.id
    ApiKey.objects.update(previous_until=timezone.now() - timedelta(seconds=1))
    revisions.bump()
    with pytest.raises(NotAuthenticated):
        confirm(opened)


def test_a_second_rotation_ends_the_first_secret(doors: Doors):
    key = ApiKey.objects.get()
    key.rotate()
    key.rotate()
    revisions.bump()
    with pytest.raises(NotAuthenticated, match="unknown"):
        caller_of_key(doors.key)


def test_a_revoked_key_has_no_secret_that_works(doors: Doors):
    key = ApiKey.objects.get()
    secret = key.rotate()
    key.revoke()
    revisions.bump()
    for each in (secret, doors.key):
        with pytest.raises(NotAuthenticated):
            caller_of_key(each)


# -- The command ------------------------------------------------------------------------------------


def test_the_command_makes_a_key_with_limits(capsys: pytest.CaptureFixture[str]):
    options = ["--owner", "platform", "--days", "30", "--daily-tokens", "500000", "--reads-only"]
    call_command("apikey", "create", "ci-bot", *options, "--tool", "list_bookings")
    key = ApiKey.objects.get(name="ci-bot")
    assert (key.owner, key.daily_tokens, key.reads_only) == ("platform", 500_000, True)
    assert key.allowed_tools == ["list_bookings"]
    assert key.expires_at is not None
    assert 29 <= (key.expires_at - datetime.now(UTC)).days <= 30


def test_the_command_rotates_by_name(doors: Doors, capsys: pytest.CaptureFixture[str]):
    call_command("apikey", "rotate", "tests")
    revisions.bump()
    assert caller_of_key(capsys.readouterr().out.strip()).name == "tests"
    with pytest.raises(CommandError, match="no active key named 'nobody'"):
        call_command("apikey", "rotate", "nobody")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--days", "0"], "--days is 0; expected 1 to 36,500"),
        (["--days", "99999999"], "--days is 99999999; expected 1 to 36,500, or leave it out."),
        (["--daily-tokens", "99999999999"], "--daily-tokens is 99999999999; expected 1 to 2,147,483,647"),
        (["--tool", "list_booking"], "The nearest is 'list_bookings'"),
    ],
)
def test_the_command_names_what_is_wrong(options: list[str], words: str):
    with pytest.raises(CommandError, match=words):
        call_command("apikey", "create", "x", *options)


def test_the_command_lists_each_key_with_the_state_that_the_pages_show(capsys: pytest.CaptureFixture[str]):
    now = datetime.now(UTC)
    ApiKey.objects.all().delete()
    for name, days in (("expired", -1), ("soon", 3), ("later", 30)):
        ApiKey.objects.issue(name, expires_at=now + timedelta(days=days))
    ApiKey.objects.issue("rotated")[0].rotate()
    ApiKey.objects.issue("revoked")[0].revoke()
    call_command("apikey", "list")
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    states = {name: state.split(" 20")[0] for name, _, state in lines}
    assert states == {
        "expired": "expired",
        "soon": "expires soon",
        "later": "active",
        "rotated": "active; the old secret too until",
        "revoked": "revoked",
    }
