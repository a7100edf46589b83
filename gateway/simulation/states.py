"""The states that pages must show well, each produced on its own server with an empty data directory.

Nothing is faked: figures are late because the database is locked, an upstream is down because nothing listens at its
address.
"""

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
from django.conf import settings
from django.db import connection
from django.utils import timezone

from gateway.simulation import history, traffic
from gateway.simulation.allowance import Allowance
from gateway.simulation.polling import until
from telemetry import models
from telemetry.measurement import Measurement
from telemetry.rollups import marks

LOG = "simulated-server.log"
START_SECONDS = 90.0
STOP_SECONDS = 20.0
CALL_SECONDS = 1.0  # between two calls while a state lasts
HELD_SECONDS = 15.0  # how long the database is locked for a late recorder; calls would fail after 20
DROP_SECONDS = 300.0  # the longest wait until the recorder drops calls
NOBODY = "http://127.0.0.1:1"  # nothing listens on this port
ENDPOINTS = ("nsip_get_last_update", "nsip_list_breeds")


class CannotSimulate(Exception):
    """The message is a sentence to show to the user."""


@dataclass(frozen=True)
class TargetServer:
    """The server in the state, and a key of a simulated client."""

    base: str
    key: str
    seed: int

    def call(self, tool: str) -> None:
        self._http("POST", f"/api/v1/tools/{tool}", json={})

    def read(self) -> None:
        """A call that writes nothing but its telemetry."""
        self._http("GET", f"/api/v1/bookings/{random.randint(43000001, 43000400)}")  # noqa: S311 (not a secret)

    @property
    def dropped(self) -> int:
        """How many calls its recorder has lost."""
        text = self._http("GET", "/metrics").text
        line = next(each for each in text.splitlines() if each.startswith("sluice_telemetry_dropped_total"))
        return int(float(line.split()[1]))

    def _http(self, method: str, path: str, **options: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.key}", "User-Agent": "state-keeper/1.0"}
        return httpx2.request(method, self.base + path, headers=headers, timeout=60, trust_env=False, **options)


@dataclass(frozen=True)
class ServerState:
    """`enter` brings the server into the state; `keep` is repeated while the state lasts. `past` stores measured calls
    with earlier times. It runs before the shown server starts, because SQLite has one writer at a time."""

    what: str
    enter: Callable[[TargetServer, Mapping[str, str]], None]
    keep: Callable[[TargetServer], None] = lambda server: time.sleep(CALL_SECONDS)
    environment: Mapping[str, str] = field(default_factory=dict)
    past: Callable[[Sequence[Measurement], int], None] | None = None


def _nothing(server: TargetServer, secrets: Mapping[str, str]) -> None:
    pass


def _traffic(server: TargetServer, secrets: Mapping[str, str], calls: int = 200, seconds: float = 15) -> None:
    traffic.run(server.base, secrets, Allowance(calls, seconds), server.seed)


def _few(server: TargetServer, secrets: Mapping[str, str]) -> None:
    _traffic(server, secrets, calls=8, seconds=4)


def _quiet_past(calls: Sequence[Measurement], seed: int) -> None:
    """Traffic until three hours ago."""
    until = timezone.now() - timedelta(hours=3)
    history.replay(calls, until - timedelta(days=2), until, seed)
    recent = models.TelemetryRecord.objects.filter(created_at__gte=until)
    times = list(recent.values_list("created_at", flat=True))
    recent.delete()
    marks.mark(times)


def _huge_past(calls: Sequence[Measurement], seed: int) -> None:
    now, most = timezone.now(), int(os.environ.get("SIMULATED_RECORDS", "1000000"))
    history.replay(calls, now - timedelta(days=settings.TELEMETRY_RETENTION_DAYS - 1), now, seed, most)


def measure(server: TargetServer, secrets: Mapping[str, str]) -> list[Measurement]:
    began, allowance = timezone.now(), Allowance(200, 15)
    traffic.run(server.base, secrets, allowance, server.seed)
    return history.measured(began, allowance.made)


