"""Sluice as production runs it: two webs, a worker and beat around one Postgres and one Redis (design §8)."""

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import pytest
from celery import Celery
from django.core.management.base import CommandError
from playwright.sync_api import expect

from context_protection.core.cursors import LIFETIME, ORIGIN_LIFETIME
from gateway.connectors.hostaway import sample
from gateway.management.commands.cluster import check_redis, free_ports, prepare_database
from tests import crawler
from tests.crawler import Call
from tests.e2e import budget_walk
from tests.e2e.clusters import (
    Admin,
    Cluster,
    Door,
    Stores,
    admin,
    in_turn,
    mcp_over_http,
    mcp_over_stdio,
    mcp_over_websocket,
    own_stores,
    rest,
    running_cluster,
    seconds_until,
    text_of,
)
from tests.e2e.serving import web
from tests.e2e.test_browser import Sluice, launched, use_login, window
from tests.e2e.test_sockets import ask, closed, connected, heard
from tests.patience import PATIENCE
from tests.tls import TLS

pytestmark = pytest.mark.cluster

LOG = "sync-2026-11.log"
MOMENT = 1.0  # seconds for a change to reach the other processes; announced over Redis, it takes milliseconds


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    with own_stores(tmp_path_factory.mktemp("cluster")) as own:
        yield own


@pytest.fixture(scope="module")
def cluster(stores: Stores) -> Iterator[Cluster]:
    flags = ("--fresh", "--ports", "0,0", "--worker-module", "tests.e2e.worker_probe")
    with running_cluster(stores, *flags, AUDIT_SHARE="0") as running:
        yield running


@pytest.fixture
def staff(cluster: Cluster) -> Iterator[Admin]:
    """At the admin of the first web."""
    with admin(cluster.addresses[0], cluster.password) as member:
        yield member


@pytest.fixture(params=[rest, mcp_over_websocket, mcp_over_http], ids=lambda door: door.__name__)
def calls(request: pytest.FixtureRequest, cluster: Cluster) -> Iterator[list[Call]]:
    """The same door of each web."""
    with ExitStack() as opened:
        yield [opened.enter_context(request.param(address, cluster.key)) for address in cluster.addresses]


# -- Any process serves any request -----------------------------------------------------------------


def test_any_process_serves_any_cursor(calls: list[Call]) -> None:
    pages = list(crawler.pages(in_turn(*calls), "list_bookings", {"limit": 50}))
    assert len(pages) == 10
    ids = [row["id"] for page in pages for row in crawler.rows(page)]
    assert len(ids) == len(set(ids)) == 500


def test_a_log_read_from_both_processes_in_turn_is_the_log_byte_for_byte(calls: list[Call]) -> None:
    log = next(document for document in sample.documents() if document.name == LOG)
    assert crawler.text(in_turn(*calls), "read_document", {"id": LOG}) == log.content


def test_a_walk_begun_at_one_door_goes_on_at_another_of_another_process(cluster: Cluster) -> None:
    first, second = cluster.addresses
    with rest(first, cluster.key) as over_rest, mcp_over_websocket(second, cluster.key) as over_websocket:
        assert len(crawler.walk(in_turn(over_rest, over_websocket), "list_bookings", {})) == 500


# -- Handles ----------------------------------------------------------------------------------------

ALL_IDS = "SELECT id FROM rows ORDER BY id"


def test_a_handle_made_at_one_web_is_opened_by_the_other_in_every_way(calls: list[Call]) -> None:
    for here, there in (calls, reversed(calls)):
        listed = here("list_bookings", {"where": {"status": "confirmed"}, "limit": 1})
        _assert_opened(there, listed)


def _assert_opened(call: Call, listed: dict[str, Any]) -> None:
    """By get, search and SQL: all rows of a list of which the answer showed the first."""
    handle, (shown,), total = listed["meta"]["resultHandle"], listed["items"], listed["meta"]["totalCount"]
    assert call("result_get", {"handle": handle, "rows": "0", "path": "id"})["value"] == shown["id"]
    hits = call("result_search", {"handle": handle, "text": shown["guestName"]})["items"]
    assert {"row": 0, "id": shown["id"], "path": "guestName", "match": shown["guestName"]} in hits
    sql = "SELECT count(*) AS n, count(DISTINCT id) AS different FROM rows"
    assert call("result_query", {"handle": handle, "sql": sql})["items"] == [{"n": total, "different": total}]


