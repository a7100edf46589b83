"""Clusters for tests, each started by `manage.py cluster` and stopped by SIGTERM, and ways to talk to them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import httpx2
import psycopg
import redis
import websockets
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from context_protection.core.cached_property import cached_property
from tests.crawler import Call
from tests.e2e import forks
from tests.e2e.serving import websocket_to
from tests.needs import HOST, POSTGRES, POSTGRES_PORT, REDIS, REDIS_PORT
from tests.patience import PATIENCE
from tests.servers import AGAIN_SECONDS

ROOT = Path(__file__).resolve().parents[2]
REDIS_NUMBERS = range(10, 16)  # those below may be somebody's, or those of the run itself
CLAIM = "sluice-tests"
MARK = "SLUICE_TEST_CLUSTER"  # an environment variable that all processes of one cluster inherit


# -- Stores -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stores:
    """A Postgres database and a Redis database of the tests' own."""

    number: int
    data_dir: Path

    @property
    def database(self) -> str:
        return f"sluice_cluster_test_{self.number}"

    @property
    def database_url(self) -> str:
        return f"postgres://postgres@{HOST}:{POSTGRES_PORT}/{self.database}"

    @property
    def redis_url(self) -> str:
        return f"redis://{HOST}:{REDIS_PORT}/{self.number}"

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the test run's own environment but the way to programs."""
        return {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": self.database_url,
            "REDIS_URL": self.redis_url,
            "DATA_DIR": str(self.data_dir),
        }

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.redis_url)

    def rows(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            cursor = connection.execute(query, parameters)
            return cursor.fetchall() if cursor.description else []

    def manage(self, *arguments: str) -> str:
        """What a management command prints."""
        done = forks.run(arguments, self.environment, timeout=120)
        done.check_returncode()
        return done.stdout.strip()


@contextmanager
def own_stores(data_dir: Path) -> Iterator[Stores]:
    """Stores that no other test run uses; emptied afterwards."""
    POSTGRES.or_skip()
    REDIS.or_skip()
    stores = next((stores for number in REDIS_NUMBERS if _claim(stores := Stores(number, data_dir))), None)
    if stores is None:
        raise AssertionError(f"Redis has no empty database among {REDIS_NUMBERS}.")
    try:
        yield stores
    finally:
        with psycopg.connect(stores.database_url, dbname="postgres", autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS {stores.database} WITH (FORCE)")
        with stores.redis() as client:
            client.flushdb()


def _claim(stores: Stores) -> bool:
    """Whether the Redis database is ours now: it was empty, or left behind by a test run that was killed."""
    with stores.redis() as client:
        owner = client.get(CLAIM)
        if owner is not None and not is_running(int(owner)):
            client.flushdb()
        return client.dbsize() == 0 and bool(client.set(CLAIM, os.getpid(), nx=True))


# -- Clusters ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cluster:
    process: subprocess.Popen[str]
    log: Path
    mark: str
    addresses: list[str]
    pids: Mapping[str, int]
    welcome: str = field(repr=False)

    @cached_property
    def key(self) -> str:
        return self._told(r"API key +(\S+)")

    @cached_property
    def password(self) -> str:
        return self._told(r"password (\S+)")

    def _told(self, pattern: str) -> str:
        found = re.search(pattern, self.welcome)
        assert found, "the first start shows the first credentials"
        return found[1]

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=PATIENCE)

    def processes(self) -> list[int]:
        """Everything that descends from this cluster, itself included."""
        return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if self.mark in _read(path)]


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it has just ended, or is somebody else's
        return ""


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


@contextmanager
def running_cluster(stores: Stores, *flags: str, **environment: str) -> Iterator[Cluster]:
    """A cluster that is ready; stopped afterwards, unless that is done."""
    mark = uuid4().hex
    log = stores.data_dir / f"{mark}.log"
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "manage.py", "cluster", *flags],
            cwd=ROOT,
            env={**stores.environment, **environment, MARK: mark},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        try:
            yield _when_ready(process, log, mark)
        finally:
            if process.poll() is None:
                process.terminate()


def _when_ready(process: subprocess.Popen[str], log: Path, mark: str) -> Cluster:
    """Reads up to the line `cluster ready ADDRESS… NAME=PID…`."""
    assert process.stdout is not None
    welcome = ""
    for line in process.stdout:
        if line.startswith("cluster ready "):
            words = line.split()[2:]
            pids = {name: int(pid) for name, _, pid in (word.partition("=") for word in words) if pid}
            return Cluster(process, log, mark, [word for word in words if "://" in word], pids, welcome)
        welcome += line
    raise AssertionError(f"The cluster has not become ready:\n{log.read_text()}")


# -- Doors ------------------------------------------------------------------------------------------

Door = Callable[[str, str], AbstractContextManager[Call]]  # (a web's address, a key)


@contextmanager
def rest(address: str, key: str) -> Iterator[Call]:
    with httpx2.Client(base_url=address, headers=_bearer(key), timeout=60, trust_env=False) as client:
        yield lambda operation, arguments: client.post(f"/api/v1/tools/{operation}", json=arguments).json()