def _down(server: TargetServer, secrets: Mapping[str, str]) -> None:
    _traffic(server, secrets, calls=60, seconds=8)
    for _ in range(4):
        _call_upstream(server)


def _call_upstream(server: TargetServer) -> None:
    for tool in ENDPOINTS:
        server.call(tool)
    time.sleep(CALL_SECONDS)


def _late(server: TargetServer) -> None:
    """The recorder cannot write for some seconds, while calls go on."""
    held_at = timezone.now()
    with _database_held():
        end = time.monotonic() + HELD_SECONDS
        while time.monotonic() < end:
            server.read()
            time.sleep(CALL_SECONDS)
    # The process could not report meanwhile. Its next report says how far its recorder is behind.
    until(models.ProcessReport.objects.filter(seen_at__gt=held_at).exists, DROP_SECONDS)


def _dropped(server: TargetServer, secrets: Mapping[str, str]) -> None:
    """The database is locked until the recorder drops calls."""
    _traffic(server, secrets, calls=60, seconds=8)

    def has_dropped() -> bool:
        server.read()
        return server.dropped > 0

    with _database_held():
        if not until(has_dropped, DROP_SECONDS):
            raise CannotSimulate(f"The recorder has dropped nothing within {DROP_SECONDS:g} seconds.")


def _keep_reading(server: TargetServer) -> None:
    server.read()
    time.sleep(CALL_SECONDS)


def _error(server: TargetServer, secrets: Mapping[str, str]) -> None:
    """The table of calls cannot be read, and pages must say so."""
    _traffic(server, secrets)
    table = models.TelemetryRecord._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {table}_away")


STATES: Mapping[str, ServerState] = {
    "empty": ServerState("no call yet", _nothing),
    "few": ServerState("8 calls: too few for percentiles", _few),
    "quiet": ServerState("calls until three hours ago, none since", _nothing, past=_quiet_past),
    "late": ServerState("the database is held for 15 seconds at a time, so that figures end earlier", _traffic, _late),
    "dropped": ServerState("the database was held until calls were lost to telemetry", _dropped, _keep_reading),
    "down": ServerState("an upstream is dead (NSIP)", _down, _call_upstream, {"NSIP_BASE_URL": NOBODY}),
    "error": ServerState("the table of calls cannot be read", _error, _keep_reading),
    "huge": ServerState("a million calls in a month (SIMULATED_RECORDS)", _traffic, past=_huge_past),
}


@contextmanager
def serving(port: int, environment: Mapping[str, str]) -> Iterator[str]:
    """Runs a server on this process's data directory, where its log is too; yields its address."""
    command = [sys.executable, "manage.py", "serve", "--host", "127.0.0.1", "--port", str(port)]
    base = f"http://127.0.0.1:{port}"
    with (settings.DATA_DIR / LOG).open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 (a command of our own)
            command, cwd=settings.BASE_DIR, env={**os.environ, **environment}, stdout=log, stderr=log
        )
    try:
        _until_it_answers(base, process)
        yield base
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def _until_it_answers(base: str, process: "subprocess.Popen[bytes]") -> None:
    def answers() -> bool:
        if process.poll() is not None:
            raise _not_started(base)
        with suppress(httpx2.TransportError):
            return httpx2.get(f"{base}/readyz", trust_env=False).status_code == 200
        return False

    if not until(answers, START_SECONDS):
        raise _not_started(base)


def _not_started(base: str) -> CannotSimulate:
    return CannotSimulate(f"The server at {base} has not started; {settings.DATA_DIR / LOG} says why.")


@contextmanager
def _database_held() -> Iterator[None]:
    """Holds SQLite's only write lock."""
    with closing(sqlite3.connect(Path(str(connection.settings_dict["NAME"])), timeout=30)) as held:
        held.isolation_level = None
        held.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            held.execute("ROLLBACK")
