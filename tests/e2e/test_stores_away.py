"""A server whose Redis or Postgres goes away, is frozen, slow, full or locked: who needs it hears so soon, with when to
try again; all others are answered; and when it is back, everything goes on."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
import redis

from tests.e2e.serving import Serving, serving
from tests.servers import Server, postgres_server, redis_server, until
from tests.simulators.tcp_proxy import Proxy, tcp_proxy

pytestmark = pytest.mark.cluster

SOON = 30.0  # seconds that a refusal may take on a busy machine; alone, it takes less than two
MCP = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


@dataclass(frozen=True)
class Running:
    sluice: Serving
    postgres: Server
    redis: Server
    to_redis: Proxy
    client: httpx2.Client

    def tool(self, name: str, **arguments: Any) -> httpx2.Response:
        return self.client.post(f"/api/v1/tools/{name}", json=arguments)

    def over_mcp(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool, over Streamable HTTP."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        answer = self.client.post("/mcp", json=call, headers=MCP)
        answer.raise_for_status()
        body = answer.text.partition("data: ")[2] if "event-stream" in answer.headers["content-type"] else answer.text
        result: dict[str, Any] = json.loads(body)["result"]
        return result

    def ready(self) -> bool:
        return self.client.get("/readyz").is_success

    def until_ready(self) -> None:
        until(lambda: self.client.get("/readyz").raise_for_status())


@contextmanager
def running(directory: Path) -> Iterator[Running]:
    with (
        postgres_server(directory) as postgres,
        redis_server(directory) as own_redis,
        tcp_proxy(int(own_redis.url.split(":")[2].split("/")[0])) as to_redis,
        serving(
            directory / "data", DATABASE_URL=postgres.url, REDIS_URL=f"redis://127.0.0.1:{to_redis.port}/0"
        ) as sluice,
        httpx2.Client(
            base_url=sluice.base, headers={"Authorization": f"Bearer {sluice.key}"}, timeout=60, trust_env=False
        ) as client,
    ):
        running = Running(sluice, postgres, own_redis, to_redis, client)
        running.until_ready()
        yield running


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("stores")) as started:
        yield started


def unavailable(answer: httpx2.Response) -> dict[str, Any]:
    """The refusal, which says when to try again, once."""
    assert answer.status_code == 503, answer.text
    error: dict[str, Any] = answer.json()["error"]
    assert error["reason"] == "store_unavailable"
    assert answer.headers.get_list("retry-after") == [str(error["data"]["retry_after"])]
    return error


def answered_in(seconds: float, ask: Any) -> Any:
    started = time.monotonic()
    answer = ask()
    assert time.monotonic() - started < seconds
    return answer


@pytest.mark.parametrize("how", ["stopped", "frozen"])
def test_without_postgres_calls_hear_so_soon_and_those_that_need_none_are_answered(stores: Running, how: str):
    first = stores.tool("list_bookings", limit=5).raise_for_status().json()
    stores.postgres.stop() if how == "stopped" else stores.postgres.freeze()
    try:
        unavailable(answered_in(SOON, lambda: stores.tool("list_bookings", limit=7)))
        unavailable(answered_in(SOON, lambda: stores.tool("list_bookings", limit=5, cursor=first["nextCursor"])))
        result = answered_in(SOON, lambda: stores.over_mcp("list_bookings", limit=8))
        assert result["isError"]
        assert json.loads(result["content"][0]["text"])["error"]["data"]["retry_after"] >= 1
        assert answered_in(SOON, lambda: stores.tool("search_tools", query="bookings")).is_success
        assert answered_in(SOON, lambda: stores.client.get("/healthz")).is_success
        probe = answered_in(SOON, lambda: stores.client.get("/readyz"))
        assert (probe.status_code, probe.json()["database"], probe.json()["redis"]) == (503, False, True)
        page = answered_in(SOON, lambda: stores.client.get("/admin/", headers={"accept": "text/html"}))
        assert page.status_code in (302, 503)
        assert answered_in(SOON, lambda: stores.client.get("/")).status_code == 200
    finally:
        stores.postgres.start() if how == "stopped" else stores.postgres.thaw()
    stores.until_ready()
    second = stores.tool("list_bookings", limit=5, cursor=first["nextCursor"]).raise_for_status().json()
    assert second["items"][0] not in first["items"]


@pytest.mark.parametrize("how", ["stopped", "frozen"])
def test_without_redis_new_lists_go_on_and_cursors_of_before_are_unavailable(stores: Running, how: str):
    before = stores.tool("list_bookings", limit=6).raise_for_status().json()["nextCursor"]
    stores.redis.stop() if how == "stopped" else stores.redis.freeze()
    try:
        if how == "frozen":
            unavailable(answered_in(SOON, lambda: stores.tool("list_bookings", limit=6, cursor=before)))
            result = answered_in(SOON, lambda: stores.over_mcp("list_bookings", limit=6, cursor=before))
            assert json.loads(result["content"][0]["text"])["error"]["reason"] in {
                "store_unavailable",
                "cursor_invalid",
            }
        first = answered_in(SOON, lambda: stores.tool("list_bookings", limit=9)).raise_for_status().json()
        meanwhile = first["nextCursor"]
        answered_in(SOON, lambda: stores.tool("list_bookings", limit=9, cursor=meanwhile)).raise_for_status()
        assert stores.ready()
    finally:
        stores.redis.start() if how == "stopped" else stores.redis.thaw()
    until(lambda: stores.tool("list_bookings", limit=9, cursor=meanwhile).raise_for_status())
    if how == "stopped":  # it kept nothing on a disk
        until(lambda: _reason(stores.tool("list_bookings", limit=6, cursor=before), "cursor_expired"))
        again = stores.tool("list_bookings", limit=6).raise_for_status().json()["nextCursor"]
        stores.tool("list_bookings", limit=6, cursor=again).raise_for_status()
    else:
        until(lambda: stores.tool("list_bookings", limit=6, cursor=before).raise_for_status())


def _reason(answer: httpx2.Response, expected: str) -> None:
    assert answer.json()["error"]["reason"] == expected


def test_pages_come_in_time_from_a_redis_that_is_slow(stores: Running):
    cursor = stores.tool("list_bookings", limit=10).raise_for_status().json()["nextCursor"]
    stores.to_redis.seconds = 0.1  # a tenth of the timeout, so that a busy machine does not exceed it
    took, before = [], len(stores.to_redis.asked)
    try:
        for _ in range(30):
            started = time.monotonic()
            page = stores.tool("list_bookings", limit=10, cursor=cursor).raise_for_status().json()
            took.append(time.monotonic() - started)
            cursor = page.get("nextCursor") or cursor
    finally:
        stores.to_redis.seconds = 0.0
    assert sum(b"walk:" in asked for asked in stores.to_redis.asked[before:]) == len(took), "one question each"
    assert min(took) < 0.33  # three questions; the machine may be busy in between


def test_a_full_redis_fails_no_call_and_is_not_asked_more_than_before(stores: Running):
    before = stores.tool("list_bookings", limit=11).raise_for_status().json()["nextCursor"]
    with redis.Redis.from_url(stores.redis.url) as client:
        client.config_set("maxmemory", 1)
        client.config_resetstat()
        try:
            for limit in range(20, 40):
                page = stores.tool("list_bookings", limit=limit).raise_for_status().json()
                stores.tool("list_bookings", limit=limit, cursor=page["nextCursor"]).raise_for_status()
            stores.tool("list_bookings", limit=11, cursor=before).raise_for_status()
            assert stores.ready()
            calls = {name: figures["calls"] for name, figures in client.info("commandstats").items()}
        finally:
            client.config_set("maxmemory", 0)
    lists, seconds = 20, 60  # each list asks twice; each second has a look of its own
    assert calls["cmdstat_get"] <= 2 * lists + 5
    assert calls.get("cmdstat_set", 0) <= lists + seconds
    until(lambda: with_cursor(stores))


# -- A table that is locked -------------------------------------------------------------------------


@pytest.fixture
def only_postgres(tmp_path: Path, stores: Running) -> Iterator[Running]:
    """A server whose walks are in the table, on a database of its own."""
    with psycopg.connect(stores.postgres.url, autocommit=True) as server:
        server.execute("CREATE DATABASE only_postgres")
    url = stores.postgres.url.replace("/postgres", "/only_postgres").replace("//only_postgres@", "//postgres@")
    with (
        serving(tmp_path / "data", DATABASE_URL=url) as sluice,
        httpx2.Client(
            base_url=sluice.base, headers={"Authorization": f"Bearer {sluice.key}"}, timeout=60, trust_env=False
        ) as client,
    ):
        running = replace(stores, sluice=sluice, client=client)
        running.until_ready()
        yield running


@contextmanager
def locked(url: str) -> Iterator[None]:
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE context_protection_storedwalk IN ACCESS EXCLUSIVE MODE")
        yield
        connection.rollback()


def asked_at_once(running: Running, number: int) -> list[tuple[float, httpx2.Response]]:
    """Lists, each of which needs a walk of its own."""

    def ask(limit: int) -> tuple[float, httpx2.Response]:
        started = time.monotonic()
        answer = running.tool("list_bookings", limit=limit)
        return time.monotonic() - started, answer

    with ThreadPoolExecutor(number) as threads:
        return list(threads.map(ask, range(5, 5 + number)))


def test_a_locked_table_holds_up_only_those_who_need_it_and_them_not_for_long(only_postgres: Running):
    sluice, url = only_postgres, only_postgres.sluice.environment["DATABASE_URL"]
    before = sluice.tool("list_bookings", limit=4).raise_for_status().json()["nextCursor"]
    slowest = 0.0
    with locked(url), ThreadPoolExecutor(1) as beside:
        paging = beside.submit(asked_at_once, sluice, 24)
        others = 0
        while not paging.done() or others < 5:
            started = time.monotonic()
            sluice.tool("search_tools", query=f"bookings {others}").raise_for_status()
            slowest, others = max(slowest, time.monotonic() - started), others + 1
        for seconds, answer in paging.result():
            page = answer.raise_for_status().json()
            assert "could not be stored" in page["meta"]["notes"][0]
            assert seconds < SOON
        unavailable(answered_in(SOON, lambda: sluice.tool("list_bookings", limit=4, cursor=before)))
        assert sluice.ready()
    assert slowest < SOON
    until(lambda: sluice.tool("list_bookings", limit=4, cursor=before).raise_for_status())
    assert "nextCursor" in until(lambda: with_cursor(sluice))


def with_cursor(running: Running) -> dict[str, Any]:
    page: dict[str, Any] = running.tool("list_bookings", limit=5).raise_for_status().json()
    assert "nextCursor" in page
    return page


def test_with_redis_nobody_needs_the_locked_table(stores: Running):
    before = stores.tool("list_bookings", limit=4).raise_for_status().json()["nextCursor"]
    with locked(stores.postgres.url):
        assert all("nextCursor" in answer.json() for _, answer in asked_at_once(stores, 8))
        answered_in(SOON, lambda: stores.tool("list_bookings", limit=4, cursor=before)).raise_for_status()
        answered_in(SOON, lambda: stores.tool("list_bookings", limit=19)).raise_for_status()
