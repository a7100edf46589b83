"""Stores of a test's own, which it may stop, freeze and fill: each a real server on a free port."""

import os
import pwd
import random
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psycopg
import redis

from tests.needs import POSTGRES_SERVER, REDIS_SERVER, postgres_programs
from tests.patience import PATIENCE

T = TypeVar("T")
AGAIN_SECONDS = 0.05


def free_port() -> int:
    """Not one that the system gives to clients: a client that tries again while the server is away could be given it,
    and connect to itself."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def until(works: Callable[[], T], seconds: float = PATIENCE) -> T:
    """What `works` gives as soon as it raises nothing."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return works()
        except Exception:
            if time.monotonic() > deadline:
                raise
            time.sleep(AGAIN_SECONDS)


@dataclass
class Server:
    """Runs from the start; `command` starts it again."""

    command: list[str]
    url: str
    answers: Callable[[], object]
    log: Path
    user: str | None = None
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, user=self.user, stdout=log, stderr=log, start_new_session=True
            )
        until(self.answers)

    def stop(self) -> None:
        """At once: nobody is told."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGCONT)
                os.killpg(self.process.pid, signal.SIGQUIT if self.user else signal.SIGKILL)
            self.process.wait(PATIENCE)
            self.process = None

    def freeze(self) -> None:
        """It takes connections and bytes, and answers nothing."""
        assert self.process is not None
        for pid in _group(self.process.pid):
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        for pid in _group(self.process.pid):
            os.kill(pid, signal.SIGCONT)


def _group(leader: int) -> list[int]:
    """The process and its children. Postgres' have groups of their own."""
    children = Path(f"/proc/{leader}/task/{leader}/children").read_text().split()
    return [leader, *map(int, children)]


@contextmanager
def redis_server(directory: Path) -> Iterator[Server]:
    REDIS_SERVER.or_skip()
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(directory), "--save", "", "--appendonly", "no"]
    options += ["--maxmemory-policy", "noeviction"]

    def answers() -> None:
        with redis.Redis(port=port) as client:
            client.ping()

    server = Server(
        ["redis-server", *options, "--maxmemory-policy", "noeviction"],
        f"redis://127.0.0.1:{port}/0",
        answers,
        directory / "redis.log",
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def postgres_server(directory: Path) -> Iterator[Server]:
    """An empty cluster with the superuser postgres, as whom it runs where the tests are root."""
    POSTGRES_SERVER.or_skip()
    programs = postgres_programs()
    user = "postgres" if os.getuid() == 0 else None
    # Not below `directory`: each start of pytest closes its own folder to all other users.
    with tempfile.TemporaryDirectory(prefix="sluice-postgres-", ignore_cleanup_errors=True) as data:
        if user:
            account = pwd.getpwnam(user)
            os.chown(data, account.pw_uid, account.pw_gid)
        server = _cluster(str(programs), data, directory / "postgres.log", user)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _cluster(programs: str, data: str, log: Path, user: str | None) -> Server:
    port = free_port()
    initdb = [f"{programs}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C.UTF-8"]
    made = subprocess.run(initdb, user=user, check=False, capture_output=True, text=True, cwd="/")
    assert made.returncode == 0, made.stderr
    options = [f"-p{port}", "-h127.0.0.1", f"-k{data}", "-cfsync=off", "-cmax_connections=100"]
    url = f"postgres://postgres@127.0.0.1:{port}/postgres"

    def answers() -> None:
        psycopg.connect(url, connect_timeout=2).close()

    return Server([f"{programs}/postgres", "-D", data, *options], url, answers, log, user)
