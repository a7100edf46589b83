"""The servers that the suites run against, each a process that is stopped afterwards."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.serving import ROOT
from tests.patience import PATIENCE


@dataclass(frozen=True)
class Fixtures:
    """The fixture server; its HTTP endpoints want no key."""

    base: str
    key: str

    @property
    def websocket(self) -> str:
        return self.base.replace("http", "ws", 1) + "/mcp/ws"


@contextmanager
def fixture_server(output: Path) -> Iterator[Fixtures]:
    """In a data directory of its own."""
    data_dir = output / "fixtures"
    data_dir.mkdir()
    with _started("server", log=output / "fixtures.log", DATA_DIR=str(data_dir), LOG_LEVEL="WARNING") as line:
        port, key = line.split()
        yield Fixtures(f"http://127.0.0.1:{port}", key)


@contextmanager
def front(url: str, key: str, log: Path) -> Iterator[str]:
    """The base of an address that needs no key, in front of the server at `url`: over HTTP, or over WebSocket."""
    with _started("front", url, log=log, SLUICE_API_KEY=key) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def _started(module: str, *arguments: str, log: Path, **environment: str) -> Iterator[str]:
    """The line that a module of this package says when it listens."""
    with (
        log.open("w") as stderr,
        subprocess.Popen(
            [sys.executable, "-m", f"tests.conformance.{module}", *arguments],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **environment},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            line = process.stdout.readline().strip()
            assert line, f"tests.conformance.{module} has not started:\n{log.read_text()}"
            yield line
        finally:
            process.terminate()
            process.wait(PATIENCE)
