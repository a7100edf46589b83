"""One Sluice as a newcomer starts it: `manage.py serve` in an empty environment, with a data directory of its own."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import IO

import httpx2
import websockets

from tests import shared, tables
from tests.e2e import forks
from tests.e2e.forks import Fork
from tests.patience import PATIENCE
from tests.tls import TLS

ROOT = Path(__file__).resolve().parents[2]
SERVE = ("manage.py", "serve", "--port", "0")
# The library waits for ten seconds, which a server that has just started may need on a busy machine.
websocket_to = partial(websockets.connect, open_timeout=PATIENCE)


@dataclass(frozen=True)
class Serving:
    base: str
    key: str
    password: str
    welcome: str
    environment: dict[str, str]
    pid: int

    @property
    def websocket(self) -> str:
        return self.base.replace("http", "ws", 1) + "/mcp/ws"

    def manage(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A command of manage.py beside the running server."""
        return forks.run(arguments, {**self.environment, **environment}, timeout=120)


def until_it_stops_listening(sluice: Serving) -> None:
    """After the signal to stop: until it has arrived."""
    with contextlib.suppress(httpx2.TransportError):
        while httpx2.get(f"{sluice.base}/livez", timeout=PATIENCE, verify=TLS).is_success:
            pass


@contextmanager
def serving(
    data_dir: Path,
    command: Sequence[str] = SERVE,
    *,
    empty: bool = False,
    log: int = -1,
    **variables: str,
) -> Iterator[Serving]:
    """Starts it on any free port, and stops it as a supervisor does. `variables` of the environment. `log`: a file
    descriptor.

    It finds the data of a first start, which takes longer than all else of a start and is the same for all of them;
    with `empty`, or a database elsewhere, it is the first start itself."""
    environment = _environment(data_dir, **variables)
    is_ours = tuple(command[: len(SERVE)]) == SERVE
    is_first = empty or not is_ours or "DATABASE_URL" in variables
    if not is_first:
        shutil.copytree(_first_start().data_dir, data_dir, dirs_exist_ok=True)
    with _started(command, environment, is_warm=not empty and is_ours, log=log) as (pid, printed):
        said = _until_it_listens(printed)
        yield _serving(said if is_first else _first_start().welcome, _address(said), environment, pid)


def printed_at_start(data_dir: Path) -> str:
    """Starts it, stops it, and returns what it prints until it listens."""
    with _started(SERVE, _environment(data_dir)) as (_, printed):
        return _until_it_listens(printed)


@contextmanager
def web(environment: dict[str, str]) -> Iterator[str]:
    """The address of a process that serves and does no more, on stores that have their tables."""
    with _started((*SERVE, "--web-only"), {**environment, "PYTHONUNBUFFERED": "1"}) as (_, printed):
        yield _address(_until_it_listens(printed))


@contextmanager
def _started(
    command: Sequence[str], environment: dict[str, str], *, is_warm: bool = True, log: int = -1
) -> Iterator[tuple[int, IO[str]]]:
    """The id of the process, and what it prints."""
    reading, writing = os.pipe()
    process: subprocess.Popen[bytes] | Fork
    if is_warm:
        process = forks.start(command[1:], environment, -1, writing, log)
    else:
        process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env=environment, stdout=writing, stderr=subprocess.DEVNULL
        )
    os.close(writing)
    with os.fdopen(reading) as printed:
        try:
            yield process.pid, printed
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def _environment(data_dir: Path, **variables: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), "PYTHONUNBUFFERED": "1", **variables}


@dataclass(frozen=True)
class _FirstStart:
    data_dir: Path
    welcome: str


@cache
def _first_start() -> _FirstStart:
    """One process of the run makes it for all."""
    directory, welcome = shared.directory / "first-start", shared.directory / "welcome.txt"
    with shared.one_at_a_time("first-start"):
        if not welcome.exists():
            directory.mkdir()
            shutil.copy(tables.made(), directory / "sluice.sqlite3")
            welcome.write_text(printed_at_start(directory))
    return _FirstStart(directory, welcome.read_text())


def _serving(welcome: str, base: str, environment: dict[str, str], pid: int) -> Serving:
    key, password = (re.search(pattern, welcome) for pattern in (r"API key +(\S+)", r"password (\S+)"))
    assert key is not None, welcome
    assert password is not None, welcome
    return Serving(base, key[1], password[1], welcome, environment, pid)


def _address(printed: str) -> str:
    base = re.search(r"listens on (\S+)", printed)
    assert base is not None, printed
    return base[1]


def _until_it_listens(printed: IO[str]) -> str:
    lines: list[str] = []
    for line in printed:
        lines.append(line)
        if line.startswith("Sluice listens on"):
            break
    return "".join(lines)
