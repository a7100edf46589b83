"""Real clients against `manage.py serve`: the official SDKs over every transport, and HTTP."""

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import count, permutations, takewhile
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import websockets
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from tests import crawler
from tests.crawler import Call
from tests.doors import ADDRESSES
from tests.e2e.clusters import seconds_until
from tests.e2e.serving import ROOT, Serving, serving, websocket_to
from tests.needs import CLIENTS, NODE
from tests.patience import PATIENCE
from tests.properties.desk import real_tokens
from tests.tls import TLS


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sluice")) as running:
        yield running


@asynccontextmanager
async def over_websocket(sluice: Serving) -> AsyncIterator[Any]:
    """The SDK has no WebSocket transport any more; two streams and a socket are one."""
    headers = {"Authorization": f"Bearer {sluice.key}"}
    async with websocket_to(sluice.websocket, subprotocols=["mcp"], additional_headers=headers) as socket:
        to_client, incoming = anyio.create_memory_object_stream[Any](64)
        outgoing, from_client = anyio.create_memory_object_stream[Any](64)

        async def read() -> None:
            async with to_client:
                async for frame in socket:
                    await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(frame)))

        async def write() -> None:
            async with from_client:
                async for message in from_client:
                    await socket.send(message.message.model_dump_json(by_alias=True, exclude_unset=True))

        async with anyio.create_task_group() as tasks, incoming, outgoing:
            tasks.start_soon(read)
            tasks.start_soon(write)
            yield incoming, outgoing
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def over_http(sluice: Serving) -> AsyncIterator[Any]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {sluice.key}"}, timeout=60) as http,
        streamable_http_client(f"{sluice.base}/mcp", http_client=http) as streams,
    ):
        yield streams


def over_stdio(sluice: Serving) -> StdioServerParameters:
    environment = {**sluice.environment, "SLUICE_API_KEY": sluice.key}
    return StdioServerParameters(command=sys.executable, args=[str(ROOT / "manage.py"), "mcp"], env=environment)


TRANSPORTS = {"websocket": over_websocket, "http": over_http, "stdio": over_stdio}


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("transport", list(TRANSPORTS))
def test_an_account_is_read_through_the_official_sdk(sluice: Serving, log: str, transport: str, era: str):
    found = anyio.run(read_account, TRANSPORTS[transport](sluice), era)
    assert found["sizes"] == [50] * 10
    assert found["distinct"] == 500
    assert found["largest_estimate"] <= 4000
    assert found["largest_real"] <= 12_000
    assert found["by_sections"] == found["by_parts"]
    assert found["log"].count("\n") == 10_000
    assert found["log"] == log


LOG = {"id": "sync-2026-11.log"}


@pytest.fixture(scope="module")
def log(sluice: Serving) -> str:
    """As REST gives it."""
    return crawler.text(lambda name, arguments: rest(sluice, name, arguments), "read_document", LOG)


