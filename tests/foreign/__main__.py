"""Crawls the tools that an OpenAPI document becomes: every value that its upstream sends must be readable, no answer
may exceed the hard cap, and none may be an error.

    python -m tests.foreign DOCUMENT [--most OPERATIONS]
"""

import argparse
import json
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import httpx2
from hypothesis.errors import NonInteractiveExampleWarning
from hypothesis.strategies import characters, from_regex

from context_protection.core import tokens
from gateway.catalog.schemas import kinds
from gateway.connectors.openapi.document import yaml_documents
from tests.e2e.serving import Serving, serving
from tests.foreign.invented import traces
from tests.foreign.pointers import pointers
from tests.foreign.upstream import Foreign, upstream_of

HARD_CAP = 12_000
MOST_CALLS = 2000  # for one tool
EXAMPLES = {
    "date": "2026-11-03",
    "date-time": "2026-11-03T10:00:00Z",
    "uuid": "00000007-7777-4777-8777-000000000007",
    "email": "q7@example.com",
    "uri": "https://example.com/q7",
}
SHOW_ALL = (
    "from context_protection.configuration.revisions import revisions; from gateway.access.models import ApiKey; "
    "ApiKey.objects.update(tool_listing='all'); revisions.bump()"
)


@dataclass
class Crawl:
    """What one tool gave, over all calls that its answers point to."""

    tool: str
    calls: int = 0
    largest: int = 0
    read: set[bytes] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    notes: set[str] = field(default_factory=set)
    withheld: set[str] = field(default_factory=set)


def crawl(client: httpx2.Client, tool: Mapping[str, Any]) -> Crawl:
    """Calls the tool and whatever its answers point to."""
    crawled = Crawl(tool["name"])
    arguments = dict(_required(tool["inputSchema"]))
    whole = {"fields": "all"} if "fields" in tool["inputSchema"]["properties"] else {}
    waiting = deque([(tool["name"], arguments), (tool["name"], {**arguments, **whole})])
    seen: set[str] = set()
    while waiting and crawled.calls < MOST_CALLS:
        name, given = waiting.popleft()
        if (spelled := json.dumps([name, given], sort_keys=True)) in seen:
            continue
        seen.add(spelled)
        response = client.post(f"/api/v1/tools/{name}", json=given)
        crawled.calls += 1
        crawled.largest = max(crawled.largest, tokens.claude.count(response.text))
        crawled.read |= traces(response.content)
        answer = response.json()
        if "error" in answer and not response.is_success:
            crawled.errors.append(f"{name} {json.dumps(given)}: {answer['error'].get('message')}")
        waiting.extend(pointers(answer, name, given))
        meta = _meta(answer)
        crawled.notes.update(meta.get("notes") or ())
        crawled.withheld.update(meta.get("withheld") or ())
    if waiting:
        crawled.errors.append(f"{MOST_CALLS} calls did not reach the end")
    return crawled


def _meta(answer: Any) -> Mapping[str, Any]:
    """Sluice's own `meta`: in an answer that has a `meta` of upstream's, it is `_meta`."""
    found = answer.get("_meta", answer.get("meta")) if isinstance(answer, dict) else None
    return found if isinstance(found, dict) else {}


