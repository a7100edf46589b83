"""The upstream of all contenders, which runs in its own process, and its OpenAPI document.

`/bookings` answers a list, `/bookings/{id}` a record, `/bodies/{n}` the JSON of a file. Their texts are prepared; only
a number in each row changes, so that no body repeats and the upstream itself costs little.

python -m benchmarks.table.upstream PORT [FILE ...]
"""

import asyncio
import itertools
import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

ROWS, LIST_BYTES, RECORD_BYTES = 50, 48_000, 10_000
NUMBER = b"@@@@@@@@"  # replaced in each answer
BODIES = "/bodies/"
CALL = {"name": "call", "in": "query", "schema": {"type": "integer"}}


def _row(n: int) -> dict[str, Any]:
    return {
        "id": 43_000_000 + n,
        "listingId": 200_000 + n % 17,
        "status": ("confirmed", "new", "cancelled")[n % 3],
        "guestName": f"Guest {NUMBER.decode()}",
        "guestEmail": f"guest{n}@example.com",
        "arrivalDate": f"2026-{n % 12 + 1:02}-04",
        "departureDate": f"2026-{n % 12 + 1:02}-09",
        "nights": 5,
        "totalPrice": 100.5 + 13 * n,
        "currency": "EUR",
        "isPaid": n % 2 == 0,
        "address": {"street": f"{n} Mill Lane", "city": "Springfield", "zip": f"{10_000 + n}"},
        "fees": [{"name": name, "amount": n + at} for at, name in enumerate(("cleaning", "city tax", "linen"))],
        "customFields": {f"field{at}": None if at % 2 else f"value {at}" for at in range(8)},
        "note": "",
    }


def _filled(rows: list[dict[str, Any]], size: int) -> None:
    """Lengthens the notes, so that all rows together have about this many bytes."""
    missing = size - len(json.dumps(rows))
    for n, row in enumerate(rows):
        row["note"] = ("left of the mill " * (size // 16))[: max(0, missing // len(rows) + (n < missing % len(rows)))]


@cache
def listed(rows: int, size: int) -> bytes:
    found = [_row(n) for n in range(rows)]
    _filled(found, size)
    return json.dumps(found).encode()


@cache
def record(size: int) -> bytes:
    """Fields of all kinds, some of them nested."""
    found = _row(7)
    found |= {f"detail{n}": {"label": f"Detail {n}", "value": n * 3, "note": "as agreed " * 4} for n in range(60)}
    found |= {f"flag{n}": n % 3 == 0 for n in range(40)}
    _filled([found], size)
    return json.dumps(found).encode()


@cache
def of_file(path: str) -> bytes:
    """The JSON of a file, with a number at the end of the first text of a record, or of each row of a list. Raises
    ValueError."""
    value = json.loads(Path(path).read_bytes())
    if not isinstance(value, (list, dict)):
        raise ValueError("it is no JSON array or object")
    rows = [_with_number(row) for row in value] if isinstance(value, list) else _with_number(value)
    body = json.dumps(rows, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if NUMBER not in body:
        raise ValueError("it has no text, so all answers would be equal")
    return body


def _with_number(value: Any) -> Any:
    """The value with the number at the end of its first text; the same object if it has no text."""
    if isinstance(value, str):
        return f"{value} {NUMBER.decode()}"
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in pairs:
        if (changed := _with_number(below)) is not below:
            copy = value.copy()
            copy[key] = changed
            return copy
    return value


def answer(target: str, files: Sequence[str] = ()) -> bytes:
    """The body for a path with its query: `rows` and `bytes` choose another size."""
    parts = urlsplit(target)
    if parts.path.startswith(BODIES):
        return of_file(files[int(parts.path.removeprefix(BODIES))])
    asked = parse_qs(parts.query)
    size = int(asked["bytes"][0]) if "bytes" in asked else 0
    if parts.path.rstrip("/").endswith("/bookings") or parts.path.startswith("/lists"):
        return listed(int(asked["rows"][0]) if "rows" in asked else ROWS, size or LIST_BYTES)
    return record(size or RECORD_BYTES)


def numbered(files: Sequence[str] = ()) -> Callable[[str], bytes]:
    """Returns a function that gives each response a different body."""
    numbers = itertools.count(1)

    def response(target: str) -> bytes:
        body = answer(target, files).replace(NUMBER, b"%08d" % next(numbers))
        return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    return response


async def serve(port: int, response: Callable[[str], bytes]) -> None:
    """Answers every request with the `response` to its target: its path with the query."""

    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                writer.write(response(head.split(b" ", 2)[1].decode()))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answers, "127.0.0.1", port)
    print("ready", flush=True)
    await server.serve_forever()


def document(url: str, tools: int = 2, bodies: int = 0) -> dict[str, Any]:
    """`tools` operations: the list, the record, and copies of the list under other names. Then one without a
    schema for each of the `bodies`."""
    paths = {"/bookings": {"get": _list("list_bookings")}, "/bookings/{id}": {"get": _record()}}
    for n in range(tools - 2):
        paths[f"/lists/{n}"] = {"get": _list(f"list_{n}")}
    for n in range(bodies):
        paths[f"{BODIES}{n}"] = {"get": _operation(f"body_{n}", [CALL], {})}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Bookings", "version": "1"},
        "servers": [{"url": url}],
        "paths": paths,
    }


def _list(name: str) -> dict[str, Any]:
    booking = {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "status": {"type": "string"}, "totalPrice": {"type": "number"}},
    }
    query = [
        {"name": name, "in": "query", "schema": {"type": kind}}
        for name, kind in (("guest", "string"), ("rows", "integer"), ("bytes", "integer"))
    ]
    return _operation(name, query, {"type": "array", "items": booking})


def _record() -> dict[str, Any]:
    number = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
    size = {"name": "bytes", "in": "query", "schema": {"type": "integer"}}
    return _operation("get_booking", [number, size], {"type": "object", "properties": {"id": {"type": "integer"}}})


def _operation(name: str, parameters: list[dict[str, Any]], schema: dict[str, Any]) -> dict[str, Any]:
    responses = {"200": {"description": "", "content": {"application/json": {"schema": schema}}}}
    return {"operationId": name, "parameters": parameters, "responses": responses}


def path_of(tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The path and query that a tool of the document fetches, for contenders that do not read the document."""
    query = {name: str(value) for name, value in arguments.items() if name != "id"}
    return (f"/bookings/{arguments['id']}" if tool == "get_booking" else "/bookings"), query


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), numbered(sys.argv[2:])))
