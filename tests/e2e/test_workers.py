"""`manage.py serve --workers 2`: one server to its clients, whichever process has their connection.

Embedded, and with Postgres and Redis.
"""

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psycopg
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.e2e import forks
from tests.e2e.clusters import admin, is_running, own_stores, seconds_until
from tests.e2e.serving import SERVE, Serving, serving, websocket_to
from tests.e2e.test_clients import over_websocket
from tests.e2e.test_failing_upstreams import imported
from tests.patience import PATIENCE
from tests.simulators.bad_upstream import BadUpstream, bad_upstream

WORKERS = (*SERVE, "--workers", "2")
CLIENTS = 64
FAILURES = 5  # after which a breaker opens
LEFT_ALONE = "upstream_unavailable"
RATE = 12  # requests a minute
LIMITED = """
from context_protection.configuration.revisions import revisions
from gateway.upstreams.models import UpstreamApi
UpstreamApi.objects.filter(name="limited").update(rate_calls={rate}, rate_seconds=60)
revisions.bump()
"""
TOKENS = """
from telemetry.models import TelemetryRecord
answers = TelemetryRecord.objects.filter(caller={key!r}).exclude(outcome="error").order_by("created_at")
print(list(answers.values_list("claude_tokens", flat=True)))
"""


@pytest.fixture(scope="module")
def bad() -> Iterator[BadUpstream]:
    with bad_upstream() as upstream:
        yield upstream


@contextmanager
def stores_of(kind: str, folder: Path) -> Iterator[dict[str, str]]:
    if kind == "embedded":
        yield {}
        return
    with own_stores(folder) as stores:
        with psycopg.connect(stores.database_url, dbname="postgres", autocommit=True) as server:
            server.execute(f"CREATE DATABASE {stores.database}")
        yield {"DATABASE_URL": stores.database_url, "REDIS_URL": stores.redis_url}


@pytest.fixture(scope="module", params=["embedded", pytest.param("production", marks=pytest.mark.cluster)])
def sluice(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, bad: BadUpstream
) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("two")
    with (
        stores_of(request.param, folder) as stores,
        serving(folder, WORKERS, ALLOW_PRIVATE_UPSTREAMS="true", MCP_STATEFUL="true", **stores) as running,
    ):
        imported(running, failing=f"{bad.url}/failing", limited=f"{bad.url}/ok")
        assert running.manage("shell", "-c", LIMITED.format(rate=RATE)).returncode == 0
        yield running


@contextmanager
def connections(sluice: Serving, count: int, key: str = "") -> Iterator[list[httpx2.Client]]:
    """Clients with one connection each, which stay at the worker that they came to."""
    headers = {"Authorization": f"Bearer {key or sluice.key}"}
    with ExitStack() as opened:
        clients = [
            opened.enter_context(httpx2.Client(base_url=sluice.base, headers=headers, timeout=60, trust_env=False))
            for _ in range(count)
        ]
        for client in clients:
            client.get("/healthz").raise_for_status()
        yield clients


@pytest.fixture
def both(sluice: Serving) -> Iterator[list[httpx2.Client]]:
    """Connections to both workers."""
    with connections(sluice, 8) as clients:
        yield clients


def called(client: httpx2.Client, tool: str, **arguments: Any) -> dict[str, Any]:
    document: dict[str, Any] = client.post(f"/api/v1/tools/{tool}", json=arguments).json()
    return document


def workers(client: httpx2.Client) -> dict[int, dict[str, int]]:
    """What /health says of each worker."""
    return {each["worker"]: each for each in client.get("/health").json()["workers"]}


def stored(client: httpx2.Client) -> int:
    return sum(each["stored"] for each in workers(client).values())


# -- One server -------------------------------------------------------------------------------------


