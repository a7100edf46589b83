"""Ops say how upstream pages a list, and see three of its pages before they store it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from context_protection.configuration.revisions import revisions
from gateway.connectors.openapi.document.paging import Paging, PagingStyle
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.models import ImportedOperation
from gateway.upstreams.registry import retain
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.openapi.documents import answering, document, query
from tests.simulators.shop import Shop, shop

THINGS = [{"id": number, "name": f"Thing {number}"} for number in range(1, 138)]
RECORD = {"type": "object", "properties": {"id": {"type": "string"}, "lines": {"type": "array", "items": {}}}}
LINES = {"style": "cursor", "position": "from", "next": "page.token", "rows": "lines"}


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        simulated.odd["/things"] = serve
        yield simulated
    retain(())


def serve(asked: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
    start = int(asked.get("from", "t0")[1:])
    token = f"t{start + 20}" if start + 20 < len(THINGS) else None
    return {"id": "all", "lines": THINGS[start : start + 20], "page": {"token": token, "of": "things"}}, {}


@pytest.fixture
def operation(api: Shop) -> ImportedOperation:
    """An operation whose document describes a record, and which answers pages of a list."""
    node = {"operationId": "readThings", "parameters": [query("from")], "responses": answering(RECORD)}
    data = json.dumps(document({"/things": {"get": node}}, servers=[{"url": api.url}])).encode()
    import_plan.store(import_plan.plan(data, name="shop", source="shop.json"), chosen={"GET /things"})
    revisions.bump()
    return ImportedOperation.objects.get()


def address(operation: ImportedOperation) -> str:
    return f"/admin/openapi/importedoperation/{operation.pk}/paging/"


def page_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def test_a_test_walks_three_pages_and_stores_nothing(admin_client: Client, operation: ImportedOperation, api: Shop):
    page = page_of(admin_client.post(address(operation), {**LINES, "test": "Test"}))
    assert "3 pages gave 60 different rows, and more follow: this paging works." in page
    assert "from=t20" in page
    assert "from=t40" in page
    assert "page.of" in page  # what is around the rows, for the paths
    assert len(api.calls) == 3
    operation.refresh_from_db()
    assert operation.paging is None


def test_what_is_saved_makes_it_a_list_that_is_walked_to_its_end(
    doors: Doors, admin_client: Client, operation: ImportedOperation
):
    change = f"/admin/openapi/importedoperation/{operation.pk}/change/"
    assert address(operation) in page_of(admin_client.get(change))
    assert admin_client.post(address(operation), {**LINES, "save": "Save"})["Location"] == change
    revisions.bump()
    operation.refresh_from_db()
    assert operation.paging == LINES
    assert "from" not in operation.documented.parameters
    assert crawler.walk(doors.mcp, "shop_read_things", {}) == THINGS
    page = page_of(admin_client.get(address(operation)))
    assert 'value="page.token"' in page
    admin_client.post(address(operation), {"style": "", "save": "Save"})
    operation.refresh_from_db()
    assert operation.paging is None


def test_a_cursor_of_a_list_that_ops_have_made_a_record_is_rejected(
    doors: Doors, admin_client: Client, operation: ImportedOperation
):
    """The record would repeat the rows of the first page, and a client would add them to those that it has."""
    admin_client.post(address(operation), {**LINES, "save": "Save"})
    revisions.bump()
    cursor = doors.mcp("shop_read_things", {"limit": 20})["nextCursor"]
    admin_client.post(address(operation), {"style": "", "save": "Save"})
    revisions.bump()
    error = doors.mcp("shop_read_things", {"cursor": cursor})["error"]
    assert error["reason"] == "cursor_mismatch"
    assert "returns a record by now" in error["message"]
    assert "lines" in doors.mcp("shop_read_things", {})


def test_saving_the_page_as_it_is_changes_nothing(admin_client: Client, operation: ImportedOperation):
    whole = Paging(
        PagingStyle.LAST_ID, "limit", 10, 100, "after", 1, "next", "more", "count", "ref", "before"
    ).document()
    assert whole.keys() == {each.name for each in fields(Paging)}
    operation.paging = {**whole, "rows": "lines"}
    operation.full_clean()
    operation.save()
    form = admin_client.get(address(operation)).context["form"]
    admin_client.post(address(operation), {name: form[name].value() or "" for name in form.fields})
    operation.refresh_from_db()
    assert operation.paging == {**whole, "rows": "lines"}


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"style": "offset", "position": "skip", "size_maximum": "100"}, "see size_maximum"),
        ({"style": "offset", "position": "skip", "size_default": 0}, "see size_default"),
        ({"style": "offset", "position": "skip", "start": True}, "see start"),
        ({"style": "offset", "position": "skip", "total": 5}, "see total"),
        ({"style": "offset", "position": "skip", "rows": 5}, "see rows"),
        ({"style": "offset"}, "The style offset needs position."),
        ({"style": "cursor"}, "The style cursor needs position and next."),
        ({"style": "next_url"}, "The style next_url needs next."),
        ({"style": "rows"}, "Expected an object such as"),
        (["offset"], "Expected an object such as"),
        ("offset", "Expected an object such as"),
    ],
)
def test_a_paging_that_every_call_would_fail_with_is_not_stored(
    admin_client: Client, operation: ImportedOperation, setting: Any, told: str
):
    body = {"name": operation.name, "enabled": "on", "paging": json.dumps(setting)}
    change = f"/admin/openapi/importedoperation/{operation.pk}/change/"
    assert told in page_of(admin_client.post(change, body))
    operation.refresh_from_db()
    assert operation.paging is None
    ImportedOperation.objects.update(paging=setting)
    if (
        isinstance(setting, dict) and setting["style"] == "offset"
    ):  # the list, which does not have the field, can be saved
        row = {"form-0-id": str(operation.pk), "form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1", "_save": "Save"}
        page = page_of(admin_client.post("/admin/openapi/importedoperation/", row, follow=True))
        assert "1 imported operation was changed successfully" in page


@pytest.mark.parametrize(
    ("entered", "said"),
    [
        ({**LINES, "position": "start"}, "Pages repeat rows"),
        ({**LINES, "next": "page.nothing"}, "The list ends after 20 rows on 1 page."),
        ({**LINES, "rows": "columns"}, "3 pages gave 60 different rows"),
        ({"style": "none", "rows": ""}, "Enter the path of its rows."),
        ({**LINES, "next": ""}, "Enter where the answer has it"),
        ({**LINES, "position": ""}, "Enter the parameter that sets where a page begins."),
        ({**LINES, "arguments": "[1]"}, "Expected an object of names and values"),
    ],
)
def test_a_wrong_paging_is_told(admin_client: Client, operation: ImportedOperation, entered: dict[str, str], said: str):
    assert said in page_of(admin_client.post(address(operation), {**entered, "test": "Test"}))


def test_an_upstream_that_fails_is_told_in_words(admin_client: Client, operation: ImportedOperation, api: Shop):
    del api.odd["/things"]
    page = page_of(admin_client.post(address(operation), {**LINES, "test": "Test"}))
    assert 'role="alert"' in page
    assert "shop has nothing at that address" in page


def test_only_who_may_change_operations_may_set_their_paging(operation: ImportedOperation):
    clerk = User.objects.create_user("clerk", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename="view_importedoperation"))
    client = Client()
    client.force_login(clerk)
    assert client.get(address(operation)).status_code == 403
    assert client.post(address(operation), {**LINES, "test": "Test"}).status_code == 403