def test_the_pages_of_a_query_come_from_both_processes_in_turn(calls: list[Call]) -> None:
    handle = calls[0]("list_bookings", {})["meta"]["resultHandle"]
    pages = list(crawler.pages(in_turn(*calls), "result_query", {"handle": handle, "sql": ALL_IDS}))
    assert len(pages) >= 3  # each process has answered
    ids = [row["id"] for page in pages for row in crawler.rows(page)]
    assert ids == sorted({row["id"] for row in crawler.walk(calls[1], "list_bookings", {})})
    assert len(ids) == 500


def test_a_walk_a_handle_and_a_query_outlive_the_web_that_made_them(cluster: Cluster, stores: Stores) -> None:
    """The web that dies belongs to a second cluster on the same stores, which stops with it and says why."""
    with running_cluster(stores, "--ports", "0") as mortal:
        with rest(mortal.addresses[0], cluster.key) as doomed:
            walked = list(islice(crawler.pages(doomed, "list_bookings", {"limit": 50}), 3))
            listed = doomed("list_bookings", {"where": {"status": "cancelled"}, "limit": 1})
            asked = {"handle": doomed("list_bookings", {})["meta"]["resultHandle"], "sql": ALL_IDS}
            begun = list(islice(crawler.pages(doomed, "result_query", asked), 2))
        os.kill(mortal.pids["web-1"], signal.SIGKILL)
        with rest(cluster.addresses[1], cluster.key) as survivor:
            walked += crawler.pages(survivor, "list_bookings", {"limit": 50, "cursor": walked[-1]["nextCursor"]})
        assert len(walked) == 10
        assert len({row["id"] for page in walked for row in crawler.rows(page)}) == 500
        assert mortal.process.wait(timeout=PATIENCE) == 1
        assert not mortal.processes(), "the others are stopped"
    assert f"web-1 (process {mortal.pids['web-1']}) was killed by SIGKILL" in mortal.log.read_text()
    with rest(cluster.addresses[1], cluster.key) as survivor:
        _assert_opened(survivor, listed)
        begun += crawler.pages(survivor, "result_query", {**asked, "cursor": begun[-1]["nextCursor"]})
    ids = [row["id"] for page in begun for row in crawler.rows(page)]
    assert ids == sorted(set(ids))
    assert len(ids) == 500


# -- Long texts -------------------------------------------------------------------------------------

LONG_LOG = "occupancy-2026.log"
LINES = 52_000


