"""An invented shop's API over real HTTP, with its OpenAPI document: lists in every style of paging, records small and
large, a text, and orders that can be placed.

    with shop() as api:
        api.url, api.document           # the document names the url as its server
        api.calls                       # ("GET", "/orders", {"limit": "50"}, headers, body) for each that came
        api.orders                      # what was placed
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

ROWS = 137
LOG = "".join(f"2026-11-21 10:{n // 60 % 60:02}:{n % 60:02} INFO shop: line {n} of the log\n" for n in range(4000))


def customer(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"Customer {number}",
        "email": f"c{number}@example.com",
        "status": "active" if number % 3 else "closed",
        "created": f"2026-{number % 12 + 1:02}-01",
        "balance": number * 10,
        "address": {"street": f"Street {number}", "city": "Springfield", "notes": "left of the mill " * 8},
        "tags": [f"tag{number % 5}", "customer"],
        "history": [{"at": f"2026-01-{day + 1:02}", "what": "visited the shop"} for day in range(4)],
    }


CUSTOMERS = [customer(number) for number in range(1, ROWS + 1)]
LARGE = {**customer(1), "preferences": {f"preference{n}": "a long text of what is preferred " * 5 for n in range(120)}}


class Shop:
    def __init__(self) -> None:
        self.url = ""
        self.calls: list[tuple[str, str, dict[str, str], dict[str, str], bytes]] = []
        self.orders: list[Any] = []
        self.odd: dict[str, Any] = {}  # answers by path, in the place of those it has; or (query) → (body, headers)
        self.extra: dict[str, Any] = {}  # that each row of /all and /customers has besides

    @property
    def document(self) -> dict[str, Any]:
        return described(self.url)

    def answer(self, method: str, path: str, query: Mapping[str, str], body: bytes) -> tuple[int, Any, dict[str, str]]:
        """Status, body and headers."""
        if method == "POST" and path == "/orders":
            self.orders.append(json.loads(body))
            lines = [{"id": n, "item": f"Item {n}", "note": "as it was ordered " * 10} for n in range(80)]
            return 201, {"id": f"o{len(self.orders)}", "placed": self.orders[-1], "lines": lines}, {}
        if path in self.odd:
            odd = self.odd[path]
            return (200, *odd(query)) if callable(odd) else (200, odd, {})
        if path == "/customers":
            return 200, {"customers": [{**each, **self.extra} for each in CUSTOMERS]}, {}
        if path.startswith("/shops/"):
            return _of_orders(path)
        if path == "/customers/large":
            return 200, LARGE, {}
        if path.startswith("/customers/"):
            found = [each for each in CUSTOMERS if str(each["id"]) == path.removeprefix("/customers/")]
            return (200, found[0], {}) if found else (404, {"error": {"message": "No such customer."}}, {})
        if path == "/log":
            return 200, LOG, {"Content-Type": "text/plain; charset=utf-8"}
        if path == "/all":
            return 200, [{**each, **self.extra} for each in CUSTOMERS[:50]], {}
        style = path.removeprefix("/by-")
        paged = getattr(self, f"_by_{style}", None)
        return (404, {"message": f"no {path}"}, {}) if paged is None else (200, *paged(query))

    def _by_offset(self, query: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        start, size = int(query.get("offset", 0)), min(int(query.get("limit", 20)), 100)
        return {"items": CUSTOMERS[start : start + size], "total": ROWS, "kind": "list"}, {}

    def _by_page(self, query: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        page, size = int(query.get("page", 1)), min(int(query.get("per_page", 20)), 40)
        return {"data": CUSTOMERS[(page - 1) * size : page * size]}, {}

    def _by_cursor(self, query: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        start, size = int(query.get("cursor", "c0")[1:]), min(int(query.get("limit", 20)), 30)
        end = start + size
        following = {"next_cursor": f"c{end}"} if end < ROWS else {"next_cursor": None}
        return {"customers": CUSTOMERS[start:end], "meta": following}, {}

    def _by_link(self, query: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        page, size = int(query.get("page", 1)), min(int(query.get("per_page", 30)), 100)
        more = page * size < ROWS
        link = f'<{self.url}/by-link?page={page + 1}&per_page={size}>; rel="next"' if more else ""
        return CUSTOMERS[(page - 1) * size : page * size], {"Link": link} if link else {}

    def _by_last(self, query: Mapping[str, str]) -> tuple[Any, dict[str, str]]:
        after, size = int(query.get("starting_after", 0)), min(int(query.get("limit", 10)), 100)
        rows = [each for each in CUSTOMERS if each["id"] > after]
        return {"object": "list", "data": rows[:size], "has_more": len(rows) > size}, {}


def _of_orders(path: str) -> tuple[int, Any, dict[str, str]]:
    """/shops/{shop}/orders, whose rows are opened by their number, and not by their id."""
    shop, _, number = path.removeprefix("/shops/").partition("/orders")
    orders = [
        {"id": n, "number": f"{shop}/{n}", "note": "as it was ordered " * 400, "lines": [{"item": n}] * 20}
        for n in range(60)
    ]
    found = [each for each in orders if each["number"] == unquote(number.removeprefix("/"))]
    if not number:
        return 200, orders, {}
    return (200, {**found[0], "whole": True}, {}) if found else (404, {"message": "No such order."}, {})


def _list(rows: Mapping[str, Any], *parameters: tuple[str, str]) -> dict[str, Any]:
    return {
        "get": {
            "summary": "List customers",
            "tags": ["customers"],
            "parameters": [{"name": name, "in": "query", "schema": {"type": kind}} for name, kind in parameters],
            "responses": {"200": {"description": "ok", "content": {"application/json": {"schema": rows}}}},
        }
    }


def described(url: str) -> dict[str, Any]:
    of_customers = {"type": "array", "items": {"$ref": "#/components/schemas/Customer"}}

    def within(name: str, **more: Any) -> dict[str, Any]:
        return {"type": "object", "properties": {name: of_customers, **more}}

    whole, text = {"type": "integer"}, {"type": "string"}

    def answering(schema: dict[str, Any], status: str = "200", media_type: str = "application/json") -> dict[str, Any]:
        return {status: {"description": "ok", "content": {media_type: {"schema": schema}}}}

    one = answering({"$ref": "#/components/schemas/Customer"})
    identity = {"name": "id", "in": "path", "required": True, "schema": text}
    order = {
        "type": "object",
        "required": ["customer"],
        "properties": {"customer": whole, "items": {"type": "array", "items": text}},
    }
    limit, offset, page, per_page = [(name, "integer") for name in ("limit", "offset", "page", "per_page")]
    next_cursor = {"type": "object", "properties": {"next_cursor": text}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "2026-11"},
        "servers": [{"url": url}],
        "paths": {
            "/all": _list(of_customers),
            "/by-offset": _list(within("items", total=whole, kind=text), limit, offset, ("status", "string")),
            "/by-page": _list(within("data"), per_page, page),
            "/by-cursor": _list(within("customers", meta=next_cursor), limit, ("cursor", "string")),
            "/by-link": _list(of_customers, per_page, page),
            "/by-last": _list(
                within("data", has_more={"type": "boolean"}, object=text), limit, ("starting_after", "string")
            ),
            "/customers/{id}": {
                "get": {
                    "operationId": "getCustomer",
                    "summary": "A customer",
                    "parameters": [identity],
                    "responses": one,
                },
                "delete": {
                    "operationId": "deleteCustomer",
                    "parameters": [identity],
                    "responses": {"204": {"description": "gone"}},
                },
            },
            "/log": {"get": {"operationId": "readLog", "responses": answering(text, media_type="text/plain")}},
            "/orders": {
                "post": {
                    "operationId": "placeOrder",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": order}}},
                    "responses": answering({"type": "object"}, status="201"),
                }
            },
        },
        "components": {
            "schemas": {
                "Customer": {
                    "type": "object",
                    "required": ["id", "name"],
                    "properties": {
                        "id": whole,
                        "name": text,
                        "email": text,
                        "status": {"type": "string", "enum": ["active", "closed"]},
                        "created": {"type": "string", "format": "date"},
                        "balance": {"type": "number"},
                        "address": {"type": "object", "properties": {"street": text, "city": text, "notes": text}},
                        "tags": {"type": "array", "items": text},
                        "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Customer"}},
                    },
                }
            }
        },
    }


@contextmanager
def shop() -> Iterator[Shop]:
    simulated = Shop()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            simulated.calls.append((self.command, parts.path, query, headers, body))
            status, answer, more = simulated.answer(self.command, parts.path, query, body)
            text = answer if isinstance(answer, str | bytes) else json.dumps(answer)
            data = text.encode() if isinstance(text, str) else text
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **more, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = do_PATCH = _answer  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: tests are quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        simulated.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield simulated
        finally:
            server.shutdown()