def _required(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in schema.get("required", ()):
        yield name, _example(schema["properties"][name])


def _example(schema: Mapping[str, Any]) -> Any:
    """A value that the schema allows."""
    for name in ("anyOf", "oneOf"):
        if schema.get(name):
            return _example(schema[name][0])
    kind, pattern = next(iter(kinds(schema)), None), schema.get("pattern")
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "array":
        return [_example(schema.get("items") or {})]
    if kind == "object":
        return dict(_required({"properties": {}, **schema}))
    if schema.get("format") in EXAMPLES:
        return EXAMPLES[schema["format"]]
    if kind == "string" and pattern:
        return _matching(pattern, schema.get("maxLength"))
    if kind in ("integer", "number"):
        return min(max(7, schema.get("minimum", 7)), schema.get("maximum", 7_000_000))
    return True if kind == "boolean" else "q7".ljust(schema.get("minLength", 0), "7")


@cache
def _matching(pattern: str, longest: int | None) -> str:
    letters = characters(codec="ascii", min_codepoint=33, exclude_characters="/\\?#%")
    texts = from_regex(pattern, fullmatch=True, alphabet=letters).filter(lambda text: len(text) <= (longest or 100))
    with catch_warnings():
        simplefilter("ignore", NonInteractiveExampleWarning)
        return texts.example()


def tools_of(client: httpx2.Client) -> list[dict[str, Any]]:
    """The tools of the imported document, over all pages of the list."""
    found: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
        headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
        text = client.post("/mcp", json=message, headers=headers).text
        result = json.loads(text.partition("data: ")[2] or text)["result"]
        found.extend(each for each in result["tools"] if each["name"].startswith("foreign_"))
        if not result.get("nextCursor"):
            return found
        params = {"cursor": result["nextCursor"]}


def lost_values(crawled: Crawl, foreign: Foreign, sent: set[bytes]) -> dict[bytes, str]:
    """The values that were sent and could not be read, with their paths. Those that answers name as withheld are not
    lost."""
    places = foreign.places_of(sent - crawled.read)
    withheld = [f".{name.replace('.*', '')}." for name in crawled.withheld]
    return {value: path for value, path in places.items() if not any(name in f".{path}." for name in withheld)}


def report(crawled: Crawl, foreign: Foreign, sent: set[bytes]) -> bool:
    """Prints what is wrong, and says whether something is."""
    lost = lost_values(crawled, foreign, sent)
    if lost:
        where = sorted(set(lost.values()))
        print(f"LOST {len(lost)} of {len(sent)}: {crawled.tool}, {crawled.calls} calls, at {where[:6]}")
    for error in crawled.errors[:3]:
        print(f"ERROR {crawled.tool}: {error[:400]}")
    if crawled.largest > HARD_CAP:
        print(f"ABOVE THE CAP {crawled.tool}: {crawled.largest:,} tokens")
    return bool(lost or crawled.errors or crawled.largest > HARD_CAP)


def crawl_document(document: Mapping[str, Any], path: Path, most: int) -> int:
    """The number of tools with which something is wrong; 1 if the document cannot be imported."""
    with (
        tempfile.TemporaryDirectory() as data,
        upstream_of(document) as foreign,
        serving(Path(data), ALLOW_PRIVATE_UPSTREAMS="127.0.0.0/8") as sluice,
    ):
        imported = sluice.manage("import_openapi", str(path), "--name", "foreign", "--base-url", foreign.url, "--all")
        print(imported.stdout[-600:] if imported.returncode == 0 else imported.stderr)
        if imported.returncode:
            return 1
        sluice.manage("shell", "-c", SHOW_ALL)
        return _crawl_all(sluice, foreign, most)


def _crawl_all(sluice: Serving, foreign: Foreign, most: int) -> int:
    wrong = calls = values = rows_lists = whole_walks = 0
    largest = 0
    with httpx2.Client(base_url=sluice.base, headers={"Authorization": f"Bearer {sluice.key}"}, timeout=120) as client:
        tools = tools_of(client)
        assert tools, "no tool is listed"
        step = max(1, len(tools) // most)
        for tool in tools[::step]:
            foreign.served, before = set(), len(foreign.lists_served)
            crawled = crawl(client, tool)
            wrong += report(crawled, foreign, foreign.served)
            calls, values, largest = calls + crawled.calls, values + len(foreign.served), max(largest, crawled.largest)
            for template in list(foreign.lists_served)[before:]:
                rows_lists += 1
                whole = not lost_values(crawled, foreign, foreign.lists_served[template])
                whole_walks += whole
                if not whole:
                    print(
                        f"NOT WHOLE {crawled.tool}: {foreign.listing(template)!s:.200} notes: {sorted(crawled.notes)}"
                    )
    print(
        f"{len(tools[::step])} of {len(tools)} tools, {calls:,} calls, {values:,} values sent, "
        f"largest answer {largest:,} tokens, {whole_walks} of {rows_lists} lists read whole, {wrong} tools with faults"
    )
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.foreign")
    parser.add_argument("document", type=Path)
    parser.add_argument("--most", type=int, default=60, help="operations that are tried, spread over the document")
    options = parser.parse_args()
    text = options.document.read_text()
    document = json.loads(text) if options.document.suffix == ".json" else yaml_documents.load(text)
    return 1 if crawl_document(document, options.document, options.most) else 0


if __name__ == "__main__":
    raise SystemExit(main())