@contextmanager
def mcp_over_websocket(address: str, key: str) -> Iterator[Call]:
    with _mcp(_websocket(f"{address.replace('http', 'ws', 1)}/mcp/ws", key)) as call:
        yield call


@contextmanager
def mcp_over_http(address: str, key: str) -> Iterator[Call]:
    with _mcp(_streamable_http(f"{address}/mcp", key)) as call:
        yield call


@contextmanager
def mcp_over_stdio(environment: Mapping[str, str], key: str) -> Iterator[Call]:
    """A process of its own beside the webs, with their stores."""
    given = {**environment, "SLUICE_API_KEY": key}
    program = StdioServerParameters(command=sys.executable, args=[str(ROOT / "manage.py"), "mcp"], env=given)
    with _mcp(program) as call:
        yield call


@contextmanager
def _mcp(transport: Any) -> Iterator[Call]:
    """The SDK's client, in an event loop on a thread of its own."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(transport)) as client:
        yield lambda operation, arguments: _called(portal, client, operation, arguments)


def _called(portal: BlockingPortal, client: Client, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    result = portal.call(client.call_tool, operation, dict(arguments))
    document: dict[str, Any] = json.loads(result.content[0].text)
    return document


@asynccontextmanager
async def _websocket(url: str, key: str) -> AsyncIterator[Any]:
    """MCP's two streams over a WebSocket, for which the SDK has no transport."""
    connection = websocket_to(url, subprotocols=["mcp"], additional_headers=_bearer(key), max_size=None, proxy=None)
    async with connection as web, anyio.create_task_group() as tasks:
        from_server, incoming = anyio.create_memory_object_stream[Any](64)
        outgoing, to_server = anyio.create_memory_object_stream[Any](64)

        async def receive() -> None:
            async with from_server:
                with suppress(websockets.ConnectionClosed):
                    while text := await web.recv():
                        await from_server.send(SessionMessage(jsonrpc_message_adapter.validate_json(text)))

        async def send() -> None:
            async with to_server:
                async for message in to_server:
                    await web.send(message.message.model_dump_json(by_alias=True, exclude_unset=True))

        tasks.start_soon(receive)
        tasks.start_soon(send)
        async with incoming, outgoing:
            yield incoming, outgoing
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _streamable_http(url: str, key: str) -> AsyncIterator[Any]:
    async with (
        httpx2.AsyncClient(headers=_bearer(key), trust_env=False, timeout=PATIENCE) as client,
        streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def in_turn(*calls: Call) -> Call:
    """One call to each, again and again."""
    turns = cycle(calls)
    return lambda operation, arguments: next(turns)(operation, arguments)


# -- The admin --------------------------------------------------------------------------------------


class _Forms(HTMLParser):
    """The forms of a page, each as the fields that a browser would send."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []
        self._select: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        match tag:
            case "form":
                self.forms.append({})
            case "input" if "name" in given and given.get("type") not in {"submit", "checkbox"}:
                self.forms[-1][given["name"]] = given.get("value", "")
            case "select" if "name" in given:
                self._select = given["name"]
            case "option" if self._select and ("selected" in given or self._select not in self.forms[-1]):
                self.forms[-1][self._select] = given.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = None


class Admin:
    """A member of staff at the admin of one web process."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    @property
    def cookies(self) -> str:
        """As a header that another client sends."""
        return "; ".join(f"{each.name}={each.value}" for each in self._client.cookies.jar)

    def log_in(self, password: str, name: str = "admin") -> None:
        answer = self.submit("/admin/login/", username=name, password=password)
        assert answer.status_code == httpx2.codes.FOUND, f"{name} can log in"

    def set_budget(self, operation: str, **values: int) -> httpx2.Response:
        """Saves a budget's form: the answer redirects, or shows what is wrong."""
        budgets = "/admin/context_protection/tokenbudget/"
        found = re.search(rf'href="({budgets}\d+/change/)[^"]*">{operation}<', self._client.get(budgets).text)
        texts = {name: str(value) for name, value in values.items()}
        if found:
            return self.submit(found[1], **texts)
        return self.submit(f"{budgets}add/", operation=operation, **texts)

    def submit(self, path: str, **values: str) -> httpx2.Response:
        """Fills a page's form in, and sends it."""
        form = next(form for form in _Forms(self._client.get(path).text).forms if values.keys() <= form.keys())
        return self._client.post(path, data={**form, **values})


@contextmanager
def admin(address: str, password: str) -> Iterator[Admin]:
    with httpx2.Client(base_url=address, timeout=60, trust_env=False) as client:
        staff = Admin(client)
        staff.log_in(password)
        yield staff


def text_of(page: httpx2.Response) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", page.text))


# -- Waiting ----------------------------------------------------------------------------------------


def seconds_until(condition: Callable[[], bool], deadline: float) -> float:
    """How long it took for the condition to hold. It asks another process, which has more of the processor between two
    questions."""
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < deadline, f"not within {deadline} seconds"
        time.sleep(AGAIN_SECONDS)
    return time.monotonic() - started