async def read_account(target: Any, era: str) -> dict[str, Any]:
    """Walks, opens a preview, puts the record together again, reads the log: what the server is for."""
    async with Client(target, mode=era) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"list_bookings", "get_booking", "read_document"} <= names
        real: list[int] = []

        async def ask(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            result = await client.call_tool(name, arguments)
            real.append(real_tokens(result.content[0].text, 12_000))
            document: dict[str, Any] = json.loads(result.content[0].text)
            return document

        async def follow(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
            answers = [await ask(name, arguments)]
            while cursor := answers[-1].get("nextCursor"):
                answers.append(await ask(name, {**arguments, "cursor": cursor}))
            return answers

        pages = await follow("list_bookings", {})
        preview = await ask("get_booking", {"id": 43000003})
        more = preview["meta"]["detailsAvailable"]
        sections: dict[str, Any] = {}
        for section in more["sections"]:
            sections.update(crawler.own(await ask(more["tool"], {**more["arguments"], "fields": section})))
        whole = await follow(more["tool"], more["arguments"])
        return {
            "sizes": [len(page["items"]) for page in pages],
            "distinct": len({row["id"] for page in pages for row in page["items"]}),
            "largest_estimate": max(page["meta"]["estimatedTokens"] for page in pages),
            "by_sections": sections,
            "by_parts": crawler.own(whole[0]),
            "log": "".join(chunk["content"] for chunk in await follow("read_document", LOG)),
            "largest_real": max(real),
        }


def rest(sluice: Serving, name: str, arguments: Any) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {sluice.key}"}
    answer = httpx2.post(
        f"{sluice.base}/api/v1/tools/{name}", json=arguments, headers=headers, verify=TLS, timeout=PATIENCE
    )
    document: dict[str, Any] = answer.json()
    return document


# -- The TypeScript SDK -----------------------------------------------------------------------------

VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}  # by the SDK's names for how it negotiates
MANUAL = {"id": "house-manual.md"}
THRESHOLDS = count(1301)  # each another, so that it is a change


@pytest.fixture(scope="module")
def stateful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """With sessions at /mcp."""
    with serving(tmp_path_factory.mktemp("stateful"), MCP_STATEFUL="true") as running:
        yield running


@contextmanager
def node(script: str, *arguments: str) -> Iterator[Callable[[], str]]:
    """The next line that a script of the TypeScript clients says. It must end well."""
    NODE.or_skip()
    with subprocess.Popen(
        ["node", script, *arguments], cwd=CLIENTS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:

        def line() -> str:
            assert process.stdout is not None
            assert process.stderr is not None
            said = process.stdout.readline()
            assert said, process.stderr.read()
            return said

        try:
            yield line
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, errors


def was_read_whole(found: Mapping[str, Any], log: str) -> None:
    assert {"list_bookings", "get_booking", "read_document"} <= set(found["tools"])
    assert found["sizes"] == [50] * 10
    assert found["distinct"] == 500
    assert found["largest"] <= 4000
    assert found["sectionsAreTheWhole"]
    assert found["logBytes"] == len(log.encode())


@pytest.mark.node
def test_an_account_is_read_through_the_typescript_sdk_over_its_websocket_transport(sluice: Serving, log: str):
    """Version 1, the last that has one."""
    with node("walk.mjs", sluice.websocket, sluice.key) as line:
        found = json.loads(line())
    was_read_whole(found, log)


@pytest.mark.node
@pytest.mark.parametrize(
    ("door", "mode"),
    [("websocket", "legacy"), ("websocket", "auto"), ("http", "legacy"), ("http", "auto"), ("sessions", "legacy")],
)
def test_an_account_is_used_through_the_typescript_sdk_of_both_eras(
    request: pytest.FixtureRequest, log: str, door: str, mode: str
):
    """Version 2, over WebSocket by a transport of ours. Only sessionless HTTP of the older era has no way to tell a
    client of a change, nor to hear of a cancellation."""
    sluice: Serving = request.getfixturevalue("stateful" if door == "sessions" else "sluice")
    hears_and_tells = (door, mode) != ("http", "legacy")
    url = sluice.websocket if door == "websocket" else f"{sluice.base}/mcp"
    transport, tokens = "websocket" if door == "websocket" else "http", next(THRESHOLDS)
    cancelled = cancelled_calls(sluice, transport, VERSIONS[mode])
    with node("use.mjs", url, sluice.key, mode, f"{tokens} tokens") as line:
        if hears_and_tells:
            assert line() == "listening\n"
            seconds_until(lambda: cancelled_calls(sluice, transport, VERSIONS[mode]) == cancelled + 1, PATIENCE)
            with threshold(sluice, tokens):
                found = json.loads(line())
        else:
            found = json.loads(line())
    was_read_whole(found, log)
    assert found["version"] == VERSIONS[mode]
    assert found["chunk"] == rest(sluice, "read_document", MANUAL)["content"]
    assert "list_transactions" in found["prompt"]
    assert found["months"][:2] == ["2027-09", "2027-05"]
    assert found["refusal"]["isError"]
    assert found["refusal"]["reason"] == "invalid_limit"
    assert found["progress"]["progress"] > 0
    assert found["progress"]["message"].startswith("result_query: ")
    assert found["slow"] == "sql_timeout"
    assert "given up" in found["stopped"]
    assert found["afterwards"] == 500
    assert found["announced"] == hears_and_tells
    assert found.get("subscription") == ({"toolsListChanged": True} if mode == "auto" else None)


def cancelled_calls(sluice: Serving, transport: str, protocol: str) -> int:
    """By the database itself: a command of manage.py takes a second, and this is asked again and again. Only of these
    clients: a call that another client left behind may be recorded as cancelled long after that client has gone."""
    statement = (
        "SELECT count(*) FROM telemetry_telemetryrecord WHERE error_reason = 'cancelled' AND door = ? AND protocol = ?"
    )
    with closing(sqlite3.connect(Path(sluice.environment["DATA_DIR"]) / "sluice.sqlite3")) as database:
        (amount,) = database.execute(statement, (transport, protocol)).fetchone()
    return int(amount)


@contextmanager
def threshold(sluice: Serving, tokens: int) -> Iterator[None]:
    """While this lasts, NSIP's animals above so many tokens are summarised, and their tool's description says so."""
    change = (
        "from context_protection.models import TokenBudget as T; "
        "T.objects.update_or_create(operation='nsip_get_animal', defaults={'token_budget_threshold': %s})"
    )
    assert sluice.manage("shell", "-v", "0", "-c", change % tokens).returncode == 0
    try:
        yield
    finally:
        assert sluice.manage("shell", "-v", "0", "-c", change % None).returncode == 0


def test_a_budget_edited_in_another_process_is_obeyed_by_the_very_next_answer(sluice: Serving):
    """Another process on this machine, as stdio's is: no Redis tells the server, a file's time does."""
    set_page = (
        "from context_protection.models import TokenBudget as T; "
        "T.objects.update_or_create(operation='list_bookings', defaults={'default_page_size': %s})"
    )
    assert len(rest(sluice, "list_bookings", {})["items"]) == 50
    try:
        assert sluice.manage("shell", "-v", "0", "-c", set_page % 7).returncode == 0
        assert len(rest(sluice, "list_bookings", {})["items"]) == 7
    finally:
        assert sluice.manage("shell", "-v", "0", "-c", set_page % None).returncode == 0
    assert len(rest(sluice, "list_bookings", {})["items"]) == 50


def test_a_key_made_and_revoked_on_the_command_line_works_and_stops_working_at_once(sluice: Serving):
    made = sluice.manage("apikey", "create", "colleague")
    assert made.returncode == 0
    assert made.stdout.strip().startswith("slc_"), "the key alone on stdout"
    assert "\n" not in made.stdout.strip()
    headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
    assert httpx2.get(f"{sluice.base}/api/v1/bookings", headers=headers, timeout=PATIENCE).status_code == 200
    assert sluice.manage("apikey", "revoke", "colleague").returncode == 0
    with closing(sqlite3.connect(Path(sluice.environment["DATA_DIR"]) / "sluice.sqlite3")) as database:
        changes = database.execute("SELECT actor FROM telemetry_event WHERE subject = 'colleague'").fetchall()
    assert changes == [("manage.py apikey",)] * 2, "the history names the command"
    assert httpx2.get(f"{sluice.base}/api/v1/bookings", headers=headers, timeout=PATIENCE).status_code == 401


def test_a_second_start_keeps_the_data_and_is_ready_in_three_seconds(sluice: Serving, tmp_path: Path):
    data_dir = Path(sluice.environment["DATA_DIR"])
    for name in ("sluice.sqlite3", "secret_key"):
        shutil.copy(data_dir / name, tmp_path)
    began = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "manage.py", "serve", "--port", "0"],
        cwd=ROOT,
        env={**sluice.environment, "DATA_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        said = "".join(takewhile(lambda line: not line.startswith("Sluice listens on"), process.stdout))
        seconds = time.monotonic() - began
        process.terminate()
    assert "Claude Code" not in said, "nothing is made again"
    assert "slc_" not in said, "nothing is shown again"
    assert seconds < 2 * PATIENCE, "a hanging start; how fast it is belongs to the benchmarks"


def test_a_port_that_is_in_use_is_reported(sluice: Serving):
    port = sluice.base.rsplit(":", 1)[1]
    done = sluice.manage("serve", "--port", port)
    assert done.returncode == 1
    assert f"Port {port} on 127.0.0.1 is in use" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"SLUICE_API_KEY": ""}, "SLUICE_API_KEY is not set"),
        ({"SLUICE_API_KEY": "slc_wrong"}, "unknown or was revoked"),
        ({"SLUICE_API_KEY": "x", "MCP_TRANSPORT": "carrier-pigeon"}, "MCP_TRANSPORT"),
    ],
)
def test_stdio_without_what_it_needs_says_so(sluice: Serving, environment: dict[str, str], words: str):
    done = sluice.manage("mcp", **environment)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer slc_wrong"}, {"Authorization": "Basic eDp5"}])
