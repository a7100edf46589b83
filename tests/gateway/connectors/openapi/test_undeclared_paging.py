"""Lists whose pages only their answers lead on to: each is walked to its end, or says why it cannot be."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from context_protection.configuration.revisions import revisions
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.models import ImportedOperation
from gateway.upstreams.registry import retain
from tests import crawler
from tests.doors import Doors
from tests.gateway.connectors.openapi.documents import answering, document, query
from tests.simulators.shop import CUSTOMERS, ROWS, Shop, shop

SIZE = 20
WHOLE = {"type": "integer"}
Served = tuple[Any, dict[str, str]]


@pytest.fixture
def api(db: None, settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        yield simulated
    retain(())


def imported(api: Shop, schema: dict[str, Any], *names: str, **schemas: dict[str, Any]) -> str:
    """The tool of GET /things, with these parameters of its query, by name and by name with schema."""
    given = [query(name, WHOLE if name in ("limit", "page", "offset") else None) for name in names]
    given += [query(name, schema) for name, schema in schemas.items()]
    node = {"operationId": "listThings", "parameters": given, "responses": answering(schema)}
    data = json.dumps(document({"/things": {"get": node}}, servers=[{"url": api.url}])).encode()
    plan = import_plan.plan(data, name="shop", source="shop.json")
    import_plan.store(plan, chosen={"GET /things"})
    revisions.bump()
    return "shop_list_things"


def thing(number: int) -> dict[str, Any]:
    return {"id": number, "name": f"Thing {number}", "note": "as it was found " * 40}


THINGS = [thing(number) for number in range(1, 138)]
ARRAY = {"type": "array", "items": {"type": "object", "properties": {"id": WHOLE, "name": {"type": "string"}}}}
IN_DATA = {"type": "object", "properties": {"data": ARRAY}}


def numbers(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    return [row["id"] for row in rows]


def by_token(parameter: str, with_next: Callable[[list[Any], str], Any]) -> Callable[[Mapping[str, str]], Served]:
    """Pages by a token that only the answer has."""

    def serve(asked: Mapping[str, str]) -> Served:
        start = int(asked.get(parameter, "t0").removeprefix("t"))
        end = start + SIZE
        return with_next(THINGS[start:end], f"t{end}" if end < len(THINGS) else ""), {}

    return serve


@pytest.mark.parametrize(
    ("parameter", "with_next"),
    [
        ("cursor", lambda rows, token: {"data": rows, "response_metadata": {"next_cursor": token}}),
        ("pageToken", lambda rows, token: {"data": rows, **({"nextPageToken": token} if token else {})}),
        ("continuationToken", lambda rows, token: {"data": rows, "continuationToken": token or None}),
        ("marker", lambda rows, token: {"data": rows, "marker": token or None}),
        ("iterator", lambda rows, token: {"data": rows, "next_iterator": token or None}),
    ],
)
def test_a_cursor_that_only_the_answer_shows_is_followed(doors: Doors, api: Shop, parameter: str, with_next: Any):
    api.odd["/things"] = by_token(parameter, with_next)
    name = imported(api, IN_DATA, parameter)
    assert numbers(crawler.walk(doors.mcp, name, {})) == numbers(THINGS)
    assert ImportedOperation.objects.get(key="GET /things").listed["paging"]
    assert parameter not in ImportedOperation.objects.get(key="GET /things").documented.parameters
    assert numbers(crawler.walk(doors.post, name, {"limit": 30})) == numbers(THINGS)


@pytest.mark.parametrize(
    "with_next",
    [
        lambda rows, url: {"data": rows, "paging": {"next": url}},
        lambda rows, url: {"data": rows, "links": {"next": url}},
        lambda rows, url: {"data": rows, "_metadata": {"next": url}},
        lambda rows, url: {"data": rows, "_links": {"next": {"href": url}} if url else {}},
        lambda rows, url: {"data": rows, **({"@odata.nextLink": url} if url else {})},
    ],
)
def test_an_address_that_only_the_answer_shows_is_followed(doors: Doors, api: Shop, with_next: Any):
    at = by_token("at", lambda rows, token: with_next(rows, f"{api.url}/things?at={token}" if token else None))
    api.odd["/things"] = at
    assert numbers(crawler.walk(doors.mcp, imported(api, IN_DATA), {})) == numbers(THINGS)


def test_a_default_of_the_page_size_is_no_choice_of_the_caller(doors: Doors, api: Shop):
    def serve(asked: Mapping[str, str]) -> Served:
        start, size = int(asked.get("page_token", 0)), int(asked.get("page_size", SIZE))
        following = {"Link": f'<{api.url}/things?page_token={start + size}&page_size={size}>; rel="next"'}
        return THINGS[start : start + size], following if start + size < len(THINGS) else {}

    api.odd["/things"] = serve
    name = imported(api, ARRAY, "page_token", page_size={"type": "integer", "default": SIZE, "maximum": SIZE})
    assert numbers(crawler.walk(doors.mcp, name, {})) == numbers(THINGS)


@pytest.mark.parametrize("ending", ['rel="next"; results="false"', 'rel="prev"'])
def test_a_link_header_that_no_document_has_is_followed_to_its_end(doors: Doors, api: Shop, ending: str):
    def serve(asked: Mapping[str, str]) -> Served:
        start = int(asked.get("cursor", 0))
        said = 'rel="next"; results="true"' if start + SIZE < len(THINGS) else ending
        return THINGS[start : start + SIZE], {"Link": f"<{api.url}/things?cursor={start + SIZE}>; {said}"}

    api.odd["/things"] = serve
    assert numbers(crawler.walk(doors.mcp, imported(api, ARRAY, "cursor"), {})) == numbers(THINGS)
    assert len(api.calls) <= len(THINGS) / SIZE + 2


def test_what_later_pages_have_beside_their_rows_comes_without_their_paging(doors: Doors, api: Shop):
    def serve(asked: Mapping[str, str]) -> Served:
        start = int(asked.get("cursor", 0))
        following = {"next_cursor": str(start + SIZE)} if start + SIZE < len(THINGS) else {}
        included = [{"type": "owner", "id": start, "name": f"Owner {start}"}]
        links = {"self": f"/things?cursor={start}"}
        meta = {"count": SIZE, "requestId": f"r{start}", "currency": "EUR", **following}
        return {"data": THINGS[start : start + SIZE], "included": included, "links": links, "meta": meta}, {}

    api.odd["/things"] = serve
    pages = crawler.pages(doors.post, imported(api, IN_DATA, "cursor"), {"limit": SIZE})
    beside = [each["meta"].get("beside") for each in pages]
    assert beside[1:] == [
        {"included": [{"type": "owner", "id": start, "name": f"Owner {start}"}]}
        for start in range(SIZE, len(THINGS), SIZE)
    ]


BOTH = {"type": "object", "properties": {"data": ARRAY, "has_more": {"type": "boolean"}}}
ALL_THREE = {**BOTH, "properties": {**BOTH["properties"], "first_id": WHOLE, "last_id": WHOLE}}


@pytest.mark.parametrize("schema", [IN_DATA, BOTH, ALL_THREE])
def test_after_the_last_id_more_rows_are_had(doors: Doors, api: Shop, schema: dict[str, Any]):
    def serve(asked: Mapping[str, str]) -> Served:
        after, size = int(asked.get("after", 0)), min(int(asked.get("limit", SIZE)), 50)
        rows = [each for each in THINGS if each["id"] > after]
        last = {"last_id": rows[:size][-1]["id"]} if "last_id" in schema["properties"] else {}
        return {"data": rows[:size], "has_more": len(rows) > size, **last}, {}

    api.odd["/things"] = serve
    name = imported(api, schema, "limit", "after", "before")
    assert numbers(crawler.walk(doors.mcp, name, {})) == numbers(THINGS)


@pytest.mark.parametrize("newest_first", [False, True])
def test_bare_arrays_are_paged_after_or_before_the_last_id(doors: Doors, api: Shop, newest_first: bool):
    def serve(asked: Mapping[str, str]) -> Served:
        size = min(int(asked.get("limit", SIZE)), 50)
        rows = [each for each in THINGS if int(asked.get("after", 0)) < each["id"] < int(asked.get("before", 10**6))]
        return rows[::-1][:size] if newest_first else rows[:size], {}

    api.odd["/things"] = serve
    walked = numbers(crawler.walk(doors.mcp, imported(api, ARRAY, "limit", "after", "before"), {}))
    assert walked == sorted(numbers(THINGS), reverse=newest_first)


@pytest.mark.parametrize(
    ("answer", "names", "said"),
    [
        ({"data": THINGS[:3], "has_more": True}, (), "Upstream has more rows (has_more: true). Narrow the list"),
        ({"data": THINGS[:3], "nextPageToken": "t3"}, (), "Upstream has more rows (nextPageToken). Narrow the list"),
        ({"data": THINGS[:3], "meta": {"total": 90}}, (), "Upstream has more rows (meta.total: 90)."),
        ({"data": [{"name": "a"}], "has_more": True}, ("before",), "Set before to get them, or ask the operator"),
    ],
)
def test_rows_that_cannot_be_had_are_told_with_what_to_do(
    doors: Doors, api: Shop, answer: Any, names: Sequence[str], said: str
):
    api.odd["/things"] = answer
    rows = {"type": "object", "properties": {"data": {"type": "array", "items": {"type": "object"}}}}
    (note,) = doors.mcp(imported(api, rows, *names), {})["meta"]["notes"]
    assert said in note
    assert "in the admin" in note


@pytest.mark.parametrize("answer", [{"data": THINGS[:3], "has_more": False, "total": 3}, {"data": [], "total": 0}])
def test_a_list_that_is_whole_has_no_note(doors: Doors, api: Shop, answer: Any):
    api.odd["/things"] = answer
    assert "notes" not in doors.mcp(imported(api, IN_DATA), {})["meta"]


def test_pages_that_repeat_themselves_end_with_a_note_on_the_last_answer(doors: Doors, api: Shop):
    def serve(asked: Mapping[str, str]) -> Served:
        start = int(asked.get("cursor", "t0")[1:]) % 60
        return {"data": THINGS[start : start + SIZE], "next_cursor": f"t{start + SIZE}"}, {}

    api.odd["/things"] = serve
    name = imported(api, IN_DATA, "cursor")
    answer = doors.mcp(name, {"limit": SIZE})
    while cursor := answer.get("nextCursor"):
        answer = doors.mcp(name, {"limit": SIZE, "cursor": cursor})
    assert "its next page repeats an earlier one" in answer["meta"]["notes"][0]


def test_pages_at_another_host_end_with_a_note_and_no_cursor(doors: Doors, api: Shop):
    """The cursor to such a page could only fail: the call would carry the credential there."""
    elsewhere = "https://other.example.com/things?at=t20"
    api.odd["/things"] = by_token("at", lambda rows, token: {"data": rows, "links": {"next": elsewhere}})
    first, *others = crawler.pages(doors.mcp, imported(api, IN_DATA), {"limit": 5})
    assert [len(page["items"]) for page in (first, *others)] == [5, 5, 5, 5]
    assert "correct the API's base URL" in first["meta"]["notes"][0]


def test_a_next_address_that_is_none_is_told(doors: Doors, api: Shop):
    """The pages after it were left out in silence."""
    api.odd["/things"] = by_token("at", lambda rows, token: {"data": rows, "_metadata": {"next": token}})
    place = {"type": "object", "properties": {"next": {"type": "string", "format": "uri"}}}
    described = {"type": "object", "properties": {"data": ARRAY, "_metadata": place}}
    answer = doors.mcp(imported(api, described), {})
    assert numbers(answer["items"]) == numbers(THINGS[:SIZE])
    (note,) = answer["meta"]["notes"]
    assert note.startswith("Upstream says that more rows follow (_metadata.next), but the next page is not where")


def test_who_sets_upstreams_own_arguments_is_answered_so(doors: Doors, api: Shop):
    api.odd["/things"] = by_token("cursor", lambda rows, token: {"data": rows, "next_cursor": token})
    name = imported(api, IN_DATA, "cursor")
    answer = doors.mcp(name, {"api_cursor": "t20"})
    assert numbers(crawler.rows(answer)) == numbers(THINGS[20:40])
    assert "Set api_cursor to get them" in answer["meta"]["notes"][0]
    assert not ImportedOperation.objects.get(key="GET /things").listed


def test_a_list_that_ops_declared_unpaged_stays_so(doors: Doors, api: Shop):
    api.odd["/things"] = by_token("cursor", lambda rows, token: {"data": rows, "next_cursor": token})
    name = imported(api, IN_DATA, "cursor")
    ImportedOperation.objects.update(paging={})
    revisions.bump()
    answer = doors.mcp(name, {})
    assert len(crawler.walk(doors.mcp, name, {})) == SIZE
    assert "next_cursor" in answer["meta"]["notes"][0]


def test_customers_of_the_shop_are_not_asked_for_twice(doors: Doors, api: Shop):
    """A list without any sign of pages costs one request."""
    api.odd["/things"] = {"data": CUSTOMERS, "total": ROWS}
    assert len(crawler.walk(doors.mcp, imported(api, IN_DATA, "q"), {})) == ROWS
    assert len(api.calls) == 1
