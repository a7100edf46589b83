"""What the hostile upstream answers: a body for each name, the same one however often it is asked for."""

import csv
import gzip
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any
from xml.sax.saxutils import escape

from tests.hostile import values
from tests.hostile.characters import text

MOST_PAGES = 5
PAGE_NAMES = ("items", "data", "results", "rows", "records", "value", "hits")


@dataclass(frozen=True)
class HostileBody:
    """`headers` may hold any bytes that are allowed in one."""

    data: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: Mapping[str, str] | None = None


def size(order: Random) -> int:
    """In characters: from a few to five million, mostly below 200,000, and most of these around the hard cap."""
    chance = order.random()
    if chance < 0.4:
        return int(10 ** order.uniform(0.5, 3.7))
    if chance < 0.985:
        return int(10 ** order.uniform(3.7, 5.0))
    return int(10 ** order.uniform(5.0, 6.0 if chance < 0.998 else 6.7))


# -- Texts ------------------------------------------------------------------------------------------


def log(order: Random, length: int) -> bytes:
    messages = [text(order, order.choice((5, 40, 40, 400))) for _ in range(20)]
    lines = (
        f"2026-11-{n % 28 + 1:02}T10:{n % 60:02}:00Z {order.choice(('INFO', 'ERROR', 'WARN'))} {order.choice(messages)}"
        for n in range(length // 60 + 1)
    )
    return "\n".join(lines)[:length].encode()


def table(order: Random, length: int) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL if order.random() < 0.5 else csv.QUOTE_MINIMAL)
    columns = [text(order, order.randint(1, 12)) for _ in range(order.randint(1, 20))]
    writer.writerow(columns)
    while written.tell() < length:
        writer.writerow([text(order, order.randint(0, 30)) for _ in columns])
    return written.getvalue().encode()


def lines_of_json(order: Random, length: int) -> bytes:
    return b"\n".join(values.written(Random(0), row).replace(b"\n", b" ") for row in values.rows(order, length))


def markup(order: Random, length: int) -> bytes:
    long = order.choice((5, 50, 500))
    inner = "".join(
        f'<row id="{n}"><note>{escape(text(order, long))}</note><note/></row>' for n in range(length // (long + 40) + 1)
    )
    return f"<rows>{inner}</rows>".encode()


def prose(order: Random, length: int) -> bytes:
    return text(order, length).encode()


TEXTS: tuple[tuple[str, Callable[[Random, int], bytes]], ...] = (
    ("text/plain", prose),
    ("text/plain", prose),
    ("text/plain", log),
    ("text/plain; charset=utf-8", markup),
    ("text/csv", table),
    ("text/markdown", prose),
    ("application/yaml", prose),
)


def a_text(order: Random) -> HostileBody:
    content_type, make = order.choice(TEXTS)
    return HostileBody(make(order, size(order)), content_type)


# -- Records and lists ------------------------------------------------------------------------------


def a_record(order: Random) -> HostileBody:
    return HostileBody(values.written(order, values.record(order, size(order))))


def a_list(order: Random) -> HostileBody:
    found = values.rows(order, size(order))
    return HostileBody(values.written(order, found if order.random() < 0.6 else _around(order, found)))


def _around(order: Random, found: list[Any]) -> dict[str, Any]:
    """The rows with data beside them, which may be larger."""
    beside = {values.name(order): values.value(order, order.choice((5, 50, 5000, 50_000))) for _ in range(3)}
    return {**beside, order.choice(PAGE_NAMES): found}


def anything(order: Random) -> HostileBody:
    """Under any of the types that have readers of their own, or another."""
    make = order.choice((a_text, a_record, a_list, _json_lines, _xml, _file))
    return make(order)


def _json_lines(order: Random) -> HostileBody:
    return HostileBody(lines_of_json(order, size(order)), "application/x-ndjson")


def _xml(order: Random) -> HostileBody:
    return HostileBody(markup(order, size(order)), "application/xml")


def _file(order: Random) -> HostileBody:
    kind = order.choice(("image/png", "application/pdf", "application/octet-stream", "x/y", "audio/wav"))
    return HostileBody(order.randbytes(size(order)), kind)


@dataclass(frozen=True)
class HostilePages:
    """A list in pages, which the upstream sizes as it likes. `key` is where a page says what follows."""

    name: str
    key: str

    def page(self, seed: str, number: int) -> HostileBody:
        of_all = Random(seed)
        last, rows_at, shape = of_all.randint(1, MOST_PAGES), of_all.choice(PAGE_NAMES), of_all.choice(values.SHAPES)
        long = size(of_all) // last
        order = Random(f"{seed}/{number}")
        found = shape(order, long) if number <= last else []
        following = self._following(number + 1) if number < last else None
        beside = {values.name(order): values.value(order, 40)} if order.random() < 0.3 else {}
        return HostileBody(values.written(order, {**beside, rows_at: found, self.key: following}))

    def _following(self, number: int) -> Any:
        return number if self.key == "page" else f'{number}~ü"\\/+&=%?{"x" * 50}'


# -- Faults -----------------------------------------------------------------------------------------

WRONG_TYPES = (
    "application/json; charset=utf-16", "application/json; charset=rot13", "text/html", "application/xml", "text/csv",
    "", "application/x-ndjson", "image/png", "text/plain; charset=latin-1", "application/json" + "; a=b" * 200, "/",
    "json", "application/json; charset=\"\"", "multipart/form-data", "text/event-stream",
)  # fmt: skip
HOSTILE_HEADERS = (
    {"Link": '<javascript:x>; rel="next", <http://[::1>; rel=next'}, {"ETag": '"' + "e" * 4000 + '"'},
    {"X-Long": "y" * 8000}, {"Retry-After": "-1"}, {"Retry-After": "soon"}, {"Content-Language": "\xe9\xff"},
    {"Content-Disposition": 'attachment; filename="..\\..\\x"'}, {"Last-Modified": "never"},
    {"Cache-Control": "max-age=x"},
    {"X-RateLimit-Remaining": "NaN", "X-RateLimit-Reset": "1e999"}, {"Set-Cookie": "a=b; Domain=.example"},
)  # fmt: skip
STATUSES = (400, 401, 403, 404, 409, 410, 418, 422, 451, 500, 500, 501, 502, 599, 204, 203, 206, 299)


def faulty(order: Random, good: HostileBody) -> HostileBody:
    """The body under a status of failure, under another type, cut off, or with headers that are none."""
    match order.randrange(6):
        case 0 | 1:
            return HostileBody(_message(order), status=order.choice(STATUSES))
        case 2:
            return HostileBody(good.data, order.choice(WRONG_TYPES))
        case 3:
            return HostileBody(good.data[: order.randint(0, len(good.data))], good.content_type)
        case 4:
            return HostileBody(good.data, good.content_type, headers=order.choice(HOSTILE_HEADERS))
    packed = gzip.compress(good.data, 1)
    return HostileBody(packed, good.content_type, headers={"Content-Encoding": "gzip"})


def _message(order: Random) -> bytes:
    long = text(order, order.choice((10, 300, 5000, 60_000)))
    found = order.choice(
        (
            {"error": {"message": long, "code": long}},
            {"message": long},
            {"errors": [{"detail": long, "field": long}] * order.randint(1, 30)},
            {"title": long, "detail": {"deep": [long]}},
            [long],
            long,
        )
    )
    return values.written(order, found) if order.random() < 0.8 else long.encode()