def test_no_door_opens_without_a_key(sluice: Serving, headers: dict[str, str]):
    for method, address in (("GET", "/api/v1/bookings"), ("POST", "/api/v1/tools/list_bookings"), ("POST", "/mcp")):
        answer = httpx2.request(
            method, sluice.base + address, headers=headers, json={} if method == "POST" else None, timeout=PATIENCE
        )
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["error"]["reason"] == "not_authenticated"
    status = anyio.run(websocket_status, sluice.websocket, headers, ["mcp"])
    assert status == 401


async def websocket_status(url: str, headers: dict[str, str], protocols: list[str]) -> int:
    try:
        async with websocket_to(url, additional_headers=headers, subprotocols=protocols):  # type: ignore[arg-type]
            return 101
    except websockets.InvalidStatus as refused:
        return int(refused.response.status_code)


def test_a_foreign_page_or_host_does_not_come_in(sluice: Serving):
    key = {"Authorization": f"Bearer {sluice.key}"}
    assert (
        httpx2.post(
            f"{sluice.base}/mcp", headers={**key, "Origin": "https://evil.example"}, timeout=PATIENCE
        ).status_code
        == 403
    )
    assert (
        httpx2.post(f"{sluice.base}/mcp", headers={**key, "Host": "evil.example"}, timeout=PATIENCE).status_code == 400
    )
    refused = anyio.run(websocket_status, sluice.websocket, {**key, "Origin": "https://evil.example"}, ["mcp"])
    assert refused == 403
    assert anyio.run(websocket_status, sluice.websocket, {**key, "Origin": sluice.base}, ["mcp"]) == 101
    assert anyio.run(websocket_status, sluice.websocket, key, ["graphql-ws"]) == 400