def test_connections_are_shared_evenly_and_figures_are_sums(sluice: Serving):
    with connections(sluice, CLIENTS) as clients:
        before, of_before = stored(clients[0]), workers(clients[0])
        for client in clients:
            for _ in range(3):
                called(client, "list_bookings", limit=1)
        expected = before + 3 * CLIENTS
        seconds_until(lambda: stored(clients[0]) == expected, PATIENCE)
        shares = [now["stored"] - of_before[name]["stored"] for name, now in workers(clients[0]).items()]
        assert len(shares) == 2
        assert min(shares) >= 0.4 * sum(shares), "each takes 40 to 60 % of the calls"
        for client in clients[:8]:
            assert client.get("/health").json()["telemetry"]["stored"] == expected
            assert series(client.get("/metrics").text, "sluice_telemetry_stored_total") == expected
            assert series(client.get("/metrics").text, "sluice_calls_total") == expected


def series(text: str, name: str) -> float:
    """The sum over a metric's labels."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}[ {{]", line))


def test_each_metric_is_declared_once(both: list[httpx2.Client]):
    lines = both[0].get("/metrics").text.splitlines()
    heads = Counter(line for line in lines if line.startswith("# TYPE"))
    names = Counter(line.rsplit(" ", 1)[0] for line in lines if not line.startswith("#"))
    assert max(heads.values()) == max(names.values()) == 1


# -- What all workers share -------------------------------------------------------------------------


def test_a_revoked_key_is_refused_by_the_next_call_at_every_worker(sluice: Serving):
    key = sluice.manage("apikey", "create", "leaver").stdout.strip()
    with connections(sluice, 8, key) as clients:
        assert {client.get("/api/v1/listings").status_code for client in clients} == {200}
        sluice.manage("apikey", "revoke", "leaver")
        assert {client.get("/api/v1/listings").status_code for client in clients} == {401}


def test_a_quota_holds_for_all_workers_together(sluice: Serving):
    """Only the last answer may exceed it, as with one process."""
    quota = 6_000
    key = sluice.manage("apikey", "create", "thrifty", "--daily-tokens", str(quota)).stdout.strip()
    with connections(sluice, 8, key) as clients:
        answered = 0
        for client, start in zip(cycle(clients), range(100), strict=False):
            answer = called(client, "list_transactions", limit=1 + start % 20)
            if "error" in answer:
                break
            answered += 1
        assert answer["error"]["reason"] == "quota_exceeded"
        assert {called(each, "list_transactions", limit=1)["error"]["reason"] for each in clients} == {"quota_exceeded"}
        used = answer["error"]["data"]["value"]
        assert answered > 1
    seconds_until(lambda: len(tokens_of(sluice, "thrifty")) == answered, PATIENCE)
    tokens = tokens_of(sluice, "thrifty")
    assert sum(tokens[:-1]) < quota <= sum(tokens) == used


def tokens_of(sluice: Serving, key: str) -> list[int]:
    """The tokens of each answer that the key got, oldest first."""
    printed = sluice.manage("shell", "-v", "0", "-c", TOKENS.format(key=key))
    tokens: list[int] = json.loads(printed.stdout)
    return tokens


def test_cursors_and_handles_are_valid_at_once_at_the_other_worker(both: list[httpx2.Client]):
    at = {number: next(each for each in both if place_of(each) == number) for number in (1, 2)}
    for number, limit in enumerate((3, 4, 5, 6)):
        first, other = (at[1], at[2]) if number % 2 else (at[2], at[1])
        page = called(first, "list_bookings", limit=limit)
        following = called(other, "list_bookings", cursor=page["nextCursor"])
        assert len(page["items"]) == len(following["items"]) == limit
        assert page["meta"]["snapshotAt"] == following["meta"]["snapshotAt"]
        rows = called(other, "result_get", handle=called(first, "list_bookings", limit=limit)["meta"]["resultHandle"])
        assert rows["meta"]["totalCount"] == page["meta"]["totalCount"]
    assert called(at[1], "result_get", handle="A" * 16)["error"]["reason"] == "handle_invalid"


def place_of(client: httpx2.Client) -> int:
    """The number of the worker that the connection stays at."""
    before, found = stored_by(client), dict[int, int]()
    called(client, "list_bookings", limit=1)

    def has_changed() -> bool:
        found.update(stored_by(client))
        return found != before

    seconds_until(has_changed, PATIENCE)
    return next(number for number in found if found[number] != before[number])


def stored_by(client: httpx2.Client) -> dict[int, int]:
    return {number: each["stored"] for number, each in workers(client).items()}


def test_a_breaker_that_opens_at_one_worker_is_open_at_the_other(both: list[httpx2.Client], bad: BadUpstream):
    bad.mode = "reset"
    before = bad.count_at("/failing/rows")
    for client in both[:6]:
        called(client, "failing_rows")
    for client in both:
        seconds_until(lambda each=client: called(each, "failing_rows")["error"]["reason"] == LEFT_ALONE, PATIENCE)
    tried = bad.count_at("/failing/rows") - before
    assert tried < 2 * FAILURES, "counted together; a trial every five seconds adds to them"
    states = {each["name"]: each["state"] for each in both[0].get("/health").json()["upstreams"]}
    assert states["failing"] == "open"


def test_a_rate_is_kept_by_both_workers_together(both: list[httpx2.Client], bad: BadUpstream):
    before, began = bad.count_at("/ok/rows"), time.monotonic()
    answers = [called(client, "limited_rows", query=str(n)) for n, client in zip(range(2 * RATE), cycle(both))]
    again = int((time.monotonic() - began) * RATE / 60) + 1  # calls that have become free meanwhile
    allowed = bad.count_at("/ok/rows") - before
    assert RATE <= allowed <= RATE + again < 2 * RATE
    refused = [answer["error"]["reason"] for answer in answers if "error" in answer]
    assert refused == ["upstream_rate"] * (2 * RATE - allowed)


def test_the_live_tail_shows_the_calls_of_all_workers(sluice: Serving, both: list[httpx2.Client]):
    wanted = {f"request-of-the-tail-{number}" for number in range(len(both))}

    async def watch(cookies: str) -> None:
        """Until the page has shown a call of each connection."""
        headers = {"Cookie": cookies, "Origin": sluice.base}
        url = f"{sluice.base.replace('http', 'ws', 1)}/telemetry/live/socket"
        seen: set[str] = set()
        async with websocket_to(url, additional_headers=headers, proxy=None) as socket:
            with anyio.fail_after(PATIENCE):
                while not wanted <= seen:
                    for name, client in zip(sorted(wanted), both, strict=True):
                        client.post("/api/v1/tools/list_listings", json={}, headers={"X-Request-ID": name})
                    frame = json.loads(await socket.recv())
                    seen |= {row["request_id"] for row in frame["rows"]}

    with admin(sluice.base, sluice.password) as staff:
        cookies = staff.cookies
    anyio.run(watch, cookies)


# -- Sessions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["sse", "http", "websocket"])
def test_a_session_is_served_where_it_lives(sluice: Serving, transport: str):
    """The official client posts over several connections, which come to both workers."""

    async def talk() -> list[int]:
        headers = {"Authorization": f"Bearer {sluice.key}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False, limits=NO_KEEP_ALIVE) as http:
            target: Any = {
                "sse": lambda: sse_client(f"{sluice.base}/mcp/sse", headers=headers),
                "http": lambda: streamable_http_client(f"{sluice.base}/mcp", http_client=http),
                "websocket": lambda: over_websocket(sluice),
            }[transport]()
            async with Client(target, mode="legacy") as client:
                results = [await client.call_tool("list_bookings", {"limit": n}) for n in range(1, 7)]
        return [len(json.loads(result.content[0].text)["items"]) for result in results]

    assert anyio.run(talk) == [1, 2, 3, 4, 5, 6]


def test_messages_of_an_event_stream_reach_its_worker_over_any_connection(sluice: Serving, both: list[httpx2.Client]):
    headers = {"Authorization": f"Bearer {sluice.key}"}
    with httpx2.stream("GET", f"{sluice.base}/mcp/sse", headers=headers, timeout=PATIENCE, trust_env=False) as stream:
        data = (line.removeprefix("data: ") for line in stream.iter_lines() if line.startswith("data: "))
        endpoint = next(data)
        for number, client in enumerate(both):
            message = {"jsonrpc": "2.0", "id": number, "method": "ping"}
            assert client.post(endpoint, json=message).status_code == httpx2.codes.ACCEPTED
            assert json.loads(next(data)) == {"jsonrpc": "2.0", "id": number, "result": {}}


NO_KEEP_ALIVE = httpx2.Limits(max_keepalive_connections=0)  # each request has a connection of its own


def test_a_session_of_a_worker_that_is_no_more_has_ended(both: list[httpx2.Client]):
    headers = {"Accept": "application/json, text/event-stream", "mcp-session-id": "7-abc"}
    for client in both:
        answer = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)
        assert answer.status_code == httpx2.codes.NOT_FOUND  # the client begins another one (MCP)


# -- Their lives ------------------------------------------------------------------------------------


def test_a_killed_worker_is_replaced_and_others_notice_nothing(both: list[httpx2.Client], sluice: Serving):
    killed = workers(both[0])[1]["pid"]
    os.kill(killed, signal.SIGKILL)
    answers = [_status(client) for client in both]
    assert answers.count(200) >= 4, "those at the other worker"
    assert [_status(client) for client in both] == [200] * 8, "with a new connection, if theirs was cut"
    seconds_until(lambda: set(workers_of(sluice)) == {1, 2} and workers_of(sluice)[1]["pid"] != killed, PATIENCE)
    with connections(sluice, 8) as again:
        assert {_status(client) for client in again} == {200}


def workers_of(sluice: Serving) -> dict[int, dict[str, int]]:
    with connections(sluice, 1) as (client,):
        return workers(client)


def _status(client: httpx2.Client) -> int:
    try:
        return client.get("/api/v1/listings").status_code
    except httpx2.TransportError:  # its worker was killed
        return 0


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a short name: the path of a Unix socket has at most 100 bytes."""
    return tmp_path_factory.mktemp("w")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_one_signal_ends_all_processes_and_leaves_nothing(folder: Path, number: signal.Signals):
    with serving(folder / "data", WORKERS) as sluice:
        pids = [each["pid"] for each in workers_of(sluice).values()]
        os.kill(sluice.pid, number)
        for pid in (*pids, sluice.pid):
            seconds_until(lambda pid=pid: not is_running(pid), PATIENCE)
        assert not list((folder / "data").glob("workers-*"))


