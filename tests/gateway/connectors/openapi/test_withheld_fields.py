"""What ops withhold of an imported API: masked on every page, and of no use as an argument."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.connectors.openapi.importer import import_plan
from gateway.upstreams.registry import retain
from telemetry import arguments as kept_arguments
from telemetry import recorder
from telemetry.models import CallArguments
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.openapi.documents import answering
from tests.simulators.shop import Shop, shop

pytestmark = pytest.mark.django_db

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
FILTER = {"type": "object", "properties": {"email": TEXT}}
ORDERS = {"type": "array", "items": {"type": "object", "properties": {"by": TEXT, "direction": TEXT}}}
ROW = {"type": "object", "properties": {"id": WHOLE, "name": TEXT, "email": TEXT, "address": {"type": "object"}}}
LIST, PAGED, RECORD = "shop_list_all", "shop_list_by_offset", "shop_get_customer"
MASK = "[withheld: by policy]"


def query(**schemas: Any) -> list[dict[str, Any]]:
    return [{"name": name, "in": "query", "schema": schema} for name, schema in schemas.items()]


PATHS = {
    "/all": {
        "get": {
            "operationId": "listAll",
            "parameters": query(
                email=TEXT, sort=TEXT, city=TEXT, filter=FILTER, orderBy={"type": "array", "items": TEXT}, orders=ORDERS
            ),
            "responses": answering({"type": "array", "items": ROW}),
        }
    },
    "/by-offset": {
        "get": {
            "operationId": "listByOffset",
            "parameters": query(offset=WHOLE, limit=WHOLE),
            "responses": answering({"type": "object", "properties": {"items": {"type": "array", "items": ROW}}}),
        }
    },
    "/customers/{id}": {
        "get": {
            "operationId": "getCustomer",
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": TEXT}],
            "responses": answering(ROW),
        }
    },
}


@pytest.fixture
def api(settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        document = {**simulated.document, "paths": PATHS}
        plan = import_plan.plan(json.dumps(document).encode(), name="shop", source="shop.json")
        import_plan.store(plan, chosen={each.key for each in plan.proposals})
        TokenBudget.objects.create(connector="openapi", withheld_fields="email, address.street, id")
        revisions.bump()
        yield simulated
    retain(())


@pytest.mark.parametrize("tool", [LIST, PAGED])
def test_every_row_comes_masked_also_by_its_key(doors: Doors, api: Shop, tool: str):
    rows = crawler.walk(doors.mcp, tool, {"fields": "all", "limit": 20})
    assert len(rows) == (50 if tool == LIST else 137)
    assert all((row["id"], row["email"], row["address"]["street"]) == (MASK,) * 3 for row in rows)
    assert rows[1]["address"]["city"] == "Springfield"
    assert "@example.com" not in json.dumps(doors.post(tool, {}))


def test_a_record_comes_masked(doors: Doors, api: Shop):
    answer = doors.mcp(RECORD, {"id": "5"})
    assert answer["email"] == MASK
    assert set(answer["meta"]["withheld"]) == {"id", "email", "address.street"}


@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"email": "c5@example.com"}, "email"),
        ({"sort": "-email"}, "sort"),
        ({"sort": "name,email:desc"}, "sort"),
        ({"sort": "desc(email)"}, "sort"),
        ({"orderBy": ["name", "-email"]}, "orderBy"),
        ({"orders": [{"by": "email", "direction": "desc"}]}, "orders"),
        ({"filter": {"email": "c5@example.com"}}, "filter.email"),
        ({"where": {"email": {"contains": "c5"}}}, "where"),
        ({"aggregate": {"groupBy": ["address.street"]}}, "aggregate"),
    ],
)
def test_the_upstream_is_not_asked_by_what_is_withheld(
    doors: Doors, api: Shop, arguments: dict[str, Any], parameter: str
):
    for answer in (doors.post(LIST, arguments), doors.mcp(LIST, arguments)):
        assert (answer["error"]["reason"], answer["error"]["data"]["parameter"]) == ("withheld_field", parameter)
        assert "withheldFields" in answer["error"]["message"]
    assert "where" in arguments or "aggregate" in arguments or api.calls == []


def test_other_arguments_and_required_ones_are_sent(doors: Doors, api: Shop):
    assert "error" not in doors.post(LIST, {"city": "email", "sort": "name"})
    assert "error" not in doors.post(RECORD, {"id": "5"})


def test_records_of_calls_do_not_hold_what_was_asked_in_vain(doors: Doors, api: Shop):
    doors.post(LIST, {"email": "c5@example.com"})
    assert recorder.flush()
    assert kept_arguments.flush()
    stored = CallArguments.objects.get()
    assert stored.values == {"email": MASK}
    assert "c5@example.com" not in stored.answer
