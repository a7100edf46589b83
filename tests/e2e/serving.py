"""One Sluice as a newcomer starts it: `manage.py serve` in an empty environment, with a data directory of its own."""

import atexit
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import httpx2
import websockets

ROOT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 15
DATABASE = "sluice.sqlite3"
# The library waits for ten seconds, which a server that has just started may need on a busy machine.
websocket_to = partial(websockets.connect, open_timeout=60)


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
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def until_it_stops_listening(sluice: Serving) -> None:
    """After the signal to stop: until it has arrived."""
    with contextlib.suppress(httpx2.TransportError):
        while httpx2.get(f"{sluice.base}/livez", timeout=STOP_SECONDS).is_success:
            pass


@contextmanager
def serving(
    data_dir: Path,
    command: Sequence[str] = ("manage.py", "serve", "--port", "0"),
    *,
    empty: bool = False,
    **variables: str,
) -> Iterator[Serving]:
    """Starts it on any free port, and stops it as a supervisor does. `variables` of the environment.

    A database in `data_dir` has its tables already, which saves the start two thirds of its time; `empty` leaves them
    to the start too. All rows are always the start's to make."""
    environment = _environment(data_dir, **variables)
    if not empty and "DATABASE_URL" not in variables:
        data_dir.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(_migrated() / DATABASE, data_dir)
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield _welcomed(process, environment)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def _environment(data_dir: Path, **variables: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), "PYTHONUNBUFFERED": "1", **variables}


@cache
def _migrated() -> Path:
    """A data directory with a database that has its tables and no more."""
    directory = Path(tempfile.mkdtemp(prefix="sluice-migrated-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=_environment(directory), check=True, capture_output=True)
    return directory


def _welcomed(process: "subprocess.Popen[str]", environment: dict[str, str]) -> Serving:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Sluice listens on"):
            break
    welcome = "".join(lines)
    patterns = (r"listens on (\S+)", r"API key +(\S+)", r"password (\S+)")
    base, key, password = (re.search(pattern, welcome) for pattern in patterns)
    assert base is not None, welcome
    assert key is not None, welcome
    assert password is not None, welcome
    return Serving(base[1], key[1], password[1], welcome, environment, process.pid)
