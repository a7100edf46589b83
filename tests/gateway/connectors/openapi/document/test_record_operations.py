"""A list's rows are opened by the operation that the document has for one of them, and by the key that this takes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.connectors.openapi.document.description import ApiDocument, DocumentedOperation, RowLookup
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.models import ImportedOperation
from gateway.upstreams.registry import retain
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.openapi.documents import answering, query, read
from tests.simulators.shop import CUSTOMERS, Shop, shop

WHOLE, TEXT = {"type": "integer"}, {"type": "string"}


def rows(**properties: Any) -> dict[str, Any]:
    return answering({"type": "array", "items": {"type": "object", "properties": properties}})


def placed(path: str, schema: dict[str, Any], parameters: list[Any] | None = None) -> dict[str, Any]:
    names = [part[1:].partition("}")[0] for part in path.split("/") if part.startswith("{") and part != "{}"]
    in_path = [{"name": name, "in": "path", "required": True, "schema": schema} for name in names]
    return {"parameters": [*in_path, *(parameters or [])]}


def document(
    listing: str, record: str, wanted: dict[str, Any], parameters: list[Any] | None = None, **properties: Any
) -> ApiDocument:
    one = answering({"type": "object", "properties": properties})
    return read(
        {
            listing: {"get": {**placed(listing, TEXT), "responses": rows(**properties)}},
            record: {"get": {**placed(record, wanted, parameters), "responses": one}},
        }
    )


def opened(*args: Any, **properties: Any) -> RowLookup | None:
    return document(*args, **properties).operations[0].opened_by


@pytest.mark.parametrize(
    ("listing", "record", "wanted", "properties", "argument", "field"),
    [
        ("/orders", "/orders/{id}", TEXT, {"id": TEXT}, "id", "id"),
        ("/orders", "/orders/{orderId}", TEXT, {"id": WHOLE, "orderId": TEXT}, "orderId", "orderId"),
        ("/orders", "/orders/{orderId}", TEXT, {"id": WHOLE, "order_id": TEXT}, "orderId", "order_id"),
        ("/orders", "/orders/{orderId}", TEXT, {"id": WHOLE}, "orderId", "id"),
        ("/orders", "/orders/{order}", TEXT, {"id": TEXT, "name": TEXT}, "order", "id"),
        ("/orders", "/orders/{order}", TEXT, {"name": TEXT}, "order", "name"),
        ("/issues", "/issues/{issue_number}", WHOLE, {"id": WHOLE, "number": WHOLE}, "issue_number", "number"),
        ("/pulls", "/pulls/{pr_number}", WHOLE, {"id": WHOLE, "number": WHOLE}, "pr_number", "number"),
        ("/v1/price-lists", "/v1/price-lists/{priceListCode}", TEXT, {"code": TEXT}, "priceListCode", "code"),
        ("/orders/", "/orders/{id}/", TEXT, {"id": TEXT}, "id", "id"),
        ("/orders.json", "/orders/{id}.json", TEXT, {"id": WHOLE}, "id", "id"),
        ("/orders", "/orders/{fields}", TEXT, {"fields": TEXT}, "api_fields", "fields"),
    ],
)  # fmt: skip
def test_the_key_is_what_the_document_calls_so(listing, record, wanted, properties, argument, field):
    assert opened(listing, record, wanted, **properties) == RowLookup(f"GET {record}", argument, field, {})


@pytest.mark.parametrize(
    ("listing", "record", "wanted", "properties"),
    [
        ("/users", "/users/{username}", TEXT, {"id": WHOLE, "login": TEXT}),  # an id is not a user's name
        ("/orders", "/orders/{order}", TEXT, {"id": WHOLE, "name": TEXT}),  # either may be meant
        ("/orders", "/orders/{id}", WHOLE, {"id": TEXT}),
        ("/orders", "/orders/{id}", TEXT, {"id": {"type": "object"}}),
        ("/orders", "/orders/{id}/lines", TEXT, {"id": TEXT}),
        ("/orders", "/items/{id}", TEXT, {"id": TEXT}),
        ("/orders", "/orders/v{id}", TEXT, {"id": TEXT}),
        ("/orders", "/orders/{id}", TEXT, {}),
        ("/shops/{}/orders", "/shops/{shop}/orders/{id}", TEXT, {"id": TEXT}),  # {} is no parameter
        ("/shops/{shop}/orders", "/shops/{}/orders/{id}", TEXT, {"id": TEXT}),
    ],
)  # fmt: skip
def test_what_may_be_another_key_opens_nothing(listing, record, wanted, properties):
    assert opened(listing, record, wanted, **properties) is None


def test_what_the_list_was_called_with_goes_along():
    both = ("/shops/{shop}/orders", "/shops/{shopId}/orders/{id}")
    assert opened(*both, TEXT, id=TEXT) == RowLookup(f"GET {both[1]}", "id", "id", {"shopId": "shop"})


def test_a_record_that_wants_more_than_the_list_is_not_promised():
    assert opened("/orders", "/orders/{id}", TEXT, [query("region", required=True)], id=TEXT) is None
    assert opened("/orders", "/orders/{id}", TEXT, [query("region")], id=TEXT) is not None


def test_it_is_kept_with_its_operation():
    (listing, _) = document("/orders", "/orders/{id}", TEXT, id=TEXT).operations
    assert DocumentedOperation.from_document(json.loads(json.dumps(listing.document()))) == listing


# -- At the doors -----------------------------------------------------------------------------------


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        yield simulated
    retain(())


def imported(api: Shop, *on: str) -> None:
    """With lists whose rows have records: all are on, or these."""
    document = api.document
    customers = {"type": "object", "properties": {"customers": {"type": "array", "items": CUSTOMER}}}
    order = {"id": WHOLE, "number": TEXT, "note": TEXT, "lines": {"type": "array", "items": {"type": "object"}}}
    orders, one = "/shops/{shop}/orders", "/shops/{shop}/orders/{orderNumber}"
    document["paths"] = {
        "/customers": {"get": {"responses": answering(customers)}},
        "/customers/{id}": {"get": document["paths"]["/customers/{id}"]["get"]},
        orders: {"get": {**placed(orders, TEXT), "responses": rows(**order)}},
        one: {"get": {**placed(one, TEXT), "responses": answering({"type": "object", "properties": order})}},
    }
    plan = import_plan.plan(json.dumps(document).encode(), name="shop", source="shop.json")
    import_plan.store(plan, chosen=on or [each.key for each in plan.proposals])
    revisions.bump()


CUSTOMER = {"$ref": "#/components/schemas/Customer"}
ORDERS, ORDER = "shop_list_shop_orders", "shop_get_shop_order"


def opening_of(answer: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return crawler.details(answer["meta"]["detailsAvailable"]["each"])


def filled(arguments: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """As a reader fills a placeholder in: with the row's field of that name."""
    return {name: value.format(**row) if "{" in str(value) else value for name, value in arguments.items()}


