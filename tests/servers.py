"""Stores of a test's own, which it may stop, freeze and fill: each a real server on a free port."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import redis

from tests.needs import REDIS_SERVER

T = TypeVar("T")
START_SECONDS = 30
AGAIN_SECONDS = 0.05


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def until(works: Callable[[], T], seconds: float = START_SECONDS) -> T:
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
    user: str | None = None
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, user=self.user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        until(self.answers)

    def stop(self) -> None:
        """At once: nobody is told."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGCONT)
                os.killpg(self.process.pid, signal.SIGQUIT if self.user else signal.SIGKILL)
            self.process.wait(START_SECONDS)
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
        ["redis-server", *options, "--maxmemory-policy", "noeviction"], f"redis://127.0.0.1:{port}/0", answers
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()
