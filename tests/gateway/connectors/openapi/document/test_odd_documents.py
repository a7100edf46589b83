"""A document with everything in it, and every part of it replaced by what does not belong there."""

import copy
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from gateway.connectors.openapi.document.description import DocumentedOperation
from gateway.connectors.openapi.request import requests
from tests.gateway.connectors.openapi.documents import answering, document, query, read, rows_of

JUNK: list[Any] = [None, True, -1.5, "junk", [], [{"junk": ["junk"]}], {}, {"$ref": "#/nowhere"}, {"$ref": ["#"]}]

PERSON = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "id": {"type": "integer", "format": "int64", "readOnly": True, "minimum": 1, "exclusiveMinimum": True},
        "name": {
            "type": "string",
            "maxLength": 40,
            "pattern": "^[a-z]+$",
            "description": "A name. Long.",
            "default": "a",
        },
        "kind": {"type": "string", "enum": ["a", "b", None], "nullable": True},
        "boss": {"$ref": "#/components/schemas/Person"},
        "pets": {"type": "array", "items": {"oneOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "string"}]}},
        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
        "key": {"format": "uuid"},
    },
}
PET = {"allOf": [{"$ref": "#/components/schemas/Named"}, {"type": "object", "properties": {"age": {"const": 3}}}]}
NAMED = {"type": ["object", "null"], "properties": {"name": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
FORM = {
    "schema": {"$ref": "#/components/schemas/Person"},
    "encoding": {"tags": {"style": "deepObject", "explode": True}},
}
PAGED = [query("limit", {"type": "integer", "maximum": 100, "default": 10}), query("after", style="form", explode=True)]
EVERYTHING = {
    "/people": {
        "summary": "People",
        "servers": [{"url": "https://{a}.x.org", "variables": {"a": {"default": "b", "enum": ["b"]}}}],
        "parameters": [{"$ref": "#/components/parameters/Trace"}],
        "get": {
            "operationId": "listPeople",
            "parameters": PAGED,
            "responses": answering(
                rows_of("people", meta={"type": "object", "properties": {"next_cursor": {"type": "string"}}}),
                {"Link": {"schema": {"type": "string"}}},
            ),
        },
        "post": {
            "tags": ["people"],
            "security": [{"key": []}],
            "requestBody": {"required": True, "content": {"application/x-www-form-urlencoded": FORM}},
            "responses": answering({"$ref": "#/components/schemas/Person"}),
        },
    },
    "/people/{id}": {"get": {"responses": {"default": {"$ref": "#/components/responses/One"}}}},
    "/good": {"get": {"operationId": "good"}},
}
COMPONENTS = {
    "schemas": {"Person": PERSON, "Pet": PET, "Named": NAMED},
    "parameters": {"Trace": {"name": "X-Trace", "in": "header", "content": {"application/json": {"schema": PET}}}},
    "responses": {"One": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Person"}}}}},
    "securitySchemes": {"key": {"type": "apiKey", "in": "query", "name": "key"},
                        "oauth": {"type": "oauth2", "flows": {"password": {"tokenUrl": "/t", "scopes": {"a": "b"}}}}},
}  # fmt: skip
WHOLE = document(EVERYTHING, components=COMPONENTS, servers=[{"url": "https://x.org"}], security=[{"oauth": ["a"]}])


def places(node: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Of every value within."""
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, each in below:
        yield (*above, key)
        yield from places(each, (*above, key))


def replaced(place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    whole = copy.deepcopy(WHOLE)
    node: Any = whole
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    return whole


def filled(made: DocumentedOperation) -> dict[str, Any]:
    return {name: "a" for name, place in made.places.items() if place.location == "path"}


PLACES = [place for place in places(WHOLE) if place not in [("openapi",), ("paths",)] and "/good" not in place]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_part_of_a_document_fails_it_or_an_operation_that_has_nothing_to_do_with_it(junk):
    for place in PLACES:
        whole = replaced(place, junk)
        api = read(whole.pop("paths"), **whole)
        assert any(each.path == "/good" for each in api.operations), place
        assert not [warning for warning in api.warnings if "cannot be read" in warning], place
        for made in api.operations:
            requests.build(made, filled(made), "https://x.org/v1")
            assert DocumentedOperation.from_document(orjson.loads(orjson.dumps(made.document()))) == made, place


def test_everything_is_read_where_nothing_is_odd():
    whole = dict(WHOLE)
    api = read(whole.pop("paths"), **whole)
    assert [each.name for each in api.operations] == ["list_people", "create_person", "get_person", "good"]
    assert [list(each.parameters) for each in api.operations] == [
        ["X-Trace"],
        ["X-Trace", "name", "kind", "boss", "pets", "tags", "key"],
        ["id"],
        [],
    ]