def test_workers_end_with_a_parent_that_is_killed(folder: Path):
    with serving(folder / "data", WORKERS) as sluice:
        pids = [each["pid"] for each in workers_of(sluice).values()]
        os.kill(sluice.pid, signal.SIGKILL)
        for pid in pids:
            seconds_until(lambda pid=pid: not is_running(pid), PATIENCE)


def test_a_worker_that_cannot_start_ends_all_with_the_reason(folder: Path):
    """As one that the system kills for want of memory."""
    log = folder / "log"
    with log.open("w") as file, serving(folder / "data", WORKERS, log=file.fileno()) as sluice:
        seconds_until(lambda: bool(_workers_of(sluice.pid)), PATIENCE)
        killed = _workers_of(sluice.pid)[0]
        os.kill(killed, signal.SIGKILL)
        seconds_until(lambda: not is_running(sluice.pid), PATIENCE)
        assert not list((folder / "data").glob("workers-*"))
    assert f"(process {killed}) was killed by SIGKILL before it could answer" in log.read_text()


def _workers_of(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children if "--connections-from" in Path(f"/proc/{pid}/cmdline").read_text()]


def refused(data: Path, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {"PATH": os.environ["PATH"], "DATA_DIR": str(data), **environment}
    return forks.run((*SERVE[1:], *flags), variables, timeout=PATIENCE)


@pytest.mark.parametrize("count", ["0", "-1", "65"])
def test_a_number_of_workers_that_makes_no_sense_is_refused(tmp_path: Path, count: str):
    done = refused(tmp_path, f"--workers={count}")
    assert done.returncode == 1
    assert f"--workers is {count}; expected 1 to 64" in done.stderr


def test_a_directory_whose_name_is_too_long_for_sockets_is_refused(tmp_path: Path):
    done = refused(tmp_path / ("long" * 25), "--workers=2")
    assert done.returncode == 1
    assert "set DATA_DIR to a shorter path, or use --workers 1" in done.stderr