def test_each_row_is_opened_as_the_list_says(doors: Doors, api: Shop):
    imported(api)
    answer = doors.mcp("shop_list_customers", {})
    tool, arguments = opening_of(answer)
    assert (tool, arguments) == ("shop_get_customer", {"id": "{id}", "fields": "all"})
    for row in crawler.rows(answer)[:5]:
        whole = crawler.from_parts(doors.mcp, tool, filled(arguments, row))
        assert whole == CUSTOMERS[row["id"] - 1]


def test_a_row_is_opened_by_its_own_key_and_with_the_arguments_of_its_list(doors: Doors, api: Shop):
    imported(api)
    answer = doors.mcp(ORDERS, {"shop": "mill"})
    tool, arguments = opening_of(answer)
    assert (tool, arguments) == (ORDER, {"shop": "mill", "orderNumber": "{number}", "fields": "all"})
    row = crawler.rows(answer)[7]
    assert crawler.from_parts(doors.mcp, tool, filled(arguments, row))["whole"]
    assert doors.post(ORDERS, {"shop": "mill"})["meta"]["detailsAvailable"]["each"]["parameters"] == arguments


def test_pages_further_on_do_not_repeat_it(doors: Doors, api: Shop):
    imported(api)
    first = doors.mcp(ORDERS, {"shop": "mill", "limit": 20})
    second = doors.mcp(ORDERS, {"shop": "mill", "limit": 20, "cursor": first["nextCursor"]})
    assert opening_of(first)
    assert "detailsAvailable" not in second["meta"]


