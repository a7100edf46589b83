"""Imported operations at the doors: paged, condensed, whole by their own instructions, kept, and called once."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError, connection

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import Record
from context_protection.core.rows import MemoryRows
from context_protection.models import TokenBudget
from gateway.catalog.caller import Caller
from gateway.connectors.openapi import observed_fields
from gateway.connectors.openapi import operations as imported_operations
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.importer.import_plan import Status
from gateway.connectors.openapi.models import ImportedOperation
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.openapi.documents import answering, rows_of
from tests.simulators.shop import CUSTOMERS, LARGE, LOG, ROWS, Shop, shop

MOST = {"offset": 100, "page": 40, "cursor": 30, "link": 100, "last": 100}  # rows of a page
STYLES = list(MOST)


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        yield simulated
    retain(())


def imported(api: Shop, *, actions: bool = False, document: dict[str, Any] | None = None) -> import_plan.Plan:
    data = json.dumps(document or api.document).encode()
    plan = import_plan.plan(data, name="shop", source="shop.json")
    chosen = {each.key for each in plan.proposals if each.operation and (each.operation.is_safe or actions)}
    import_plan.store(plan, chosen=chosen)
    revisions.bump()
    return plan


def named(plan: import_plan.Plan, key: str) -> str:
    return next(f"shop_{each.name}" for each in plan.proposals if each.key == key)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("limit", [50, 30, 200])
def test_every_style_of_paging_is_walked(doors: Doors, api: Shop, style: str, limit: int):
    name = named(imported(api), f"GET /by-{style}")
    walked = crawler.walk(doors.post, name, {"limit": limit})
    assert [row["id"] for row in walked] == list(range(1, ROWS + 1))
    sizes = [int(query.get("limit", query.get("per_page", 0))) for _, _, query, _, _ in api.calls]
    assert len(api.calls) <= ROWS / min(*sizes, MOST[style]) + 2


@pytest.mark.parametrize("style", STYLES)
def test_whole_rows_are_had_by_following_the_answer(doors: Doors, api: Shop, style: str):
    name = named(imported(api), f"GET /by-{style}")
    first = doors.mcp(name, {})
    assert first["meta"]["kind"] == "preview"
    tool, arguments = crawler.details(first["meta"]["detailsAvailable"])
    assert crawler.walk(doors.mcp, tool, arguments) == CUSTOMERS


def test_a_plain_list_a_record_and_a_text_come_whole(doors: Doors, api: Shop):
    plan = imported(api)
    tool, arguments = crawler.details(doors.mcp(named(plan, "GET /all"), {})["meta"]["detailsAvailable"])
    assert crawler.walk(doors.mcp, tool, arguments) == CUSTOMERS[:50]
    assert crawler.record(doors.mcp, named(plan, "GET /customers/{id}"), {"id": "large"}) == LARGE
    assert crawler.text(doors.mcp, named(plan, "GET /log"), {}) == LOG


SHORT = [f"word {number}" for number in range(5000)]


def by_offset(rows: list[Any], most: int) -> Any:
    def serve(query: Any) -> tuple[Any, dict[str, str]]:
        start, size = int(query.get("offset", 0)), min(int(query.get("limit", 20)), most)
        return {"items": rows[start : start + size], "total": len(rows)}, {}

    return serve


@pytest.mark.parametrize("path", ["/all", "/by-offset"])
def test_a_page_without_a_limit_has_as_many_rows_as_fit(doors: Doors, api: Shop, path: str):
    api.odd |= {"/all": SHORT, "/by-offset": by_offset(SHORT, 1000)}
    name = named(imported(api), f"GET {path}")
    answers = [doors.mcp(name, {})]
    while cursor := answers[-1].get("nextCursor"):
        answers.append(doors.mcp(name, {"cursor": cursor}))
    assert len(answers) <= 25
    assert [row["value"] for answer in answers for row in crawler.rows(answer)] == SHORT
    assert len(crawler.rows(doors.mcp(name, {"limit": 30}))) == 30


def test_a_page_without_a_limit_asks_upstream_for_no_more_than_fits(doors: Doors, api: Shop):
    api.odd["/by-offset"] = by_offset([{"id": n, "name": f"{n} ".ljust(200, "x")} for n in range(300)], 100)
    name = named(imported(api), "GET /by-offset")
    answer = doors.mcp(name, {})
    assert 50 < len(crawler.rows(answer)) < 100
    assert answer["meta"]["budgetUsed"] > 0.8
    assert len(api.calls) == 1


def test_a_page_size_that_ops_have_set_is_obeyed(doors: Doors, api: Shop):
    api.odd["/all"] = SHORT
    name = named(imported(api), "GET /all")
    TokenBudget.objects.create(operation=name, default_page_size=40)
    assert len(crawler.rows(doors.mcp(name, {}))) == 40


def test_an_array_where_a_text_was_promised_is_walked(doors: Doors, api: Shop):
    document = api.document
    document["paths"] = {"/words": {"get": {"operationId": "readWords", "responses": answering({"type": "string"})}}}
    api.odd["/words"] = SHORT[:700]
    imported(api, document=document)
    rows = crawler.walk(doors.mcp, "shop_read_words", {})
    assert [row["value"] for row in rows] == SHORT[:700]


def test_equal_calls_ask_upstream_once(doors: Doors, api: Shop):
    name = named(imported(api), "GET /customers/{id}")
    answers = [doors.mcp(name, {"id": "7"}) for _ in range(3)] + [doors.post(name, {"id": "7"})]
    assert len(api.calls) == 1
    assert {answer["name"] for answer in answers} == {"Customer 7"}
    assert len({answer["meta"]["asOf"] for answer in answers}) == 1


def test_an_action_is_off_until_it_is_switched_on_and_is_then_called_once(doors: Doors, api: Shop):
    plan = imported(api)
    name = named(plan, "POST /orders")
    assert doors.post(name, {"customer": 7})["error"]["reason"] == "unknown_operation"
    imported(api, actions=True)
    placed = doors.mcp(name, {"customer": 7, "items": ["a", "b"]})
    tool, arguments = crawler.details(placed["meta"]["detailsAvailable"])
    whole = crawler.from_parts(doors.mcp, tool, arguments)
    assert whole["placed"] == {"customer": 7, "items": ["a", "b"]}
    assert len(whole["lines"]) == 80
    assert api.orders == [{"customer": 7, "items": ["a", "b"]}]


@pytest.mark.parametrize(
    "note",
    [
        {"type": "string", "nullable": True},
        {"type": ["string", "null"]},
        {"enum": ["a", None]},
        {"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "null"}]},
    ],
)
def test_null_empties_a_field_that_may_be_null(doors: Doors, api: Shop, note: dict[str, Any]):
    document = api.document
    schema = {"type": "object", "required": ["note"], "properties": {"note": note, "customer": {"type": "integer"}}}
    document["paths"]["/orders"]["post"]["requestBody"] = {
        "required": True,
        "content": {"application/json": {"schema": schema}},
    }
    name = named(imported(api, document=document, actions=True), "POST /orders")
    for ask in (doors.mcp, doors.post):
        assert "error" not in ask(name, {"note": None, "customer": None})
    assert api.orders == [{"note": None}] * 2, "null for a field that cannot be null is not given"
    assert doors.post(name, {})["error"]["reason"] == "missing_argument"


def test_an_id_of_64_bits_is_given_as_a_text(doors: Doors, api: Shop):
    document, whole = api.document, {"type": "integer", "format": "int64"}
    (parameter,) = document["paths"]["/customers/{id}"]["get"]["parameters"]
    parameter["schema"] = whole
    schema = {"type": "object", "properties": {"customer": whole, "lines": {"type": "array", "items": whole}}}
    document["paths"]["/orders"]["post"]["requestBody"]["content"]["application/json"]["schema"] = schema
    plan = imported(api, document=document, actions=True)
    ids, opened = [2**53 + 1, 2**63 - 1], named(plan, "GET /customers/{id}")
    for each in ids:
        doors.mcp(opened, {"id": str(each)})
        assert api.calls[-1][1] == f"/customers/{each}"
    doors.post(named(plan, "POST /orders"), {"customer": str(ids[0]), "lines": [str(each) for each in ids]})
    assert api.orders == [{"customer": ids[0], "lines": ids}]
    rounded = doors.mcp(opened, {"id": 2**53 + 1})["error"]["data"]
    assert rounded["suggestion"].startswith("Send a longer number as a text")
    too_long = doors.mcp(opened, {"id": str(2**63)})["error"]
    assert "15 digits" in too_long["message"]
    assert too_long["data"]["suggestion"] == "Correct id, or leave it out."


def test_what_upstream_refuses_is_told_with_its_own_words(doors: Doors, api: Shop):
    name = named(imported(api), "GET /customers/{id}")
    error = doors.post(name, {"id": "nobody"})["error"]
    assert (error["code"], error["data"]["upstream"]) == (-32000, {"status": 404, "message": "No such customer."})
    assert len(api.calls) == 1


def test_arguments_are_checked_before_upstream_is_asked(doors: Doors, api: Shop):
    plan = imported(api, actions=True)
    assert doors.post(named(plan, "POST /orders"), {"customer": "seven"})["error"]["data"]["parameter"] == "customer"
    assert doors.post(named(plan, "GET /customers/{id}"), {"id": "../orders"})["error"]["data"]["parameter"] == "id"
    assert doors.post(named(plan, "GET /by-offset"), {"offset": 3})["error"]["reason"] == "unknown_argument"
    assert api.calls == []


def test_where_and_aggregate_ask_all_of_upstreams_rows(doors: Doors, api: Shop):
    name = named(imported(api), "GET /by-offset")
    found = crawler.walk(doors.post, name, {"where": {"balance": {"gte": 1000}}, "limit": 10})
    assert [row["id"] for row in found] == list(range(100, ROWS + 1))
    groups = doors.post(name, {"aggregate": {"groupBy": ["status"], "metrics": [{"op": "count"}]}})["groups"]
    assert sum(group["count"] for group in groups) == ROWS


def test_an_import_again_shows_what_changed_and_keeps_what_was_edited(doors: Doors, api: Shop):
    imported(api)
    ImportedOperation.objects.filter(key="GET /all").update(name="everyone", description="All of them.", enabled=False)
    document = api.document
    del document["paths"]["/by-link"]
    document["paths"]["/by-page"]["get"]["parameters"].append(
        {"name": "city", "in": "query", "schema": {"type": "string"}}
    )
    plan = import_plan.plan(json.dumps(document).encode(), name="shop", source="shop.json")
    states = {each.key: each.status for each in plan.proposals}
    assert states["GET /by-link"] is Status.GONE
    assert states["GET /by-page"] is Status.CHANGED
    assert states["GET /by-offset"] is Status.UNCHANGED
    assert next(each.changes for each in plan.proposals if each.key == "GET /by-page") == ("argument city is new",)
    import_plan.store(plan, chosen={each.key for each in plan.proposals if each.chosen})
    kept = ImportedOperation.objects.get(key="GET /all")
    assert (kept.name, kept.description, kept.enabled) == ("everyone", "All of them.", False)
    assert ImportedOperation.objects.get(key="GET /by-link").is_gone


def test_a_tool_of_a_disabled_api_is_not_there(doors: Doors, api: Shop):
    name = named(imported(api), "GET /all")
    upstream = UpstreamApi.objects.get(name="shop")
    upstream.enabled = False
    upstream.save()
    revisions.bump()
    assert doors.post(name, {})["error"]["reason"] == "unknown_operation"


def test_a_document_without_an_address_is_not_stored_without_one(db: None, api: Shop):
    document = {**api.document, "servers": [{"url": "/v1"}]}
    plan = import_plan.plan(json.dumps(document).encode(), name="shop", source="shop.json")
    with pytest.raises(InvalidArgument, match="has no address of the API"):
        import_plan.store(plan, chosen=())
    named_by_its_source = import_plan.plan(
        json.dumps(document).encode(), name="shop", source="https://shop.example.com/docs/openapi.json"
    )
    assert named_by_its_source.base_url == "https://shop.example.com/v1"


def test_its_first_answers_teach_what_rows_show(doors: Doors, api: Shop):
    name = named(imported(api), "GET /by-offset")
    doors.post(name, {})
    row = ImportedOperation.objects.get(key="GET /by-offset")
    assert "name" in row.learned["row"]
    assert "history" not in row.learned["row"]


def test_records_as_large_as_all_that_is_examined_teach_at_once(doors: Doors, api: Shop):
    """They would be held in memory until there are enough."""
    name = named(imported(api), "GET /customers/{id}")
    api.odd["/customers/2"] = {**CUSTOMERS[1], "notes": "n" * observed_fields.MAX_BYTES}
    learned = []
    for number in "12":
        doors.post(name, {"id": number})
        learned.append(ImportedOperation.objects.get(key="GET /customers/{id}").learned.get("row"))
    assert not learned[0]
    assert "email" in learned[1]


@pytest.mark.parametrize("is_list_first", [True, False])
def test_two_operations_of_one_address_share_its_answer_and_each_reads_it_by_itself(
    api: Shop, caller: Caller, is_list_first: bool
):
    document = api.document
    parts = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in ("shop", "part")]
    rows = answering(rows_of("data"))
    api.odd["/shops/a/orders"] = {"data": CUSTOMERS[:60]}
    one = answering({"type": "object", "properties": {"id": {"type": "integer"}}})
    document["paths"]["/shops/{shop}/orders"] = {"get": {"parameters": parts[:1], "responses": rows}}
    document["paths"]["/shops/{shop}/{part}"] = {"get": {"parameters": parts, "responses": one}}
    plan = imported(api, document=document)
    operations = {each.name: each for each in imported_operations.operations()}
    listing = operations[named(plan, "GET /shops/{shop}/orders")].fetch
    record = operations[named(plan, "GET /shops/{shop}/{part}")].fetch

    async def both() -> list[Any]:
        calls = [listing({"shop": "a"}, caller), record({"shop": "a", "part": "orders"}, caller)]
        found = await asyncio.gather(*(calls if is_list_first else reversed(calls)))
        return found if is_list_first else found[::-1]

    list_of, record_of = async_to_sync(both)()
    assert len(api.calls) == 1
    assert isinstance(list_of.payload, MemoryRows)
    assert isinstance(record_of.payload, Record)
    assert record_of.payload.value == {"data": CUSTOMERS[:60]}


@pytest.mark.parametrize("path", ["/all", "/by-offset"])
def test_the_rows_of_the_first_answer_have_the_fields_that_it_taught(doors: Doors, api: Shop, path: str):
    document = api.document
    brief = {"type": "object", "properties": {"id": {"type": "integer"}, "nickname": {"type": "string"}}}
    rows = {"type": "array", "items": brief}
    schema = rows if path == "/all" else {"type": "object", "properties": {"items": rows}}
    document["paths"][path]["get"]["responses"] = answering(schema)
    name = named(imported(api, document=document), f"GET {path}")
    first = doors.mcp(name, {"limit": 20})
    revisions.bump()  # outside of a test's transaction, storing them does
    assert {"id", "name", "status"} <= set(first["meta"]["projectedFields"])
    following = doors.mcp(name, {"cursor": first["nextCursor"]})
    forms = {tuple(row) for answer in (first, following) for row in crawler.rows(answer)}
    assert forms == {tuple(first["meta"]["projectedFields"])}


def locked(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    """A database that is read, and whose operations cannot be written."""
    if sql.startswith('UPDATE "openapi_importedoperation"'):
        raise OperationalError(f"database is locked: {params}")
    return execute(sql, params, many, context)


def test_an_answer_leaves_though_nothing_can_be_learned_from_it(
    doors: Doors, api: Shop, caplog: pytest.LogCaptureFixture
):
    document = api.document
    document["paths"]["/customers"] = {"get": {"operationId": "listCustomers", "responses": {}}}
    plan = imported(api, document=document, actions=True)
    with connection.execute_wrapper(locked):
        walked = crawler.walk(doors.post, named(plan, "GET /by-offset"), {"limit": 50})
        found = doors.post(named(plan, "GET /customers"), {})
        placed = [doors.post(named(plan, "POST /orders"), {"customer": 1}) for _ in range(observed_fields.ENOUGH)]
    assert [row["id"] for row in walked] == list(range(1, ROWS + 1))
    assert not any("error" in each for each in [found, *placed])
    assert len(api.orders) == observed_fields.ENOUGH
    said = [each for each in caplog.records if each.name == observed_fields.__name__]
    assert {each.levelname for each in said} == {"WARNING"}
    assert "Customer 1" not in str([vars(each) for each in said])
    doors.post(named(plan, "GET /by-offset"), {"limit": 90})
    assert ImportedOperation.objects.get(key="GET /by-offset").learned  # as soon as it can be


def test_a_document_and_answers_with_nul_in_them_are_kept_all_the_same(doors: Doors, api: Shop):
    document = api.document
    listed = document["paths"]["/all"]["get"]
    listed["summary"], listed["parameters"] = (
        "All\0 of them",
        [{"name": "kind", "in": "query", "schema": {"type": "string", "enum": ["a\0b", "c"]}}],
    )
    document["paths"]["/o\0dd"] = {"get": {"responses": {"200": {"description": "ok"}}}}
    plan = imported(api, document=document)
    assert import_plan.plan(json.dumps(document).encode(), name="shop", source="shop.json").counts[Status.CHANGED] == 0
    api.extra = {"na\0me": "x"}
    assert "error" not in doors.post(named(plan, "GET /all"), {})


def test_rows_are_found_by_their_words_in_a_plain_list_and_in_one_that_upstream_pages(doors: Doors, api: Shop):
    api.odd["/all"] = [{"id": 1, "name": "Zoë Ångström"}, {"id": 2, "tags": ["angstrom"]}, {"id": 3, "name": "Zoe"}]
    plan = imported(api)
    for ask in (doors.mcp, doors.post):
        rows = crawler.rows(ask(named(plan, "GET /all"), {"search": "ANGSTROM"}))
        assert [row["id"] for row in rows] == [1, 2]
    for style in STYLES:
        name = named(plan, f"GET /by-{style}")
        expected = [row["id"] for row in CUSTOMERS if "customer 11" in row["name"].lower()]
        first = doors.mcp(name, {"search": "11 customer", "limit": 3})
        assert first["meta"]["totalCount"] == len(expected) > 3
        assert [row["id"] for row in crawler.walk(doors.mcp, name, {"search": "11 customer", "limit": 3})] == expected


def test_an_argument_of_upstreams_named_search_is_upstreams(doors: Doors, api: Shop):
    document = api.document
    own = {"name": "search", "in": "query", "schema": {"type": "string"}}
    for path in ("/all", "/by-offset"):
        document["paths"][path]["get"].setdefault("parameters", []).append(own)
    plan = imported(api, document=document)
    for path in ("/all", "/by-offset"):
        rows = crawler.rows(doors.mcp(named(plan, f"GET {path}"), {"search": "nobody has this", "limit": 5}))
        assert [row["id"] for row in rows] == [1, 2, 3, 4, 5]
        assert api.calls[-1][2]["search"] == "nobody has this"


def test_an_imported_text_is_searched_by_line(doors: Doors, api: Shop):
    name = named(imported(api), "GET /log")
    first = doors.mcp(name, {"search": "log 399"})
    assert first["meta"]["totalCount"] == 14
    found = [400, 1400, 2400, 3400, *range(3991, 4001)]
    assert [row["line"] for row in crawler.walk(doors.mcp, name, {"search": "log 399"})] == found
    following = doors.mcp(name, {"cursor": first["nextCursor"]})
    assert len(following["items"]) == 5, "a page is not longer than the first"
