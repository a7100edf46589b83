"""No planted secret leaves a running server, through whatever transport, and however it is asked for."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError

from tests.canaries import Planted, leaked, planted
from tests.e2e.clusters import rest, seconds_until
from tests.e2e.serving import ROOT, Serving, serving
from tests.e2e.test_clients import TRANSPORTS
from tests.patience import PATIENCE
from tests.simulators.shop import shop

PLANT = """
import json, sys
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from pathlib import Path
given = json.loads(Path({path!r}).read_text())
for mapped in (BOOKINGS, LISTINGS, TRANSACTIONS):
    list(store.save(mapped, [{{**given["record"], "id": n}} for n in (7, 8, 9)]))
store.save_document("manual-of-the-house.txt", "Manual", "text/plain", given["document"])
"""
ONLY_WORDS = frozenset({"search_tools", "describe_tool", "call_tool"})


@dataclass(frozen=True)
class Account:
    sluice: Serving
    planted: Planted


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """The same secrets in the synced account, in an imported API, and in somebody else's MCP server."""
    folder, given = tmp_path_factory.mktemp("sluice"), planted()
    (folder / "planted.json").write_text(json.dumps({"record": given.record, "document": given.document}))
    child = {
        "command": sys.executable,
        "args": ["-m", "tests.simulators.planted_server"],
        "cwd": str(ROOT),
        "env": {"PLANTED": json.dumps(given.record)},
    }
    (folder / "servers.json").write_text(json.dumps({"mcpServers": {"planted": child}}))
    with ExitStack() as stack:
        api = stack.enter_context(shop())
        api.extra = {name: value for name, value in given.record.items() if name not in {"id", "name"}}
        (folder / "shop.json").write_text(json.dumps(api.document))
        variables = {
            "ALLOW_PRIVATE_UPSTREAMS": "true",
            "MCP_SERVERS_FILE": str(folder / "servers.json"),
            "TOOL_LIST_BUDGET": "100000",
        }
        sluice = stack.enter_context(serving(folder, **variables))
        for command in (
            ("shell", "-c", PLANT.format(path=str(folder / "planted.json"))),
            ("import_openapi", str(folder / "shop.json"), "--name", "shop", "--all"),
        ):
            done = sluice.manage(*command)
            assert done.returncode == 0, done.stderr
        with rest(sluice.base, sluice.key) as call:
            seconds_until(lambda: "error" not in call("planted_rows", {}), PATIENCE)
        yield Account(sluice, given)