@pytest.fixture(scope="module")
def long_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 5 MB, no two lines alike, and characters of one to four bytes."""
    path = tmp_path_factory.mktemp("long") / LONG_LOG
    path.write_text("".join(map(_entry, range(1, LINES + 1))), newline="\n")
    assert 4_500_000 < path.stat().st_size < 5_500_000
    return path


def _entry(number: int) -> str:
    hours, seconds = divmod(number, 3600)
    moment = f"2026-{hours % 12 + 1:02}-01T{hours % 24:02}:{seconds // 60:02}:{seconds % 60:02}Z"
    return (
        f"{moment} INFO  sync.run Zählung {number:05}, 宿泊 {number * 7919 % 100_003:06} 🛏, {number**3:015} notiert\n"
    )


@pytest.fixture
def long_log_loaded(long_log: Path, cluster: Cluster, stores: Stores) -> Iterator[Path]:
    """It takes the place of the account while the cluster runs; the account comes back."""
    stores.manage("load_sample_data", "--from", str(long_log))
    yield long_log
    stores.manage("load_sample_data")


@pytest.fixture
def readers(cluster: Cluster) -> Iterator[list[Call]]:
    """REST of the first web, MCP of the second."""
    first, second = cluster.addresses
    with rest(first, cluster.key) as over_rest, mcp_over_websocket(second, cluster.key) as over_websocket:
        yield [over_rest, over_websocket]


def test_a_text_of_5_mb_is_read_to_its_end_and_by_its_lines_at_both(readers: list[Call], long_log_loaded: Path) -> None:
    original = long_log_loaded.read_bytes()
    for reader in readers:
        assert crawler.text(reader, "read_document", {"id": LONG_LOG}).encode() == original
    lines = original.decode().splitlines(keepends=True)
    for first, last in ((1, 1), (199, 202), (22_222, 22_300), (LINES - 3, LINES), (20_001, 21_000)):
        asked = {"id": LONG_LOG, "startLine": first, "endLine": last}
        for reader in (*readers, in_turn(*readers)):
            pages = list(crawler.pages(reader, "read_document", asked))
            assert "".join(page["content"] for page in pages) == "".join(lines[first - 1 : last])
            assert (pages[0]["metadata"]["startLine"], pages[-1]["metadata"]["endLine"]) == (first, last)
            assert {page["metadata"]["totalLines"] for page in pages} == {LINES}


def test_other_chunks_of_a_long_text_are_planned_by_the_worker_while_it_is_read(
    readers: list[Call], long_log_loaded: Path, staff: Admin, stores: Stores
) -> None:
    """Until then, the former chunks are given; lines can be read, and a walk that has begun goes on."""
    original, begun = long_log_loaded.read_text(), readers[0]("read_document", {"id": LONG_LOG})
    old_size = begun["metadata"]["endLine"]
    assert staff.set_budget("read_document", chunk_size=150).status_code == 302
    try:
        for reader in readers:
            answer = reader("read_document", {"id": LONG_LOG})
            assert _lines_of(answer) in (150, old_size)
            one = reader("read_document", {"id": LONG_LOG, "startLine": 40_000, "endLine": 40_000})
            assert one["content"] == _entry(40_000)
        going_on = crawler.pages(in_turn(*readers), "read_document", {"id": LONG_LOG, "cursor": begun["nextCursor"]})
        so_far = begun["content"] + "".join(page["content"] for page in islice(going_on, 30))
        assert original.startswith(so_far)
        assert so_far.count("\n") == 31 * old_size
        _send(stores, "hostaway.make_plans")  # as beat does every 15 seconds
        for reader in readers:
            seconds_until(lambda each=reader: _lines_of(each("read_document", {"id": LONG_LOG})) == 150, PATIENCE)
        assert crawler.text(in_turn(*readers), "read_document", {"id": LONG_LOG}) == original
    finally:
        staff.set_budget("read_document", chunk_size=old_size)


def _lines_of(answer: dict[str, Any]) -> int:
    lines: int = answer["metadata"]["endLine"] - answer["metadata"]["startLine"] + 1
    return lines


# -- A change is seen everywhere --------------------------------------------------------------------


def test_a_key_made_on_the_command_line_works_at_once_at_both(cluster: Cluster, stores: Stores) -> None:
    key = stores.manage("apikey", "create", "made-here")
    assert [_status(address, key) for address in cluster.addresses] == [200, 200]
    stores.manage("apikey", "revoke", "made-here")
    assert [_status(address, key) for address in cluster.addresses] == [401, 401]


def _status(address: str, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx2.get(f"{address}/api/v1/listings", headers=headers, verify=TLS, timeout=PATIENCE).status_code


@pytest.mark.parametrize("door", [rest, mcp_over_websocket], ids=lambda door: door.__name__)
def test_a_budget_set_in_the_admin_of_one_web_is_obeyed_by_both(door: Door, cluster: Cluster, staff: Admin) -> None:
    with ExitStack() as opened:
        here, there = (opened.enter_context(door(address, cluster.key)) for address in cluster.addresses)
        for budget in range(1500, 2500, 100):
            assert _budget(here) != budget != _budget(there)
            assert staff.set_budget("list_transactions", token_budget_threshold=budget).status_code == 302
            assert _budget(there) == budget, "the very next answer of the web that was not told"
            assert _budget(here) == budget


@pytest.mark.browser
def test_a_budget_raised_in_the_pages_and_set_back_is_obeyed_by_the_next_call_at_every_door(
    cluster: Cluster, stores: Stores
) -> None:
    """Preview and reason, the save, the way back by the history, and what the history says of both."""
    operation, sluice = budget_walk.OPERATION, Sluice(cluster.addresses[0], cluster.password, cluster.key)
    with ExitStack() as opened:
        calls = [
            opened.enter_context(door(address, cluster.key))
            for address in cluster.addresses
            for door in (rest, mcp_over_websocket, mcp_over_http)
        ]
        calls.append(opened.enter_context(mcp_over_stdio(stores.environment, cluster.key)))
        calls[0](operation, {"limit": 50})  # one that the preview looks at
        page, complaints = opened.enter_context(window(opened.enter_context(launched()), sluice))
        use_login(page, sluice)
        budget_walk.preview(page, 8000)
        assert [_budget(call, operation) for call in calls] == [4000] * 7, "a preview saves nothing"
        budget_walk.save(page, "month end needs whole rows")
        assert [_budget(call, operation) for call in calls] == [8000] * 7
        budget_walk.open_change(page, "month end needs whole rows")
        budget_walk.set_back(page, "month end is over")
        assert [_budget(call, operation) for call in calls] == [4000] * 7
        page.goto(budget_walk.HISTORY)
        for reason in ("month end needs whole rows", "month end is over"):
            expect(page.get_by_role("row").filter(has_text=reason)).to_contain_text("admin")
        assert complaints == []


def _budget(call: Call, operation: str = "list_transactions") -> int:
    """The token budget that an answer was made under, which it keeps."""
    meta = call(operation, {})["meta"]
    budget: int = meta["estimatedTokens"] + meta["budgetRemaining"]
    assert meta["estimatedTokens"] <= budget
    return budget


def test_a_tool_list_changed_in_the_admin_of_one_web_is_told_to_clients_of_both(cluster: Cluster, staff: Admin) -> None:
    async def heard_at(address: str, ready: anyio.Event) -> dict[str, Any]:
        async with connected(f"{address.replace('http', 'ws', 1)}/mcp/ws", cluster.key) as socket:
            await ask(socket, "ping", {})
            ready.set()
            return await heard(socket)

    async def change() -> list[dict[str, Any]]:
        listening = [anyio.Event() for _ in cluster.addresses]
        told: list[dict[str, Any]] = []

        async def hear(address: str, ready: anyio.Event) -> None:
            told.append(await heard_at(address, ready))

        async with anyio.create_task_group() as tasks:
            for address, ready in zip(cluster.addresses, listening, strict=True):
                tasks.start_soon(hear, address, ready)
            for ready in listening:
                await ready.wait()
            await anyio.to_thread.run_sync(lambda: staff.set_budget("nsip_get_animal", token_budget_threshold=1717))
        return told

    assert anyio.run(change) == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}] * 2


def test_a_revoked_key_closes_its_sockets_at_both(cluster: Cluster, stores: Stores) -> None:
    key = stores.manage("apikey", "create", "leaver")

    async def talk() -> list[tuple[int, str]]:
        here, there = (f"{address.replace('http', 'ws', 1)}/mcp/ws" for address in cluster.addresses)
        async with connected(here, key) as one, connected(there, key) as other:
            await anyio.to_thread.run_sync(lambda: stores.manage("apikey", "revoke", "leaver"))
            return [await closed(one), await closed(other)]

    assert anyio.run(talk) == [(1008, "The API key was revoked.")] * 2


def test_an_answer_that_is_kept_does_not_outlive_its_rows(calls: list[Call], stores: Stores, tmp_path: Path) -> None:
    """Another process writes; the very next equal call of each web sees it."""
    newest = {"limit": 1, "fields": "guestName"}
    for name in (f"Ada {uuid4().hex}", f"Bea {uuid4().hex}"):
        before = [call("list_bookings", newest)["items"][0]["guestName"] for call in calls]
        ((data, number),) = stores.rows(NEWEST)
        upstream = {"status": "success", "result": [{**json.loads(data), "id": number, "guestName": name}]}
        (tmp_path / "reservations.json").write_text(json.dumps(upstream))
        stores.manage("shell", "-c", SAVE.format(path=str(tmp_path / "reservations.json")))
        after = [call("list_bookings", newest)["items"][0]["guestName"] for call in calls]
        assert name not in before
        assert after == [name, name]


NEWEST = "SELECT data, id FROM hostaway_booking ORDER BY inserted_on DESC, id DESC LIMIT 1"
SAVE = """
import json
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
list(store.save(BOOKINGS, json.load(open({path!r}))["result"]))
"""


def test_a_budget_set_in_the_admin_is_obeyed_by_the_worker(staff: Admin, stores: Stores) -> None:
    assert _budget_of_worker(stores) == 4000
    staff.set_budget("list_documents", token_budget_threshold=1234)
    assert _budget_of_worker(stores) == 1234


def _budget_of_worker(stores: Stores) -> int:
    reply_to = uuid4().hex
    _send(stores, "tests.report_budget", "list_documents", reply_to)
    with stores.redis() as client:
        reply = client.blpop([reply_to], timeout=10)
    assert reply, "the worker works"
    return int(reply[1])


def _send(stores: Stores, task: str, *arguments: str) -> None:
    with Celery(set_as_current=False, broker=stores.redis_url) as broker, broker.connection_for_write() as connection:
        broker.send_task(task, arguments, connection=connection)


def test_a_budget_that_makes_no_sense_is_refused_with_a_sentence(cluster: Cluster, staff: Admin) -> None:
    page = staff.set_budget("list_listings", token_budget_threshold=9000, hard_cap=5000)
    assert page.status_code == 200
    assert "hardCap (5,000) is below tokenBudgetThreshold (9,000)" in text_of(page)
    with rest(cluster.addresses[1], cluster.key) as call:
        meta = call("list_listings", {})["meta"]
        assert meta["estimatedTokens"] + meta["budgetRemaining"] == 4000


# -- One worker, one table --------------------------------------------------------------------------


def test_the_worker_purges_expired_walks_and_no_others(cluster: Cluster, stores: Stores) -> None:
    now = time.time()
    for name, expires_at in (("expired", now - 1), ("alive", now + 600)):
        stores.rows(
            "INSERT INTO context_protection_storedwalk (id, data, expires_at) VALUES (%s, '', %s)", (name, expires_at)
        )
    _send(stores, "context_protection.tasks.purge_expired_walks")
    seconds_until(lambda: stores.rows("SELECT id FROM context_protection_storedwalk") == [("alive",)], PATIENCE)


def test_walks_in_redis_expire_by_themselves(cluster: Cluster, stores: Stores) -> None:
    with rest(cluster.addresses[0], cluster.key) as call:
        call("list_bookings", {})
    with stores.redis() as client:
        snapshots = list(client.scan_iter("walk:*"))
        assert snapshots
        assert all(0 < client.ttl(walk) <= 2 * LIFETIME + ORIGIN_LIFETIME for walk in snapshots)


def test_calls_of_both_webs_are_recorded_in_one_table(cluster: Cluster, stores: Stores) -> None:
    for address, number in zip(cluster.addresses, (3, 4), strict=True):
        with rest(address, cluster.key) as call:
            for _ in range(number):
                call("get_transaction", {"id": 1})
    query = "SELECT count(DISTINCT request_id) FROM telemetry_telemetryrecord WHERE operation = 'get_transaction'"
    seconds_until(lambda: stores.rows(query) == [(7,)], PATIENCE)


def test_answers_of_all_webs_are_audited_in_one_table(cluster: Cluster, stores: Stores) -> None:
    """Webs beside the cluster's, which audits nothing: an exact count takes longer than the answer."""
    with ExitStack() as webs:
        for operation in ("get_listing", "get_transaction"):
            address = webs.enter_context(web({**stores.environment, "AUDIT_SHARE": "1"}))
            before = _audits(stores, operation)
            with rest(address, cluster.key) as call:
                listed = call(operation.replace("get", "list") + "s", {"limit": 3})
                for row in listed["items"]:
                    call(operation, {"id": row["id"]})
            expected = len(before) + 3
            seconds_until(
                lambda operation=operation, expected=expected: len(_audits(stores, operation)) == expected, 60
            )
            assert all(actual > 0 for (actual,) in _audits(stores, operation))