def test_what_is_not_mcp_on_a_socket_is_answered(sluice: Serving):
    answers, code = anyio.run(talk_nonsense, sluice)
    assert [answer["error"]["code"] for answer in answers] == [-32700, -32600, -32600]
    assert code == 1003


async def talk_nonsense(sluice: Serving) -> tuple[list[dict[str, Any]], int]:
    headers = {"Authorization": f"Bearer {sluice.key}"}
    async with websocket_to(sluice.websocket, subprotocols=["mcp"], additional_headers=headers) as socket:
        answers = []
        for frame in ("{nonsense", '{"jsonrpc":"1.0"}', "[]"):
            await socket.send(frame)
            answers.append(json.loads(await socket.recv()))
        await socket.send(b"\x00\x01")
        await socket.wait_closed()
        assert socket.close_code is not None
        return answers, socket.close_code


def test_health_shows_real_figures(sluice: Serving):
    key = {"Authorization": f"Bearer {sluice.key}"}

    def shown() -> dict[str, Any]:
        document: dict[str, Any] = httpx2.get(f"{sluice.base}/health", headers=key, timeout=PATIENCE).json()
        return document

    before = shown()["calls"]
    for _ in range(3):
        rest(sluice, "list_bookings", {})
    seconds_until(lambda: shown()["calls"] >= before + 3, 2 * PATIENCE)  # a page that takes a while is shown again
    health = shown()
    assert health["status"] == "ok"
    assert 0 < health["paginationAdoption"] <= 1
    assert health["averageResponseBytes"] > 0


