"""Invented OpenAPI documents: small ones with what a test is about, and one as large as the largest there are."""

from collections.abc import Mapping
from typing import Any

import orjson

from gateway.connectors.openapi.document import documents, reader
from gateway.connectors.openapi.document.description import ApiDocument, DocumentedOperation

Node = dict[str, Any]
ROW: Node = {"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"}}}


def document(paths: Mapping[str, Any], **more: Any) -> Node:
    return {"openapi": "3.0.3", "info": {"title": "Shop", "version": "1"}, "paths": dict(paths), **more}


def read(paths: Mapping[str, Any], **more: Any) -> ApiDocument:
    """By way of bytes, as an import goes."""
    return reader.read(documents.parse(orjson.dumps(document(paths, **more))))


def operation(node: Node, path: str = "/things", method: str = "get", **more: Any) -> DocumentedOperation:
    """The only one of a document."""
    (only,) = read({path: {method: node}}, **more).operations
    return only


def query(name: str, schema: Node | None = None, **more: Any) -> Node:
    return {"name": name, "in": "query", "schema": schema or {"type": "string"}, **more}


def answering(schema: Node, headers: Node | None = None) -> Node:
    answer: Node = {"description": "Well.", "content": {"application/json": {"schema": schema}}}
    return {"200": {**answer, "headers": headers} if headers else answer}


def rows_of(name: str = "data", **beside: Node) -> Node:
    return {"type": "object", "properties": {name: {"type": "array", "items": ROW}, **beside}}


def listing(*parameters: Node, schema: Node | None = None, **more: Any) -> DocumentedOperation:
    """A list with these parameters."""
    node = {"parameters": list(parameters), "responses": answering(schema or {"type": "array", "items": ROW})}
    return operation({**node, **more})


def posting(schema: Node, media_type: str = "application/json", **media: Any) -> DocumentedOperation:
    body = {"required": True, "content": {media_type: {"schema": schema, **media}}}
    return operation({"operationId": "makeThing", "requestBody": body, "responses": {"201": {"description": "Made."}}},
                     method="post")  # fmt: skip


# -- A large one ------------------------------------------------------------------------------------


def large(resources: int = 200, fields: int = 30) -> bytes:
    """Five operations for each resource; schemas that refer to each other in circles; long descriptions."""
    schemas = {f"Resource{number}": _resource(number, resources, fields) for number in range(resources)}
    paths: Node = {}
    for number in range(resources):
        paths |= _paths(number)
    return orjson.dumps(document(paths, components={"schemas": schemas}, servers=[{"url": "https://api.example.com"}]))


def _resource(number: int, resources: int, fields: int) -> Node:
    properties: Node = {
        f"field{each}": {
            "type": ("string", "integer", "boolean")[each % 3],
            "description": f"The field {each} of the resource. " + "It is described at length, as fields are. " * 20,
            "example": "example",
        }
        for each in range(fields)
    }
    near = [(number + step) % resources for step in (0, 1, 7, 31)]
    properties |= {f"related{each}": {"$ref": f"#/components/schemas/Resource{each}"} for each in near}
    properties["children"] = {"type": "array", "items": {"$ref": f"#/components/schemas/Resource{near[1]}"}}
    properties["owner"] = {"anyOf": [{"$ref": f"#/components/schemas/Resource{near[2]}"}, {"type": "string"}]}
    return {"type": "object", "required": ["field0"], "properties": properties, "x-resource": f"resource{number}"}


def _paths(number: int) -> Node:
    schema = {"$ref": f"#/components/schemas/Resource{number}"}
    page = {
        "type": "object",
        "properties": {"data": {"type": "array", "items": schema}, "has_more": {"type": "boolean"}},
    }
    body = {"content": {"application/json": {"schema": schema}}}
    described = {"description": "What the operation does. " * 40, "tags": [f"resource{number}"]}
    one = f"/v1/resource{number}s/{{id}}"
    size = query("limit", {"type": "integer", "maximum": 100})
    return {
        f"/v1/resource{number}s": {
            "get": {**described, "parameters": [size, query("starting_after")], "responses": answering(page)},
            "post": {**described, "requestBody": body, "responses": answering(schema)},
        },
        one: {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {**described, "responses": answering(schema)},
            "put": {**described, "requestBody": body, "responses": answering(schema)},
            "delete": {**described, "responses": {"204": {"description": "Gone."}}},
        },
    }