def _audits(stores: Stores, operation: str) -> list[tuple[Any, ...]]:
    return stores.rows("SELECT actual_tokens FROM telemetry_tokenaudit WHERE operation = %s", (operation,))


# -- Starting and stopping --------------------------------------------------------------------------


def test_sigterm_leaves_no_process_behind(cluster: Cluster, stores: Stores) -> None:
    with running_cluster(stores, "--ports", "0") as stopped:
        assert set(stopped.pids) == {"web-1", "worker", "beat"}
        assert set(stopped.processes()) == {stopped.process.pid, *stopped.pids.values()}
        with mcp_over_websocket(stopped.addresses[0], cluster.key):  # a client that is connected does not hold it up
            assert stopped.stop() == 0
        assert not stopped.processes()
    assert "killed" not in stopped.log.read_text()


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CommandError, match=rf"Port {port} is not available: Address already in use\."):
            free_ports([0, port])


def test_free_ports_differ() -> None:
    assert len(set(free_ports([0, 0, 0]))) == 3


def test_a_redis_that_is_away_is_named() -> None:
    with pytest.raises(CommandError, match=r"Redis cannot be used: .*--redis-url"):
        check_redis("redis://127.0.0.1:1/0")


def test_a_postgres_that_is_away_is_named() -> None:
    with pytest.raises(CommandError, match=r"Postgres cannot be used: .*--database-url"):
        prepare_database("postgres://postgres@127.0.0.1:1/sluice", fresh=False)


@pytest.mark.parametrize("url", ["sqlite:///var/sluice.sqlite3", "postgres://127.0.0.1"])
def test_a_database_url_without_a_postgres_database_is_refused(url: str) -> None:
    with pytest.raises(CommandError, match="postgres://user@host:5432/database"):
        prepare_database(url, fresh=False)


def test_fresh_does_not_drop_the_servers_own_database(stores: Stores) -> None:
    with pytest.raises(CommandError, match="--fresh does not drop postgres"):
        prepare_database(stores.database_url.replace(stores.database, "postgres"), fresh=True)
