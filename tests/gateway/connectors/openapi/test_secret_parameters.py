"""Arguments of an imported API that have a secret's name: none finds a secret out, and none comes back."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.configuration.revisions import revisions
from gateway.access.models import ApiKey
from gateway.connectors.openapi.importer import import_plan
from gateway.upstreams.registry import retain
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.doors import Doors
from tests.gateway.connectors.openapi.documents import answering
from tests.simulators.shop import Shop, shop

pytestmark = pytest.mark.django_db
CANARY = "Zx4711q"
TEXT = {"type": "string"}
LIST, RECORD, SET, LOCK = "shop_list_customers", "shop_get_customer", "shop_set_code", "shop_lock"


def parameter(name: str, where: str = "query", **more: Any) -> dict[str, Any]:
    return {"name": name, "in": where, "schema": TEXT, **more}


def deep(name: str, *below: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": dict.fromkeys(below, TEXT)}
    return {"name": name, "in": "query", "style": "deepObject", "explode": True, "schema": schema}


ROWS = answering({"type": "array", "items": {"type": "object", "properties": {"id": TEXT}}})
ONE = answering({"type": "object", "properties": {"id": TEXT}})
BODY = {
    "type": "object",
    "properties": {"doorCode": {"type": "string", "maxLength": 10}, "pin": {"type": "integer"}, "note": TEXT},
}
PATHS = {
    "/all": {
        "get": {
            "operationId": "listCustomers",
            "parameters": [
                parameter("city"),
                parameter("doorCode"),
                parameter("sort"),
                parameter("resort_name"),
                parameter("orderStatus"),
                deep("filter", "status", "gateCode"),
            ],
            "responses": ROWS,
        }
    },
    "/customers/large": {
        "get": {
            "operationId": "getCustomer",
            "parameters": [parameter("password", required=True), parameter("X-Door-Code", "header")],
            "responses": ONE,
        }
    },
    "/orders": {
        "post": {
            "operationId": "setCode",
            "requestBody": {"required": True, "content": {"application/json": {"schema": BODY}}},
            "responses": ONE,
        }
    },
    "/locks/{doorCode}": {
        "post": {
            "operationId": "lock",
            "parameters": [parameter("doorCode", "path", required=True)],
            "responses": ONE,
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
        revisions.bump()
        yield simulated
    retain(())


@pytest.fixture
def insider(db: None) -> Doors:
    _, secret = ApiKey.objects.issue("insider", reveal=["doorCode", "filter.gateCode"])
    revisions.bump()
    return Doors(secret)


QUESTIONS = [
    (LIST, {"doorCode": CANARY}, "doorCode"),
    (LIST, {"city": "Springfield", "doorCode": "x"}, "doorCode"),
    (LIST, {"filter": {"status": "active", "gateCode": CANARY}}, "filter.gateCode"),
    (LIST, {"filter": {"status": "active", "door_code": CANARY}}, "filter.door_code"),
    (LIST, {"sort": "city,pin:desc"}, "sort"),
    (RECORD, {"password": "mine", "X-Door-Code": CANARY}, "X-Door-Code"),
]


@pytest.mark.parametrize(("tool", "arguments", "name"), QUESTIONS)
def test_what_reads_is_not_asked_by_a_secret(doors: Doors, api: Shop, tool: str, arguments: dict[str, Any], name: str):
    for answer in (doors.post(tool, arguments), doors.mcp(tool, arguments)):
        error = answer["error"]
        assert (error["reason"], error["data"]["parameter"]) == ("withheld_field", name)
        assert "Revealed fields" in error["message"]
        assert f"Leave {name} out" in error["data"]["suggestion"]
        assert CANARY not in json.dumps(answer)
    assert api.calls == []


@pytest.mark.parametrize("arguments", [{"resort_name": "The Secret Garden"}, {"orderStatus": "pass"}])
def test_an_argument_that_does_not_sort_may_be_called_as_a_secret_is(
    doors: Doors, api: Shop, arguments: dict[str, Any]
):
    for answer in (doors.post(LIST, arguments), doors.mcp(LIST, arguments)):
        assert "error" not in answer
    assert api.calls


def test_a_key_asks_by_what_it_reveals(insider: Doors, api: Shop):
    assert "error" not in insider.post(LIST, {"doorCode": CANARY, "sort": "doorCode", "filter": {"gateCode": "5"}})
    assert api.calls[-1][2] == {"doorCode": CANARY, "sort": "doorCode", "filter[gateCode]": "5"}
    assert insider.post(LIST, {"filter": {"wifiPassword": "x"}})["error"]["reason"] == "withheld_field"


def test_tools_that_read_do_not_list_what_cannot_be_asked(doors: Doors, api: Shop):
    def properties(tool: str) -> set[str]:
        return set(doors.mcp("describe_tool", {"name": tool, "fields": "all"})["inputSchema"]["properties"])

    assert "doorCode" not in properties(LIST)
    assert {"city", "filter"} <= properties(LIST)
    assert "password" in properties(RECORD), "required: the caller must know it"
    assert "X-Door-Code" not in properties(RECORD)
    assert {"doorCode", "pin", "note"} <= properties(SET), "inputs of what acts"
    error = doors.post(LIST, {"dorCode": 1})["error"]
    assert "doorCode" not in error["data"]["expected"] + error["data"]["suggestion"]


def test_a_required_secret_of_what_reads_is_sent(doors: Doors, api: Shop):
    assert "error" not in doors.post(RECORD, {"password": CANARY})
    assert api.calls[-1][2] == {"password": CANARY}


def test_what_acts_takes_secrets_and_gives_none_back(doors: Doors, api: Shop, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    given = {"doorCode": CANARY, "pin": 4711147111, "note": "new"}
    answers = [doors.post(SET, given), doors.mcp(SET, given), doors.mcp(LOCK, {"doorCode": CANARY})]
    assert api.orders == [given, given], "upstream gets them"
    assert api.calls[-1][1] == f"/locks/{CANARY}"
    recorder.flush()
    told = [*answers, caplog.text, *(vars(record) for record in caplog.records)]
    told += list(TelemetryRecord.objects.values())
    assert TelemetryRecord.objects.filter(operation=SET).count() == 2
    for each in told:
        assert CANARY not in str(each)
        assert str(given["pin"]) not in str(each)


@pytest.mark.parametrize(
    "arguments",
    [
        {"doorCode": CANARY * 2},
        {"pin": f"{CANARY}"},
        {"pin": "47113.5"},
        {"pin": 47113.5},
        {"doorCode": CANARY, "pin": 1, "note": {"of": 3}},
        {"doorCode": {"of": CANARY}},
        {"doorCode": f"{CANARY}\0"},
        {"doorCodes": CANARY},
    ],
)
def test_an_error_does_not_repeat_a_secret(doors: Doors, api: Shop, arguments: dict[str, Any]):
    answer = doors.post(SET, arguments)
    assert answer["error"]["data"]["parameter"]
    assert CANARY not in json.dumps(answer)
    assert "47113" not in json.dumps(answer)
    assert api.calls == []