@pytest.mark.parametrize(
    ("method", "address", "headers", "status"),
    [
        ("GET", "/api/v1/bookings", {"Host": "evil.example"}, 400),
        ("POST", "/health", {}, 403),
        ("DELETE", "/api/v1/bookings", {}, 405),
        ("GET", "/api/v1/bookings/", {}, 404),
    ],
)
def test_no_program_is_answered_with_a_page(
    sluice: Serving, method: str, address: str, headers: dict[str, str], status: int
):
    answer = httpx2.request(
        method, sluice.base + address, headers={"Authorization": f"Bearer {sluice.key}", **headers}, timeout=PATIENCE
    )
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"]["reason"]


def test_nesting_without_end_is_refused(sluice: Serving):
    for depth in (100, 500, 900, 5000):
        body = '{"guestName":' + "[" * depth + "]" * depth + "}"
        headers = {"Authorization": f"Bearer {sluice.key}", "Content-Type": "application/json"}
        answer = httpx2.post(
            f"{sluice.base}/api/v1/tools/list_bookings", content=body, headers=headers, timeout=PATIENCE
        )
        assert answer.status_code == 400


# -- Asking, and handles ----------------------------------------------------------------------------

Said = Callable[[str, Mapping[str, Any]], str]  # an operation, its arguments: the very text that a client gets

CONFIRMED = {"where": {"status": "confirmed", "totalPrice": {"gte": 500}}}
REVENUE = {
    "groupBy": ["propertyId"],
    "metrics": [{"op": "sum", "field": "totalPrice", "as": "revenue"}, {"op": "count"}],
    "orderBy": "-revenue",
}
# How to get more is said in each door's own form, which takes more tokens or fewer.
DOOR_DEPENDENT = {"detailsAvailable", "estimatedTokens", "budgetUsed", "budgetRemaining"}


@contextmanager
def open_doors(sluice: Serving) -> Iterator[dict[str, Said]]:
    """Every way in, by its name: REST as curl uses it, and the official SDK over each transport."""
    with ExitStack() as opened:
        portal = opened.enter_context(start_blocking_portal())
        web = opened.enter_context(
            httpx2.Client(base_url=sluice.base, headers={"Authorization": f"Bearer {sluice.key}"}, timeout=60)
        )
        clients = {
            name: opened.enter_context(portal.wrap_async_context_manager(Client(transport(sluice))))
            for name, transport in TRANSPORTS.items()
        }
        yield {
            "rest": partial(said_by_rest, web),
            **{name: partial(said_by_sdk, portal, client) for name, client in clients.items()},
        }


def said_by_rest(web: httpx2.Client, operation: str, arguments: Mapping[str, Any]) -> str:
    """By the resource's address; an object travels in the query as its JSON."""
    address = ADDRESSES[operation]
    query = {name: value for name, value in arguments.items() if f"{{{name}}}" not in address}
    texts = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in query.items()}
    return web.get(address.format(**arguments), params=texts).text


def said_by_sdk(portal: BlockingPortal, client: Client, operation: str, arguments: Mapping[str, Any]) -> str:
    text: str = portal.call(client.call_tool, operation, dict(arguments)).content[0].text
    return text


def parsed(said: Said) -> Call:
    return lambda operation, arguments: json.loads(said(operation, arguments))


@pytest.fixture(scope="module")
def doors(sluice: Serving) -> Iterator[dict[str, Said]]:
    with open_doors(sluice) as opened:
        yield opened


@pytest.fixture(scope="module")
def calls(doors: dict[str, Said]) -> dict[str, Call]:
    return {name: parsed(said) for name, said in doors.items()}


def handle_of(answer: Mapping[str, Any]) -> str:
    handle: str = crawler.ours(answer)["resultHandle"]
    return handle