def test_it_is_said_by_the_name_that_the_tool_has_now(doors: Doors, api: Shop):
    imported(api)
    for _ in range(2):  # the second after its fields were learned from the first
        assert opening_of(doors.mcp(ORDERS, {"shop": "mill"}))[0] == ORDER
        revisions.bump()
    one = ImportedOperation.objects.get(name="get_shop_order")
    one.name = "open_order"
    one.save()
    revisions.bump()
    assert opening_of(doors.mcp(ORDERS, {"shop": "mill"}))[0] == "shop_open_order"


def test_a_record_that_upstream_does_not_have_is_looked_for_in_its_list(doors: Doors, api: Shop):
    imported(api)
    error = doors.mcp("shop_get_customer", {"id": "987654"})["error"]
    assert (error["data"]["parameter"], error["data"]["value"]) == ("id", "987654")
    assert error["data"]["suggestion"] == "Find the id with shop_list_customers."
    doors.choose(hidden_tools=["shop_list_customers"])
    assert "shop_list_customers" not in str(doors.mcp("shop_get_customer", {"id": "987655"}))


def test_what_is_off_or_hidden_is_not_promised(doors: Doors, api: Shop):
    imported(api)
    doors.choose(hidden_tools=[ORDER])
    assert "each" not in doors.mcp(ORDERS, {"shop": "mill"})["meta"]["detailsAvailable"]
    doors.choose(hidden_tools=[])
    imported(api, "GET /shops/{shop}/orders")
    assert "each" not in doors.mcp(ORDERS, {"shop": "mill"})["meta"]["detailsAvailable"]


def test_where_rows_do_not_show_their_key_nothing_promises_that_they_do(doors: Doors, api: Shop):
    imported(api)
    TokenBudget.objects.create(operation=ORDERS, summary_fields="note")
    revisions.bump()
    answer = doors.mcp(ORDERS, {"shop": "mill"})
    assert "number" not in crawler.rows(answer)[0]
    assert "each" not in answer["meta"]["detailsAvailable"]


def test_a_row_that_is_too_large_is_had_as_it_is_in_the_list(doors: Doors, api: Shop):
    """Its record may be another."""
    imported(api)
    TokenBudget.objects.create(operation=ORDERS, hard_cap=1000, token_budget_threshold=500)
    revisions.bump()
    answer = doors.mcp(ORDERS, {"shop": "mill", "fields": "all"})
    tool, arguments = crawler.details(crawler.rows(answer)[0]["detailsAvailable"])
    assert tool == "result_get"
    whole = crawler.from_parts(doors.mcp, tool, arguments)
    assert "whole" not in json.dumps(whole)
    assert whole["note"].startswith("as it was ordered")


def test_a_key_that_is_a_number_is_given_as_the_text_that_its_record_takes(doors: Doors, api: Shop):
    imported(api)
    api.extra = {"story": "how it came to the shop " * 500}
    TokenBudget.objects.create(operation="shop_list_customers", hard_cap=1000, token_budget_threshold=500)
    revisions.bump()
    doors.choose(hidden_tools=["result_get"])
    (row,) = crawler.rows(doors.mcp("shop_list_customers", {"fields": "all", "limit": 1}))
    tool, arguments = crawler.details(row["detailsAvailable"])
    assert (tool, arguments) == ("shop_get_customer", {"id": "1", "fields": "all"})
    assert crawler.from_parts(doors.mcp, tool, arguments) == CUSTOMERS[0]


def test_rows_show_their_key_also_where_other_fields_tell_more(doors: Doors, api: Shop):
    imported(api)
    learned = {"row": ["id"], "preview": ["note"], "sections": {}, "known": []}
    ImportedOperation.objects.filter(name="list_shop_orders").update(learned=learned)
    revisions.bump()
    answer = doors.mcp(ORDERS, {"shop": "mill"})
    assert list(crawler.rows(answer)[0]) == ["number", "id"]
    assert opening_of(answer)[1]["orderNumber"] == "{number}"
