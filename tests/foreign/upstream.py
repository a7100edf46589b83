"""An upstream for any OpenAPI document, over real HTTP: lists of invented rows, paged as the document says, and
invented records."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.foreign.invented import Inventor, traces

ROWS = 83
LARGE_ROW = 41  # the place of the row that is much larger than the others
PAGE_ROWS = 20
MOST_PAGE_ROWS = 100
PAGES = ("page", "page_number", "pageNumber", "pageIndex", "page[number]", "pageNo")
OFFSETS = ("offset", "skip", "start", "startAt", "start_at", "$skip", "from")
CURSORS = (
    "cursor",
    "page_token",
    "pageToken",
    "next_token",
    "nextToken",
    "continuation",
    "continuationToken",
    "marker",
)
LAST_IDS = ("starting_after", "after", "after_id", "last_id")
SIZES = ("limit", "per_page", "page_size", "pageSize", "perPage", "size", "count", "maxResults", "max_results", "$top")
MADE_UPSTREAM = re.compile(r"cursor|opaque|link", re.IGNORECASE)
A_DATE = re.compile(r"ISO-?8601|\bdate\b|date-time")
NEXT_NAMES = re.compile(r"^(next.*|.*next|.*_?cursor|continuation.*|marker)$", re.IGNORECASE)


@dataclass(frozen=True)
class Listing:
    """Where the rows are in the body (`()`: the body), their schema, and the names of the paging parameters. `opaque`:
    callers cannot make a position themselves."""

    place: tuple[str, ...]
    rows: dict[str, Any]
    style: str
    name: str
    size: str
    opaque: bool = False


@dataclass
class Foreign:
    document: Mapping[str, Any]
    url: str = ""
    served: set[bytes] = field(default_factory=set)  # the unique values that were sent
    requests: int = 0
    lists_served: dict[str, set[bytes]] = field(default_factory=dict)  # all values of a list's rows, by its template

    def __post_init__(self) -> None:
        self.inventor = Inventor(self.document)
        self.operations = {
            path: operation["get"]
            for path, operation in self.document.get("paths", {}).items()
            if isinstance(operation, dict) and "get" in operation
        }
        self._patterns = sorted(
            (
                (re.compile("^" + re.sub(r"\\{[^/]+?\\}", "[^/]+", re.escape(path.partition("#")[0])) + "/?$"), path)
                for path in self.operations
            ),
            key=lambda each: each[1].count("{"),
        )
        self._made: dict[str, Any] = {}

    def answer(self, path: str, query: Mapping[str, str]) -> tuple[int, Any, dict[str, str]]:
        template = next((name for pattern, name in self._patterns if pattern.match(path)), None)
        if template is None:
            return 404, {"message": f"There is no {path}."}, {}
        schema = self._schema(template)
        listing = self.listing(template)
        if listing is None:
            return (
                200,
                self._kept(template, lambda: self.inventor.value(schema, items=5, is_large=len(path) % 3 == 0)),
                {},
            )
        rows = self._kept(template, lambda: self._rows(listing))
        if template not in self.lists_served:
            self.lists_served[template] = traces(json.dumps(rows).encode())
        body = (
            {}
            if listing.place == ()
            else self._kept(f"around {template}", lambda: self.inventor.value(schema, items=0))
        )
        return 200, *self._page(listing, rows, body, path, query)

    def _kept(self, name: str, make: Any) -> Any:
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]

    def _rows(self, listing: Listing) -> list[Any]:
        return [self.inventor.value(listing.rows, 2, 20 if n == LARGE_ROW else 2, n == LARGE_ROW) for n in range(ROWS)]

    def places_of(self, values: set[bytes]) -> dict[bytes, str]:
        """The dotted path of each unique value that was made, without the places in arrays."""
        found: dict[bytes, str] = {}

        def look(value: Any, path: str) -> None:
            if isinstance(value, dict):
                for name, each in value.items():
                    look(each, f"{path}.{name}" if path else name)
            elif isinstance(value, list):
                for each in value:
                    look(each, path)
            else:
                found.update(dict.fromkeys(traces(json.dumps(value).encode()) & values, path))

        for name, made in self._made.items():
            listing = self.listing(name) if name in self.operations else None
            look(made, ".".join(listing.place) if listing else "")
        return found

    # -- What the document says ----------------------------------------------------------------------

    def _schema(self, template: str) -> dict[str, Any]:
        responses = self.operations[template].get("responses") or {}
        found = next((responses[code] for code in ("200", "201", "default", 200) if code in responses), {})
        found = self.inventor.resolved(found["$ref"]) if "$ref" in found else found
        if "schema" in found:  # Swagger 2
            return self.inventor.schema(found["schema"])
        for kind, content in (found.get("content") or {}).items():
            if "json" in kind:
                return self.inventor.schema(content.get("schema"))
        return {}

    def listing(self, template: str) -> Listing | None:
        """Its rows and paging, if it is a list of objects."""
        schema = self._schema(template)
        place = self._place(schema)
        if place is None:
            return None
        rows = schema
        for name in place:
            rows = self.inventor.schema(rows.get("properties", {}).get(name))
        names = self._parameters(template)
        size = next((name for name in SIZES if name in names), "")
        names = {name: each for name, each in names.items() if not each.get("required") and not _is_date(each)}
        for style, known in (("page", PAGES), ("offset", OFFSETS), ("cursor", CURSORS), ("last id", LAST_IDS)):
            name = next((each for each in known if each in names), None)
            if name is not None:
                is_opaque = bool(MADE_UPSTREAM.search(str(names[name].get("description"))))
                return Listing(place, self.inventor.schema(rows.get("items")), style, name, size, is_opaque)
        return Listing(place, self.inventor.schema(rows.get("items")), "none", "", size)

    def _parameters(self, template: str) -> dict[str, Any]:
        shared = self.document["paths"][template].get("parameters") or []
        found = [*shared, *(self.operations[template].get("parameters") or [])]
        found = [self.inventor.resolved(each["$ref"]) if "$ref" in each else each for each in found]
        return {each.get("name", ""): each for each in found if each.get("in") == "query"}

    def _place(self, schema: Mapping[str, Any]) -> tuple[str, ...] | None:
        if schema.get("type") == "array":
            return () if self._has_objects(schema) else None
        found = [
            (name,)
            for name, each in (schema.get("properties") or {}).items()
            if self.inventor.schema(each).get("type") == "array" and self._has_objects(self.inventor.schema(each))
        ]
        plain = [name for name, each in (schema.get("properties") or {}).items() if name in ("id", "uuid")]
        return found[0] if len(found) == 1 and not plain else None

    def _has_objects(self, schema: Mapping[str, Any]) -> bool:
        return bool(self.inventor.schema(schema.get("items")).get("properties"))

    # -- Pages ---------------------------------------------------------------------------------------

    def _page(
        self, listing: Listing, rows: list[Any], around: Any, path: str, query: Mapping[str, str]
    ) -> tuple[Any, dict[str, str]]:
        size = min(int(query.get(listing.size) or PAGE_ROWS), MOST_PAGE_ROWS) if listing.style != "none" else ROWS
        start = self._start(listing, rows, query, size)
        page, end = rows[start : start + size], start + size
        headers = {}
        following = {"page": str(end // size + 1), "offset": str(end), "cursor": f"c{end}"}.get(listing.style, "")
        if listing.opaque and page and listing.place == () and isinstance(page[-1], dict):
            following = following or str(page[-1].get("id") or "")
        is_last = end >= len(rows) or listing.style == "none"
        if not is_last and listing.place == () and following:
            address = f"{self.url}{path}?{urlencode({**query, listing.name: following})}"
            headers["Link"] = f'<{address}>; rel="next"'
        if listing.place == ():
            return page, headers
        if listing.style == "last id" and page and "id" in page[-1]:
            following = f"{self.url}{path}?{urlencode({**query, listing.name: page[-1]['id']})}"
        return self._filled(around, listing, page, None if is_last else following, is_last), headers

    def _start(self, listing: Listing, rows: list[Any], query: Mapping[str, str], size: int) -> int:
        given = query.get(listing.name) if listing.name else None
        if not given:
            return 0
        match listing.style:
            case "page":
                return (max(int(given), 1) - 1) * size
            case "offset":
                return int(given)
            case "cursor":
                return int(given.removeprefix("c"))
        ids = [str(row.get("id")) if isinstance(row, dict) else "" for row in rows]
        return ids.index(given) + 1 if given in ids else 0

    def _filled(self, around: Any, listing: Listing, page: list[Any], following: str | None, is_last: bool) -> Any:
        def fill(body: Any) -> Any:
            if not isinstance(body, dict):
                return body
            made: dict[str, Any] = {}
            for name, each in body.items():
                if name in ("has_more", "hasMore", "has_next_page", "more"):
                    made[name] = not is_last
                elif name in ("total", "total_count", "totalCount", "totalItems"):
                    made[name] = ROWS
                elif NEXT_NAMES.match(name) and isinstance(each, bool):
                    made[name] = not is_last
                elif NEXT_NAMES.match(name) and not isinstance(each, dict | list):
                    made[name] = following
                elif NEXT_NAMES.match(name) and isinstance(each, dict):
                    made[name] = dict.fromkeys(each, following)
                else:
                    made[name] = fill(each)
            return made

        return {**fill(around), listing.place[0]: page}


def _is_date(parameter: Mapping[str, Any]) -> bool:
    """Whether `from` or `start` is a time, and no position."""
    return bool(A_DATE.search(f"{parameter.get('description')} {parameter.get('schema', parameter).get('format')}"))


@contextmanager
def upstream_of(document: Mapping[str, Any]) -> Iterator[Foreign]:
    foreign = Foreign(document)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            status, body, headers = foreign.answer(address.path, dict(parse_qsl(address.query)))
            data = json.dumps(body).encode()
            foreign.requests += 1
            foreign.served |= traces(data)
            self.send_response(status)
            for name, value in {
                **headers,
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        foreign.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield foreign
        finally:
            server.shutdown()
            thread.join()