class Crawl:
    """Everything that the tools of a transport answer, asked in every way that their answers offer, or in every way of
    a share of them: the ways from `first` on, in `steps`."""

    def __init__(self, ask: Any, canaries: tuple[str, ...], first: int = 0, steps: int = 1) -> None:
        self.ask, self.canaries = ask, canaries
        self.share = slice(first, None, steps)
        self.answers = 0

    async def __call__(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        text = await self.ask(tool, arguments)
        self.answers += 1
        assert list(leaked(text, self.canaries)) == [], (tool, arguments)
        document = json.loads(text)
        return document if isinstance(document, dict) else {}

    async def tool(self, name: str, schema: Mapping[str, Any]) -> None:
        for arguments in _identities(name, schema):
            first = await self(name, arguments)
            for way in list(_ways(schema))[self.share]:
                answer = await self(name, {**arguments, **way})
                for _ in range(5):
                    if not (cursor := answer.get("nextCursor")):
                        break
                    answer = await self(name, {**arguments, **way, "cursor": cursor})
            if handle := first.get("meta", {}).get("resultHandle"):
                await self.result(handle)

    async def result(self, handle: str) -> None:
        for name, more in (
            ("result_get", {}),
            ("result_get", {"fields": "all"}),
            ("result_get", {"path": "customFieldValues"}),
            ("result_get", {"rows": "0", "fields": "all"}),
            ("result_search", {"regex": "Zx7[0-9]+"}),
            ("result_search", {"text": "code"}),
            ("result_query", {"sql": "SELECT * FROM rows"}),
            ("result_query", {"sql": 'SELECT "doorCode", "entryCode" FROM rows'}),
            ("result_query", {"sql": "SELECT max(hostNote) FROM rows"}),
        ):
            await self(name, {"handle": handle, **more})


def _identities(name: str, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What opens each thing that was planted."""
    required = schema.get("required", [])
    if name == "read_document":
        return [{"id": "manual-of-the-house.txt"}]
    if required == ["id"]:
        return [{"id": 7 if schema["properties"]["id"]["type"] == "integer" else "1"}]
    return [] if required else [{}]


def _ways(schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    taken = schema["properties"]
    if "fields" in taken:
        for fields in ("all", "doorCode", "hostNote", "customFieldValues", "entry_codes", "customFieldValues.*.value"):
            yield {"fields": fields}
    if "format" in taken:
        yield {"fields": "all", "format": "table"}
    if "where" in taken:
        for name in ("doorCode", "door_code", "hostNote", "reservationUnit.unit.deep", "doorCodes.front"):
            yield {"where": {name: {"contains": "a"}}}
            yield {"where": {name: {"isnull": False}}, "fields": "all"}
            yield {"where": {f"{name}x": 1}}  # a name that is not there: what is offered instead?
    if "aggregate" in taken:
        for name in ("doorCode", "hostNote", "entry_codes", "doorCodes.front"):
            yield {"aggregate": {"groupBy": [name], "metrics": [{"op": "count"}]}}
            yield {"aggregate": {"metrics": [{"op": "max", "field": name}]}}
    if "order" in taken:
        yield {"order": "-doorCode"}
    if "startLine" in taken:
        yield {"startLine": 3, "endLine": 6}


@pytest.mark.parametrize("transport", list(TRANSPORTS))
def test_no_canary_leaves_through_mcp(account: Account, transport: str):
    """Each transport is asked for everything, and the ways of asking are divided among them, as one dispatcher answers
    them all (tests/properties/test_same_at_every_door.py)."""
    asked = anyio.run(_crawled, TRANSPORTS[transport](account.sluice), account.planted, transport)
    assert asked > 100


async def _crawled(target: Any, given: Planted, transport: str) -> int:
    async with Client(target) as client:

        async def ask(tool: str, arguments: Mapping[str, Any]) -> str:
            result = await client.call_tool(tool, dict(arguments))
            return str(result.content[0].text)

        crawl = Crawl(ask, given.canaries, list(TRANSPORTS).index(transport), len(TRANSPORTS))
        tools = (await client.list_tools()).tools
        assert not list(leaked(" ".join(tool.model_dump_json() for tool in tools), given.canaries))
        for tool in tools:
            if tool.name not in ONLY_WORDS and not tool.name.startswith(("result_", "nsip_")):
                await crawl.tool(tool.name, tool.input_schema)
        seen = {tool.name for tool in tools}
        assert {"list_bookings", "get_listing", "read_document", "planted_rows", "planted_error"} <= seen
        for template in (await client.list_resource_templates()).resource_templates:
            for identity in ("7", "manual-of-the-house.txt"):
                uri = re.sub(r"\{[?&].*?\}", "", template.uri_template)
                await _without_a_leak(client.read_resource(re.sub(r"\{\w+\}", identity, uri)), given)
        for resource in (await client.list_resources()).resources:
            await _without_a_leak(client.read_resource(str(resource.uri)), given)
        for prompt in (await client.list_prompts()).prompts:
            wanted = {each.name: "7" for each in prompt.arguments or []}
            await _without_a_leak(client.get_prompt(prompt.name, wanted), given)
        return crawl.answers


async def _without_a_leak(request: Any, given: Planted) -> None:
    try:
        text = (await request).model_dump_json()
    except MCPError as refused:
        text = str(refused.error)
    assert not list(leaked(text, given.canaries))


def test_no_canary_leaves_through_rest_or_a_page(account: Account):
    sluice, given = account.sluice, account.planted
    with httpx2.Client(base_url=sluice.base, headers={"Authorization": f"Bearer {sluice.key}"}, timeout=60) as http:

        async def ask(tool: str, arguments: Mapping[str, Any]) -> str:
            return http.post(f"/api/v1/tools/{tool}", json=dict(arguments)).text

        async def crawled() -> int:
            crawl = Crawl(ask, given.canaries)
            for tool in ("list_bookings", "get_booking", "list_listings", "get_listing", "list_transactions"):
                is_record = tool.startswith("get_")
                names = ("fields",) if is_record else ("fields", "format", "where", "aggregate", "order")
                properties = {"id": {"type": "integer"}, **{name: {} for name in names}}
                await crawl.tool(tool, {"properties": properties, "required": ["id"] if is_record else []})
            return crawl.answers

        assert anyio.run(crawled) > 60
        for address in ("/api/v1/bookings/7", "/api/v1/documents/manual-of-the-house.txt", "/api/schema/", "/metrics"):
            assert not list(leaked(http.get(address).text, given.canaries)), address


def test_the_database_and_its_files_hold_no_canary(account: Account):
    """What is kept of the account at rest: rows, texts, snapshots, telemetry. Originals are sealed."""
    folder = Path(account.sluice.environment["DATA_DIR"])
    for path in folder.rglob("*"):
        if path.is_file() and path.name not in {"planted.json", "servers.json"}:
            assert not list(leaked(path.read_bytes().decode("latin-1"), account.planted.canaries)), path.name
