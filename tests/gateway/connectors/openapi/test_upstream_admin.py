"""The page of an imported API's connection: another name is asked for, a button tests it, and its state is told."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.access.models import ApiKey, ToolSet
from gateway.catalog.catalog import catalogue
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.models import ImportedOperation
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain
from tests.doors import Doors
from tests.simulators.bad_upstream import BadUpstream, bad_upstream
from tests.simulators.shop import Shop, shop
from tests.telemetry.examples import a_call, stored

SECRET = "canary-8d1f-wxyz"


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        data = json.dumps(simulated.document).encode()
        import_plan.store(import_plan.plan(data, name="shop", source="shop.json"), chosen={"GET /all", "GET /log"})
        revisions.bump()
        yield simulated
    retain(())


@pytest.fixture
def row(api: Shop) -> UpstreamApi:
    return UpstreamApi.objects.get()


def path(row: UpstreamApi, page: str = "change") -> str:
    return f"/admin/upstreams/upstreamapi/{row.pk}/{page}/"


def saved(client: Client, row: UpstreamApi, **more: str) -> Any:
    form = client.get(path(row)).context["adminform"].form
    given = {name: "" if form[name].value() is None else form[name].value() for name in form.fields}
    given = {name: value for name, value in given.items() if value is not False}
    return client.post(path(row), {**given, **more}, follow=True)


def page_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("upstreams/upstreamapi", "No API is connected yet."),
        ("openapi/importedoperation", "No API is imported yet."),
        ("mcp_servers/mcpserver", "No MCP server is added here yet."),
        ("mcp_servers/mcptool", "No server has listed its tools yet."),
        ("access/toolset", "There is no tool set yet"),
    ],
)
def test_an_empty_list_says_how_to_fill_it(admin_client: Client, address: str, told: str):
    assert told in page_of(admin_client.get(f"/admin/{address}/"))


# -- Another name -----------------------------------------------------------------------------------


def test_a_new_name_is_asked_for_before_it_is_given(admin_client: Client, row: UpstreamApi):
    catalogue.refresh()
    asking = saved(admin_client, row, name="store", attempts="2")
    page = page_of(asking)
    assert "2 tools get another name" in page
    assert "<td><code>shop_list_all</code></td><td><code>store_list_all</code></td>" in page
    row.refresh_from_db()
    assert (row.name, row.attempts) == ("shop", 2)


def test_old_names_of_an_api_answer_with_its_new_ones(admin_client: Client, row: UpstreamApi, doors: Doors):
    TokenBudget.objects.create(operation="shop_list_all", default_page_size=3)
    key = ApiKey.objects.issue("desk")[0]
    ApiKey.objects.filter(pk=key.pk).update(pinned_tools=["shop_list_all"])
    tools = ToolSet.objects.create(name="desk", tools=["shop_list_all"])
    body = {"name": "store", "shown": "store", "_rename": "1"}
    page = page_of(admin_client.post(path(row, "rename"), body, follow=True))
    assert "Renamed shop to store, and 10 of its tools with it" in page
    assert "Their old names keep working for 30 days." in page
    revisions.bump()
    catalogue.refresh()
    assert catalogue.get("shop_list_all") is catalogue.get("store_list_all")
    assert "shop_list_all" not in [each.name for each in catalogue]
    answers = [doors.post(name, {}) for name in ("shop_list_all", "store_list_all")]
    assert [len(each["items"]) for each in answers] == [3, 3]
    key.refresh_from_db()
    tools.refresh_from_db()
    assert (key.pinned_tools, tools.tools) == (["store_list_all"], ["store_list_all"])


def test_an_operation_with_another_name_is_reached_by_its_old_one(admin_client: Client, row: UpstreamApi):
    operation = ImportedOperation.objects.get(key="GET /all")
    page = admin_client.post(
        f"/admin/openapi/importedoperation/{operation.pk}/change/", {"name": "everybody", "enabled": "on"}, follow=True
    )
    assert "Calls of shop_list_all reach shop_everybody for 30 days." in page_of(page)
    revisions.bump()
    catalogue.refresh()
    assert catalogue.get("shop_list_all") is catalogue.get("shop_everybody")


def test_a_name_of_other_tools_is_refused(admin_client: Client, row: UpstreamApi):
    page = page_of(admin_client.get(path(row, "rename"), {"name": "list"}))
    assert "would look like existing tools" in page
    assert 'name="_rename"' not in page


def imported_beside(api: Shop, name: str, operation: str, *, is_on: bool = True) -> UpstreamApi:
    """The shop as another API, with this name of one operation."""
    plan = import_plan.plan(json.dumps(api.document).encode(), name=name, source="shop.json")
    import_plan.store(plan, chosen={"GET /all"} if is_on else set(), names={"GET /all": operation})
    revisions.bump()
    return UpstreamApi.objects.get(name=name)


def rename_operation(client: Client, name: str) -> str:
    operation = ImportedOperation.objects.get(key="GET /all", api__upstream__name="shop")
    address = f"/admin/openapi/importedoperation/{operation.pk}/change/"
    page = page_of(client.post(address, {"name": name, "enabled": "on"}, follow=True))
    revisions.bump()
    return page


@pytest.mark.parametrize("is_on", [True, False])
def test_an_operation_cannot_take_the_tool_of_another_api(
    admin_client: Client, row: UpstreamApi, api: Shop, is_on: bool
):
    imported_beside(api, "shop_b", "list", is_on=is_on)
    page = rename_operation(admin_client, "b_list")
    assert "shop_b_list is the name of another tool. Choose another name than b_list." in page
    assert "Calls of" in rename_operation(admin_client, "c_list")
    assert "Calls of" in rename_operation(admin_client, "list_all")  # its former name


def test_an_api_cannot_take_the_tool_of_another_api(admin_client: Client, row: UpstreamApi, api: Shop):
    rename_operation(admin_client, "b_list")
    other = imported_beside(api, "other", "list")
    body = {"name": "shop_b", "shown": "shop_b", "_rename": "1"}
    page = page_of(admin_client.post(path(other, "rename"), body, follow=True))
    assert "shop_b_list is the name of another tool. Choose another name than shop_b." in page
    other.refresh_from_db()
    assert other.name == "other"


def test_an_api_gets_its_former_name_back(admin_client: Client, row: UpstreamApi):
    for name in ("store", "shop"):
        body = {"name": name, "shown": name, "_rename": "1"}
        assert f"to {name}, and 10 of its tools" in page_of(admin_client.post(path(row, "rename"), body, follow=True))
        revisions.bump()


# -- The test button --------------------------------------------------------------------------------


@pytest.fixture
def bad(row: UpstreamApi) -> Iterator[BadUpstream]:
    """The API is at a place that answers as a test wants it to."""
    with bad_upstream() as simulated:
        row.base_url, row.authentication = simulated.url, "bearer"
        row.set_secret(SECRET)
        row.save()
        yield simulated


def after_a_test(client: Client, row: UpstreamApi, **more: str) -> str:
    page = page_of(saved(client, row, _test="1", **more))
    assert SECRET not in page
    return page


def test_staff_test_the_base_address_or_an_operation(admin_client: Client, row: UpstreamApi, api: Shop):
    page = after_a_test(admin_client, row)
    assert "API shop answers: status 404 in " in page
    assert "Choose an operation under “Test with”" in page
    operation = ImportedOperation.objects.get(key="GET /all")
    assert "API shop answers: status 200 in " in after_a_test(admin_client, row, tested_with=str(operation.pk))
    assert [call[:2] for call in api.calls] == [("GET", "/"), ("GET", "/all")]


def test_only_operations_without_arguments_are_offered(admin_client: Client, row: UpstreamApi):
    choices = admin_client.get(path(row)).context["adminform"].form.fields["tested_with"].choices
    assert "list_all" in [name for _, name in choices]
    assert not {"get_customer", "place_order", "delete_customer"} & {name for _, name in choices}


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "Test failed after ", ),
        (500, "failed on its side (status 500)"),
        (429, "has had too many requests for now. (Status 429.)"),
    ],
)  # fmt: skip
def test_a_test_says_what_is_wrong(admin_client: Client, row: UpstreamApi, bad: BadUpstream, status: int, told: str):
    bad.mode, bad.status = "given", status
    bad.body = json.dumps({"message": f"Unknown token {SECRET}, ask us."}).encode()
    page = after_a_test(admin_client, row)
    assert told in page
    assert "It says: “Unknown token ***, ask us.”" in page
    assert bad.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert bad.count == 1


def test_a_test_says_why_there_is_no_connection(admin_client: Client, row: UpstreamApi):
    with bad_upstream() as gone:
        address = gone.url
    page = after_a_test(admin_client, row, base_url=address)
    assert "shop cannot be reached: nothing listens at its address and port." in page


# -- State ------------------------------------------------------------------------------------------


def test_state_and_last_error_are_told(admin_client: Client, row: UpstreamApi, bad: BadUpstream, doors: Doors):
    assert "Not called in the last week." in page_of(admin_client.get(path(row)))
    TokenBudget.objects.create(operation="shop_list_all", cache_seconds=0)
    doors.post("shop_list_all", {})
    assert "It answers, last on " in page_of(admin_client.get(path(row)))
    bad.mode, bad.status = "given", 500
    assert "error" in doors.post("shop_list_all", {})
    for address in (path(row), "/admin/upstreams/upstreamapi/"):
        page = page_of(admin_client.get(address))
        assert "Failing. It last answered on " in page
        assert ": it failed on its side." in page


def test_answers_to_other_processes_count_and_cached_ones_do_not(
    admin_client: Client, row: UpstreamApi, bad: BadUpstream, doors: Doors
):
    TokenBudget.objects.create(operation="shop_list_all", cache_seconds=0)
    bad.mode, bad.status = "given", 500
    assert "error" in doors.post("shop_list_all", {})
    later = a_call(operation="shop_list_all", at=timezone.now() + timedelta(minutes=1))
    stored(later, later._replace(request_id="stale", attempts=1, upstream_status=500))
    assert "Failing." in page_of(admin_client.get(path(row)))
    stored(later._replace(request_id="answered", attempts=1, upstream_status=200))
    assert "It answers, last on " in page_of(admin_client.get(path(row)))
