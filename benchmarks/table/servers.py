"""Every server of the table: Sluice in its several forms, and the peers, each in a process of its own."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from benchmarks.processes import ROOT, START_SECONDS, StartedProgram, free_port, started

API = "bench"
OWN = "own:"
PEERS = "benchmarks.table.peers"
AGAIN_SECONDS = 0.005
SETTINGS = {"ALLOW_PRIVATE_UPSTREAMS": "true", "TOOL_LIST_BUDGET": "100000000"}


@dataclass(frozen=True, slots=True)
class BenchServer:
    """The names of the document's tools begin with `prefix`. `ready_seconds` is the time from the start of the program
    to its first good answer, `start_cpu` its processor time until then."""

    address: str
    pid: int
    key: str = ""
    prefix: str = ""
    ready_seconds: float = 0.0
    start_cpu: float = 0.0

    def name_of(self, tool: str) -> str:
        """The server's name for a tool of the imported document. The prefix OWN marks a built-in tool."""
        return tool.removeprefix(OWN) if tool.startswith(OWN) else f"{self.prefix}{tool}"


@dataclass(frozen=True, slots=True)
class PreparedSluice:
    """The data of a Sluice that has been started before: its sample account, a key, the imported document. `root` is
    the source tree that made it, `settings` its environment."""

    data: Path
    key: str
    root: Path
    settings: dict[str, str]


@contextmanager
def running_upstream(files: Sequence[Path] = ()) -> Iterator[str]:
    """`files`: bodies that it answers besides its own."""
    port = free_port()
    with started(["-m", "benchmarks.table.upstream", str(port), *map(str, files)]) as program:
        program.until_printed("ready")
        yield f"http://127.0.0.1:{port}"


@contextmanager
def prepared(document: dict[str, Any], root: Path = ROOT) -> Iterator[PreparedSluice]:
    """The data that every Sluice of a run starts with: the document is imported."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as directory:
        data, file = Path(directory) / "data", Path(directory) / "document.json"
        file.write_text(json.dumps(document))
        settings = {**SETTINGS, "DATA_DIR": str(data)}
        with started(["manage.py", "serve", "--port", "0"], root, settings) as program:
            key = re.search(r"API key +(\S+)", program.until_printed("Sluice listens on"))
        assert key is not None, "the first start prints a key"
        _manage(root, settings, "import_openapi", str(file), "--name", API, "--all")
        yield PreparedSluice(data, key[1], root, SETTINGS)


def _manage(root: Path, settings: dict[str, str], *arguments: str) -> None:
    environment = {"PATH": os.environ["PATH"], **settings}
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"manage.py {' '.join(arguments)} failed: {done.stderr}")


@contextmanager
def sluice(prepared: PreparedSluice, *options: str) -> Iterator[BenchServer]:
    """`manage.py serve` with these options, on a copy of the prepared data."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as directory:
        shutil.copytree(prepared.data, directory, dirs_exist_ok=True)
        environment = {**prepared.settings, "DATA_DIR": directory}
        begun = time.perf_counter()
        with started(["manage.py", "serve", "--port", "0", *options], prepared.root, environment) as program:
            found = re.search(r"Sluice listens on (\S+)", program.until_printed(r"Sluice listens on \S+\s"))
            assert found is not None
            yield _ready(program, begun, found[1], "/readyz", prepared.key)


@contextmanager
def fastmcp(document: dict[str, Any], python: Path) -> Iterator[BenchServer]:
    """`python` is an interpreter that has FastMCP."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as directory:
        file, port = Path(directory) / "document.json", free_port()
        file.write_text(json.dumps(document))
        script = ROOT / "benchmarks/table/peers/with_fastmcp.py"
        begun = time.perf_counter()
        with started([str(script), str(file), str(port)], python=python) as program:
            yield _ready(program, begun, f"http://127.0.0.1:{port}", "/")


@contextmanager
def sdk(url: str) -> Iterator[BenchServer]:
    with _peer("with_sdk", url, "/") as server:
        yield server


@contextmanager
def bare(url: str) -> Iterator[BenchServer]:
    with _peer("bare_route", url, "/bookings") as server:
        yield server


@contextmanager
def _peer(module: str, url: str, path: str) -> Iterator[BenchServer]:
    port, begun = free_port(), time.perf_counter()
    with started(["-m", f"{PEERS}.{module}", url, str(port)]) as program:
        yield _ready(program, begun, f"http://127.0.0.1:{port}", path)


def _ready(program: StartedProgram, begun: float, address: str, path: str, key: str = "") -> BenchServer:
    """Waits until the server answers. For /readyz, the status must be 200; for a peer, any answer is enough."""
    while True:
        with contextlib.suppress(httpx2.TransportError):
            status = httpx2.get(f"{address}{path}", timeout=START_SECONDS).status_code
            if status == 200 or path != "/readyz":
                taken = time.perf_counter() - begun
                return BenchServer(address, program.pid, key, f"{API}_" if key else "", taken, program.cpu_seconds())
        if program.process.poll() is not None or time.perf_counter() - begun > START_SECONDS:
            raise RuntimeError(f"{program.process.args!r} does not answer at {address}{path}: {program.complaints()}")
        time.sleep(AGAIN_SECONDS)
