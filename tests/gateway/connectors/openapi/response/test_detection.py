"""An operation whose document does not say what it answers is a list from its first answer on that is one."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_protection.configuration.revisions import revisions
from context_protection.core.policy import Kind
from gateway.access.callers import caller_of_key
from gateway.connectors.openapi.document.description import DocumentedOperation
from gateway.connectors.openapi.document.paging import PagingStyle
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.importer.import_plan import Status
from gateway.connectors.openapi.models import ImportedOperation
from gateway.connectors.openapi.response import answers, detection
from gateway.mcp.tools import tool_list_of
from gateway.upstreams.registry import retain
from gateway.upstreams.request import Response
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.openapi.documents import answering, operation, query
from tests.simulators.shop import CUSTOMERS, LARGE, ROWS, Shop, shop

SILENT = {"200": {"description": "ok"}}
ROW = {"id": 1, "name": "a"}


@pytest.mark.parametrize(
    ("responses", "kind_is_unknown"),
    [
        (SILENT, True),
        ({}, True),
        ({"200": {"description": "ok", "content": {"application/json": {}}}}, True),
        (answering({}), True),
        (answering({"type": "object"}), True),
        (answering({"type": "string"}), False),
        (answering({"type": "object", "properties": {"id": {}}}), False),
        (answering({"type": "object", "additionalProperties": {"type": "string"}}), False),
        ({"200": {"description": "ok", "content": {"image/png": {}}}}, False),
        ({"200": {"description": "ok", "content": {"text/plain": {"schema": {"type": "string"}}}}}, False),
    ],
)
def test_a_document_says_what_is_answered_or_does_not(responses, kind_is_unknown):
    made = operation({"responses": responses})
    assert made.kind_is_unknown is kind_is_unknown
    assert made.kind is not Kind.LIST


@pytest.mark.parametrize(
    ("path", "body", "rows"),
    [
        ("/things", [ROW], ""),
        ("/things", [], None),
        ("/things", ["a"], None),
        ("/things", {"data": [ROW], "total": 1}, "data"),
        ("/things", {"data": {"items": [ROW]}}, "data.items"),
        ("/things", {"things": [], "count": 0}, None),
        ("/things", {"things": [ROW], "count": 1}, "things"),
        ("/users", {"results": [ROW], "success": True, "errors": []}, "results"),
        ("/things", {"errors": [ROW]}, None),
        ("/things", {"data": [ROW], "errors": [ROW]}, None),
        ("/things", {"success": False, "data": [ROW]}, None),
        ("/health", {"status": "ok", "checks": [ROW]}, None),
        ("/profile", {"username": "a", "items": [ROW]}, None),
        ("/things/{id}", {"id": 1, "name": "a", "items": [ROW]}, None),
        ("/things", {"id": 1, "items": [ROW]}, None),
        ("/things", {"name": "a", "tags": ["b"]}, None),
        ("/things", {}, None),
        ("/things", "text", None),
        ("/things", None, None),
        ("/things", {"a": [ROW], "b": [ROW]}, None),
    ],
)
def test_an_answer_tells_where_its_rows_are(path, body, rows):
    seen = detection.detect(operation({"responses": SILENT}, path), body, ())
    assert (seen.rows if seen else None) == rows


ROWS_OF_OWN = [{"id": n, "name": f"Berth {n}", "state": "free"} for n in range(12)]


@pytest.mark.parametrize(
    ("body", "rows"),
    [
        ({"kind": "events", "summary": "Quay", "timeZone": "UTC", "items": ROWS_OF_OWN}, "items"),
        ({"totalSize": 5, "done": True, "records": ROWS_OF_OWN}, "records"),
        ({"result": ROWS_OF_OWN, "errors": [], "messages": [], "success": True, "result_info": {"page": 1}}, "result"),
        ({"kind": "events", "summary": "Quay", "items": ROWS_OF_OWN[:2]}, None),
        ({"kind": "events", "summary": "Quay", "items": [{"text": "x" * 60}] * 5}, None),
        ({"kind": "events", "summary": "Quay" * 60, "items": ROWS_OF_OWN}, None),
        ({"Id": 7, "customer": "Quay", "items": ROWS_OF_OWN}, None),
        ({"summary": "Quay", "success": False, "items": ROWS_OF_OWN}, None),
        ({"summary": "Quay", "checks": ROWS_OF_OWN}, None),
        ({"summary": "Quay", "errors": ROWS_OF_OWN}, None),
    ],
)
def test_records_with_ids_are_rows_though_what_is_around_them_is_not_typical(body, rows):
    seen = detection.detect(operation({"responses": SILENT}, "/things"), body, ())
    assert (seen.rows if seen else None) == rows


NAMES = st.sampled_from(["id", "data", "items", "results", "things", "total", "next", "meta", "notes", "page"])
BODIES = st.recursive(
    st.sampled_from([None, True, 0, 1.5, "a"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(NAMES, below, max_size=4),
    max_leaves=15,
)


@given(BODIES, st.sampled_from(["/things", "/things/{id}"]), st.booleans())
@example({"page": {"items": [[{"a": 1}]], "total": 1}}, "/things", False)
@example({"data": {"things": ["a", {"a": 1}]}}, "/things", False)
@example({"alpha": [{"a": 1}], "beta": ["x"]}, "/others", False)
@example({"data": {"items": {"things": [ROW]}}}, "/things", True)
def test_the_form_of_a_response_decides_where_its_rows_are(body: Any, path: str, is_paged: bool):
    whole = detection._inferred(body, ()).rows(path, is_paged=is_paged)
    assert detection.rows_in(body, path, is_paged=is_paged) == whole


def test_where_the_rows_are_is_decided_once_for_responses_of_one_form():
    detection._known_rows.cache_clear()
    for n in range(5):
        assert detection.rows_in({"data": [{"a": n}], "total": n}, "/things", is_paged=False) == "data"
    assert detection._known_rows.cache_info().misses == 1
    wide = {f"part{n}": {f"part{n}": n for n in range(20)} for n in range(detection.KNOWN_NAMES // 20)}
    assert detection.rows_in(wide, "/things", is_paged=False) is None
    assert detection._known_rows.cache_info().currsize == 1


@pytest.mark.parametrize("name", ["issues", "messages"])
def test_a_paged_answer_may_call_its_rows_as_it_likes(name):
    paged = operation({"responses": SILENT, "parameters": [query("startAt", {"type": "integer"})]}, "/search")
    seen = detection.detect(paged, {"startAt": 0, "maxResults": 50, "pin_count": 0, name: ROWS_OF_OWN}, ())
    assert seen
    assert seen.rows == name
    assert detection.detect(paged, {"startAt": 0, "pin_count": 0, "errors": ROWS_OF_OWN}, ()) is None


def test_an_answer_and_the_parameters_tell_how_it_is_paged():
    made = operation({"parameters": [query("limit"), query("offset", {"type": "integer"}), query("kind")]})
    seen = detection.detect(made, {"items": [ROW], "total": 3}, ())
    assert seen
    assert seen.paging
    assert (seen.paging.style, seen.paging.total) == (PagingStyle.OFFSET, "total")
    assert list(detection.as_list(made, seen).parameters) == ["kind"]
    assert detection.DetectedList.from_document(json.loads(json.dumps(seen.document()))) == seen
    offset = query("offset", {"type": "integer"})
    whole = operation({"parameters": [offset, *(query(f"a long name of {n}" * 9) for n in range(99))]})
    seen = detection.detect(whole, {"items": [ROW], "total": 3}, ())
    assert seen
    assert "offset" in (whole.shown or {})
    assert "offset" not in (detection.as_list(whole, seen).shown or {"offset": {}})
    linked = detection.detect(operation({"parameters": [query("page")]}), [ROW], ["Link"])
    assert linked
    assert linked.paging
    assert linked.paging.style is PagingStyle.LINK


# -- At the doors -----------------------------------------------------------------------------------


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        imported(simulated)
        yield simulated
    retain(())


def imported(api: Shop) -> import_plan.Plan:
    """Without a word on what is answered."""
    document = api.document
    for item in document["paths"].values():
        for node in item.values():
            node["responses"] = SILENT
    document["paths"]["/customers"] = {"get": {"operationId": "listCustomers", "responses": SILENT}}
    data = json.dumps(document).encode()
    plan = import_plan.plan(data, name="shop", source="shop.json")
    import_plan.store(plan, chosen=[each.key for each in plan.proposals])
    revisions.bump()
    return plan


def tool(key: str) -> str:
    return f"shop_{ImportedOperation.objects.get(key=key).name}"


def kind_of(doors: Doors, name: str) -> bool:
    """Whether it is published as a list."""
    doors.choose(tool_listing="all")
    listing = tool_list_of(caller_of_key(doors.key))
    return any(
        "where" in each.tool.input_schema["properties"] for each in listing.definitions if each.tool.name == name
    )


@pytest.mark.parametrize("path", ["/all", "/customers"])
def test_the_first_answer_is_a_list_already_and_all_of_it_is_had(doors: Doors, api: Shop, path: str):
    name = tool(f"GET {path}")
    assert not kind_of(doors, name)
    first = doors.mcp(name, {})
    rows = [*crawler.rows(first)]
    assert first["meta"]["kind"] == "preview"
    expected = CUSTOMERS[:50] if path == "/all" else CUSTOMERS
    following, arguments = crawler.details(first["meta"]["detailsAvailable"])
    assert crawler.walk(doors.mcp, following, arguments) == expected
    while cursor := first.get("nextCursor"):
        first = doors.mcp(name, {"cursor": cursor})
        rows += crawler.rows(first)
    assert [row["id"] for row in rows] == [row["id"] for row in expected]


def test_the_first_answer_teaches_the_fields_of_all_pages(doors: Doors, api: Shop):
    note = {"note": "left of the mill " * 30}
    berths = [{"id": n, "name": f"Berth {n}", "state": "free", **note} for n in range(300)]
    api.odd["/all"] = [*berths, *({"id": n, "title": f"Quay {n}", "price": n * 1.5, **note} for n in range(300, 600))]
    name = tool("GET /all")
    answers = [doors.mcp(name, {})]
    revisions.bump()  # outside of a test's transaction, storing them does
    while cursor := answers[-1].get("nextCursor"):
        answers.append(doors.mcp(name, {"cursor": cursor}))
    forms = {tuple(row) for answer in answers for row in crawler.rows(answer)}
    assert forms == {tuple(answers[0]["meta"]["projectedFields"])}


def test_it_is_then_published_as_a_list_and_asked_as_one(doors: Doors, api: Shop):
    name = tool("GET /all")
    doors.mcp(name, {})
    assert kind_of(doors, name)
    groups = doors.mcp(name, {"aggregate": {"metrics": [{"op": "count"}]}})["groups"]
    assert groups == [{"count": 50}]


@pytest.mark.parametrize("style", ["offset", "page", "cursor", "link", "last"])
def test_upstreams_pages_are_walked_from_the_first_answer_on(doors: Doors, api: Shop, style: str):
    name = tool(f"GET /by-{style}")
    walked = crawler.walk(doors.mcp, name, {})
    assert [row["id"] for row in walked] == list(range(1, ROWS + 1))
    assert ImportedOperation.objects.get(key=f"GET /by-{style}").listed["paging"]
    revisions.bump()  # as the transaction of a call does that nobody rolls back
    walked = crawler.walk(doors.mcp, name, {"limit": 30})
    assert [row["id"] for row in walked] == list(range(1, ROWS + 1))


def test_who_pages_by_upstreams_own_arguments_is_answered_so(doors: Doors, api: Shop):
    name = tool("GET /by-offset")
    answer = doors.mcp(name, {"offset": 100, "api_limit": 7})
    assert [row["id"] for row in crawler.rows(answer)] == list(range(101, 108))
    assert not kind_of(doors, name)
    assert len(api.calls) == 1


def test_records_and_texts_stay_what_they_are(doors: Doors, api: Shop):
    customer, log = tool("GET /customers/{id}"), tool("GET /log")
    assert crawler.record(doors.mcp, customer, {"id": "large"}) == LARGE
    assert crawler.text(doors.mcp, log, {}).startswith("2026-11-21")
    assert not kind_of(doors, customer)
    assert not kind_of(doors, log)


def test_it_is_kept_when_the_document_is_imported_again_and_gives_way_to_what_that_says(doors: Doors, api: Shop):
    name = tool("GET /by-offset")
    doors.mcp(name, {})
    assert imported(api).counts[Status.CHANGED] == 0
    assert kind_of(doors, name)
    plan = import_plan.plan(json.dumps(api.document).encode(), name="shop", source="shop.json")
    import_plan.store(plan, chosen=[each.key for each in plan.proposals])
    ImportedOperation.objects.filter(key="GET /log").update(listed={"rows": "", "paging": None})
    for row in ImportedOperation.objects.all():
        assert row.documented == DocumentedOperation.from_document(row.spec)


def test_what_was_learned_of_records_is_forgotten_when_they_turn_out_to_be_lists(doors: Doors, api: Shop):
    row = ImportedOperation.objects.get(key="GET /all")
    ImportedOperation.objects.filter(pk=row.pk).update(learned={"row": ["value"], "preview": [], "sections": {}})
    revisions.bump()
    doors.mcp(tool("GET /all"), {})
    revisions.bump()
    answer = doors.mcp(tool("GET /all"), {"limit": 40})
    assert crawler.rows(answer)[0]["id"] == 1


def test_an_answer_that_is_no_list_after_all_is_a_record(doors: Doors, api: Shop):
    name = tool("GET /customers")
    ImportedOperation.objects.filter(key="GET /customers/{id}").update(listed={"rows": "data", "paging": None})
    ImportedOperation.objects.filter(key="GET /customers").update(listed={"rows": "", "paging": None})
    revisions.bump()
    found = ImportedOperation.objects.get(key="GET /customers/{id}").documented
    response = Response(200, {"content-type": "application/json"}, b'{"error": "none today"}')
    assert answers.read(response, found).record == {"error": "none today"}
    assert [row["id"] for row in crawler.walk(doors.mcp, name, {})] == [row["id"] for row in CUSTOMERS]


def test_a_document_that_says_something_else_of_an_operation_forgets_that_it_was_a_list(doors: Doors, api: Shop):
    doors.mcp(tool("GET /all"), {})
    assert ImportedOperation.objects.get(key="GET /all").listed
    document = api.document
    document["paths"]["/all"]["get"] |= {"summary": "One thing", "responses": SILENT}
    plan = import_plan.plan(json.dumps(document).encode(), name="shop", source="shop.json")
    import_plan.store(plan, chosen=[each.key for each in plan.proposals])
    assert ImportedOperation.objects.get(key="GET /all").listed == {}
