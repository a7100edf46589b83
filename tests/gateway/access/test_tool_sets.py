"""Tool sets of a key, and connectors that are switched off."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import transaction
from django.db.models import ProtectedError
from django.test import Client

from context_protection.configuration.revisions import revisions
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey, ConnectorSwitch, ToolSet
from gateway.catalog.catalog import catalogue
from gateway.catalog.prompts import prompts
from gateway.mcp.tools import tool_list_of
from tests.doors import Doors

pytestmark = pytest.mark.django_db

RESULTS = {"result_get", "result_search", "result_query"}
NO_DATE = {"expires_at_0": "", "expires_at_1": ""}


def listed(doors: Doors) -> set[str]:
    revisions.bump()
    return set(tool_list_of(caller_of_key(doors.key)).names)


# -- Sets -------------------------------------------------------------------------------------------


def test_a_key_sees_the_tools_of_its_sets_and_those_that_read_results(doors: Doors):
    sheep = ToolSet.objects.create(name="sheep", tools=["nsip_get_animal", "nsip_search_animals"])
    logs = ToolSet.objects.create(name="logs", tools=["read_document"])
    key = ApiKey.objects.get()
    key.tool_sets.set([sheep, logs])
    assert listed(doors) == {"nsip_get_animal", "nsip_search_animals", "read_document", *RESULTS}
    assert doors.mcp("list_bookings", {})["error"]["reason"] == "unknown_operation"
    assert doors.get("/api/v1/bookings")["error"]["reason"] == "unknown_operation"
    assert not prompts.visible(caller_of_key(doors.key).tools.hidden).keys() & {"arrivals", "monthly_revenue"}
    key.hidden_tools = ["read_document"]
    key.save()
    assert "read_document" not in listed(doors), "what is hidden is hidden, in a set or not"
    key.tool_sets.clear()
    assert "list_bookings" in listed(doors)


def test_a_set_is_made_and_given_to_a_key_in_the_admin(admin_client: Client, doors: Doors):
    admin_client.post("/admin/access/toolset/add/", {"name": "stays", "tools": ["list_bookings", "get_booking"]})
    made = ToolSet.objects.get()
    key = ApiKey.objects.get()
    form = {"name": key.name, "tool_listing": "", "tool_sets": [made.pk], "reveal": "", **NO_DATE}
    assert admin_client.post(f"/admin/access/apikey/{key.pk}/change/", form).status_code == 302
    assert listed(doors) == {"list_bookings", "get_booking", *RESULTS}


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("/admin/access/toolset/{}/delete/", {"post": "yes"}),
        ("/admin/access/toolset/", {"action": "delete_selected", "_selected_action": "{}", "post": "yes"}),
    ],
)
def test_a_set_stays_while_a_key_uses_it(admin_client: Client, doors: Doors, address: str, form: dict[str, str]):
    logs = ToolSet.objects.create(name="logs", tools=["read_document"])
    key = ApiKey.objects.get()
    key.tool_sets.add(logs)
    sent = {name: value.format(logs.pk) for name, value in form.items()}
    shown = admin_client.post(address.format(logs.pk), sent).content.decode()
    assert f"logs, used by the key {key.name}" in shown
    assert "would see all tools" in shown
    assert listed(doors) == {"read_document", *RESULTS}, "the key keeps its limits"
    key.tool_sets.clear()
    admin_client.post(address.format(logs.pk), sent)
    assert not ToolSet.objects.exists()


def test_a_set_that_a_key_uses_is_deleted_from_nowhere_else(doors: Doors):
    logs = ToolSet.objects.create(name="logs", tools=["read_document"])
    key = ApiKey.objects.get()
    key.tool_sets.add(logs)
    with pytest.raises(ProtectedError, match="Keys use it"), transaction.atomic():
        ToolSet.objects.all().delete()
    key.revoke()
    ToolSet.objects.all().delete()
    assert not ToolSet.objects.exists(), "a revoked key does not hold it"


# -- Connectors -------------------------------------------------------------------------------------


@pytest.fixture
def switched_on_again() -> Iterator[None]:
    yield
    ConnectorSwitch.objects.update(is_on=True)
    revisions.bump()
    catalogue.refresh()


@pytest.mark.usefixtures("switched_on_again")
def test_a_connector_that_is_off_has_no_tools_over_any_transport(admin_client: Client, doors: Doors):
    assert set(ConnectorSwitch.objects.values_list("connector", flat=True)) == {"codebase", "hostaway", "nsip"}
    switch = ConnectorSwitch.objects.get(connector="nsip")
    address = f"/admin/access/connectorswitch/{switch.pk}/change/"
    assert admin_client.post(address, {}).status_code == 302
    assert not any(name.startswith("nsip_") for name in listed(doors))
    assert doors.post("nsip_list_breeds", {})["error"]["reason"] == "unknown_operation"
    assert "nsip_list_breeds" not in admin_client.get("/").content.decode()
    assert admin_client.post(address, {"is_on": "on"}).status_code == 302
    assert "nsip_list_breeds" in listed(doors)


@pytest.mark.usefixtures("switched_on_again")
def test_prompts_and_resources_of_a_connector_that_is_off_are_gone(doors: Doors):
    ConnectorSwitch.objects.filter(connector="hostaway").update(is_on=False)
    assert listed(doors).isdisjoint({"list_bookings", "read_document"})
    assert not prompts.visible(())
    assert doors.ask(lambda client: client.list_resources()).resources == []


# -- Names of keys ----------------------------------------------------------------------------------


def test_the_name_of_a_revoked_key_can_be_used_again(admin_client: Client):
    call_command("apikey", "create", "laptop")
    call_command("apikey", "revoke", "laptop")
    call_command("apikey", "create", "laptop")
    assert ApiKey.objects.get(name="laptop").revoked_at is None
    assert ApiKey.objects.get(name__startswith="laptop (revoked, key ").revoked_at is not None
    call_command("apikey", "revoke", "laptop")
    form = {"name": "laptop", "tool_listing": "", "reveal": "", **NO_DATE}
    assert admin_client.post("/admin/access/apikey/add/", form).status_code == 200
    assert ApiKey.objects.get(name="laptop").revoked_at is None