@pytest.mark.parametrize("arguments", [CONFIRMED, {"aggregate": REVENUE}, {**CONFIRMED, "aggregate": REVENUE}])
def test_a_question_has_one_answer_at_every_door(calls: dict[str, Call], arguments: dict[str, Any]):
    answers = {door: without_form_of_door(call("list_bookings", arguments)) for door, call in calls.items()}
    assert list(answers) == ["rest", "websocket", "http", "stdio"]
    by_rest = answers["rest"]
    assert by_rest.get("items") or by_rest["groups"]
    assert answers["websocket"] == answers["http"] == by_rest
    for answer in (by_rest, answers["stdio"]):  # its own process, which may take the snapshot before it is shared
        answer["meta"].pop("snapshotAt", None)
    assert answers["stdio"] == by_rest


def without_form_of_door(answer: dict[str, Any]) -> dict[str, Any]:
    """Handles and snapshots are compared too: the same question is one walk. Its cursors turn with the minute."""
    answer.pop("nextCursor", None)
    return {**answer, "meta": {name: each for name, each in answer["meta"].items() if name not in DOOR_DEPENDENT}}


def test_where_and_aggregate_agree_with_the_rows_themselves(calls: dict[str, Call]):
    rows = crawler.walk(calls["websocket"], "list_bookings", CONFIRMED)
    assert all(row["status"] == "confirmed" and row["totalPrice"] >= 500 for row in rows)
    groups = calls["stdio"]("list_bookings", {**CONFIRMED, "aggregate": REVENUE})["groups"]
    assert 0 < sum(group["count"] for group in groups) == len(rows) < 500


def test_a_handle_made_at_one_door_opens_at_every_other(calls: dict[str, Call]):
    for nights, (maker, opener) in enumerate(permutations(calls, 2), start=1):
        asked = {"where": {"nights": {"lte": nights}}}  # another list each time, or the same handle would come back
        listed = calls[maker]("list_bookings", {**asked, "limit": 1})
        handle, first, total = handle_of(listed), listed["items"][0], listed["meta"]["totalCount"]
        open_at = calls[opener]
        assert open_at("result_get", {"handle": handle, "rows": "0", "path": "id"})["value"] == first["id"]
        hits = open_at("result_search", {"handle": handle, "text": first["guestName"]})["items"]
        assert {"row": 0, "id": first["id"], "path": "guestName", "match": first["guestName"]} in hits
        sql = "SELECT count(*) AS n, max(nights) AS most FROM rows"
        (counted,) = open_at("result_query", {"handle": handle, "sql": sql})["items"]
        assert counted["n"] == total
        assert counted["most"] <= nights


def test_sql_goes_over_all_rows_of_which_an_answer_showed_fifty(calls: dict[str, Call]):
    listed = calls["http"]("list_bookings", {})
    assert len(listed["items"]) == 50
    by_status = {"groupBy": ["status"], "metrics": [{"op": "count"}], "orderBy": "status"}
    groups = calls["rest"]("list_bookings", {"aggregate": by_status})["groups"]
    sql = "SELECT status, count(*) AS count FROM rows GROUP BY status ORDER BY status"
    for call in calls.values():
        assert call("result_query", {"handle": handle_of(listed), "sql": sql})["items"] == groups
        every = crawler.walk(call, "result_query", {"handle": handle_of(listed), "sql": "SELECT id FROM rows"})
        assert len({row["id"] for row in every}) == len(every) == 500


