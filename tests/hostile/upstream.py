"""The hostile upstream, over real HTTP in a process of its own, and its OpenAPI document.

    python -m tests.hostile.upstream PORT

Every path may begin with `/faulty`: two of three answers are then faulty.
"""

import asyncio
import sys
from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from benchmarks.table.upstream import serve
from tests.hostile import bodies
from tests.hostile.bodies import HostileBody, HostilePages

BODIES: Mapping[str, Callable[[Random], HostileBody]] = {
    "rows": bodies.a_list,
    "records": bodies.a_record,
    "texts": bodies.a_text,
    "anything": bodies.anything,
}
PAGES = {each.name: each for each in (HostilePages("pages", "page"), HostilePages("cursors", "next_cursor"))}
FAULTY = "faulty"


def answer(target: str) -> HostileBody:
    parts = urlsplit(target)
    path, query = parts.path.strip("/").split("/"), dict(parse_qsl(parts.query))
    is_faulty = path[0] == FAULTY
    kind, *rest = path[1:] if is_faulty else path
    body = unquote(rest[0]) if rest else query.get("body", "")
    order = Random(f"{kind}/{body}")
    if kind in PAGES:
        digits = (query.get("page") or query.get("cursor") or "1").partition("~")[0]
        good = PAGES[kind].page(body, int(digits) if digits.isdecimal() else 1)
    else:
        good = BODIES["records" if kind == "rows" and rest else kind](order)
    return bodies.faulty(order, good) if is_faulty and order.random() < 0.67 else good


def _response(body: HostileBody) -> bytes:
    headers = {"Content-Type": body.content_type, "Content-Length": str(len(body.data)), **(body.headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    has_body = body.status != 204
    if not has_body:
        lines = ""
    return f"HTTP/1.1 {body.status} Words\r\n{lines}\r\n".encode("latin-1") + (body.data if has_body else b"")


# -- The document -----------------------------------------------------------------------------------

ID = {"name": "body", "in": "path", "required": True, "schema": {"type": "string"}}
BODY = {"name": "body", "in": "query", "required": True, "schema": {"type": "string"}}
ROW = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
LISTED = {"type": "array", "items": ROW}


def document(url: str) -> dict[str, Any]:
    """Lists, a record, a text, and an operation without a described response."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hostile", "version": "1"},
        "servers": [{"url": url}],
        "paths": {
            "/rows": {"get": _operation("list_rows", [BODY], LISTED)},
            "/rows/{body}": {"get": _operation("get_row", [ID], {"type": "object"})},
            "/pages": {"get": _operation("list_pages", [BODY, _query("page", "integer")], None)},
            "/cursors": {"get": _operation("list_cursors", [BODY, _query("cursor", "string")], None)},
            "/records/{body}": {"get": _operation("get_record", [ID], ROW)},
            "/texts/{body}": {"get": _operation("read_text", [ID], {"type": "string"}, "text/plain")},
            "/anything/{body}": {"get": _operation("get_anything", [ID], None)},
        },
    }


def _query(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": kind}}


def _operation(
    name: str, parameters: list[dict[str, Any]], schema: Any, media_type: str = "application/json"
) -> dict[str, Any]:
    response = {"description": "", **({} if schema is None else {"content": {media_type: {"schema": schema}}})}
    return {"operationId": name, "parameters": parameters, "responses": {"200": response}}


TOOLS = ("list_rows", "get_row", "list_pages", "list_cursors", "get_record", "read_text", "get_anything")

if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), lambda target: _response(answer(target))))