@pytest.mark.parametrize(
    ("operation", "arguments", "parameter", "reason"),
    [
        ("list_bookings", {"where": {"totalPrise": {"gte": 500}}}, "where", "unknown_field"),
        (
            "list_bookings",
            {"aggregate": {"metrics": [{"op": "sum", "field": "totalPrise"}]}},
            "aggregate",
            "unknown_field",
        ),
        ("result_query", {"sql": "SELECT sum(totalPrise) FROM rows"}, "sql", "unknown_column"),
    ],
)
def test_a_column_that_is_not_there_is_answered_with_the_nearest_that_is(
    calls: dict[str, Call], operation: str, arguments: dict[str, Any], parameter: str, reason: str
):
    of_result = {"handle": handle_of(calls["rest"]("list_bookings", {}))} if operation == "result_query" else {}
    errors = [call(operation, {**of_result, **arguments})["error"] for call in calls.values()]
    assert errors == [errors[0]] * 4
    assert (errors[0]["reason"], errors[0]["data"]["parameter"]) == (reason, parameter)
    assert "totalPrise" in errors[0]["message"]
    assert "totalPrice" in errors[0]["data"]["suggestion"]


def test_another_keys_handle_is_invalid_at_every_door(sluice: Serving, calls: dict[str, Call]):
    handle = handle_of(calls["rest"]("list_bookings", {}))
    assert calls["stdio"]("result_query", {"handle": handle, "sql": "SELECT 1 AS one"})["items"] == [{"one": 1}]
    stranger = replace(sluice, key=sluice.manage("apikey", "create", "stranger").stdout.strip())
    with open_doors(stranger) as doors_of_stranger:
        for said in doors_of_stranger.values():
            for operation, more in (
                ("result_get", {}),
                ("result_search", {"text": "a"}),
                ("result_query", {"sql": "SELECT 1 AS one"}),
            ):
                text = said(operation, {"handle": handle, **more})
                assert json.loads(text)["error"]["reason"] == "handle_invalid"
                assert "list_bookings" not in text, "not even whose call it was"


def test_behind_a_previews_handle_is_the_whole_record(calls: dict[str, Call]):
    preview = calls["websocket"]("get_booking", {"id": 43000003})
    assert crawler.is_preview(preview)
    whole = crawler.record(calls["http"], "get_booking", {"id": 43000003})
    raw = crawler.from_parts(calls["http"], "get_booking", {"id": 43000003, "fields": "raw"})
    handle = handle_of(preview)
    for call in calls.values():
        assert crawler.record(call, "result_get", {"handle": handle}) == whole
        fees = crawler.walk(call, "result_get", {"handle": handle, "path": "financeField"})
        assert fees == raw["financeField"]
        (hit,) = call("result_search", {"handle": handle, "regex": "^cleaningFee$"})["items"]
        assert call("result_get", {"handle": handle, "path": hit["path"]})["value"] == "cleaningFee"


def test_the_first_error_of_a_log_is_found_by_a_search_and_read_by_its_line(calls: dict[str, Call]):
    lines = crawler.text(calls["rest"], "read_document", LOG).splitlines(keepends=True)
    expected = next(number for number, line in enumerate(lines, start=1) if " ERROR " in line)
    handle = handle_of(calls["rest"]("read_document", LOG))
    for call in calls.values():
        first = call("result_search", {"handle": handle, "regex": r"\bERROR\b"})["items"][0]
        assert first["line"] == expected
        around = call("read_document", {**LOG, "startLine": expected - 1, "endLine": expected + 1})
        assert around["content"] == "".join(lines[expected - 2 : expected + 1])
        assert first["match"].rstrip("…") in around["content"]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("list_bookings", {}),
        ("list_bookings", CONFIRMED),
        ("list_bookings", {"pages": "1-3"}),
        ("get_booking", {"id": 43000003}),
        ("get_listing", {"id": 200100, "fields": "all"}),
        ("read_document", LOG),
    ],
)
def test_the_same_call_twice_gives_the_same_bytes(doors: dict[str, Said], operation: str, arguments: dict[str, Any]):
    for said in doors.values():
        assert twice_the_same(lambda said=said: said(operation, arguments))
    handle = handle_of(json.loads(doors["rest"](operation, arguments)))
    for said in doors.values():
        assert twice_the_same(lambda said=said: said("result_get", {"handle": handle}))


def twice_the_same(answer: Callable[[], str]) -> bool:
    """Cursors carry the minute of their issue: when it turns between two calls, the next two are of one minute."""
    return any(answer() == answer() for _ in range(2))
