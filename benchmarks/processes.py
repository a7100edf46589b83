"""Programs that a benchmark starts, and what they cost the machine: processor time and memory, children included."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 120  # long, because a first start creates the database, and other programs may use the machine
STOP_SECONDS = 20


@dataclass(frozen=True)
class StartedProgram:
    """`log`: its stderr."""

    process: "subprocess.Popen[bytes]"
    log: IO[bytes]

    @property
    def pid(self) -> int:
        return self.process.pid

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    def complaints(self) -> str:
        """The last lines of its stderr."""
        self.log.seek(0)
        return self.log.read()[-4000:].decode(errors="replace")

    def until_printed(self, pattern: str) -> str:
        """Waits until the output contains the pattern; returns the output. Raises RuntimeError if the program ends
        first, or does not print the pattern in time."""
        assert self.process.stdout is not None
        printed, deadline = b"", time.monotonic() + START_SECONDS
        while not re.search(pattern.encode(), printed):
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise RuntimeError(
                    f"{self.process.args!r} has not printed {pattern!r} in {START_SECONDS} s: {printed!r}"
                )
            found = os.read(self.process.stdout.fileno(), 65536)
            if not found:
                raise RuntimeError(f"{self.process.args!r} has ended: {printed!r} {self.complaints()!r}")
            printed += found
        return printed.decode()


@contextmanager
def started(
    arguments: Sequence[str],
    root: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    *,
    python: Path = Path(sys.executable),
) -> Iterator[StartedProgram]:
    """Runs a Python program with these arguments, and stops it in the end, as a supervisor does. Its environment is
    only PATH and `environment`, so that it has the default settings."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [python, *arguments],
            cwd=root,
            env={"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=log,
        )
        try:
            yield StartedProgram(process, log)
        finally:
            _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    assert process.stdout is not None
    process.stdout.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def family(pid: int) -> list[int]:
    """The ids of the process and of all its descendants."""
    children = Path(f"/proc/{pid}/task").glob("*/children")
    return [pid, *(each for listed in children for child in listed.read_text().split() for each in family(int(child)))]


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process and its descendants, including threads that have ended. It reads
    the process's own clock, which counts nanoseconds; /proc/…/stat counts ticks of 10 ms."""
    return sum(time.clock_gettime((~each << 3) | 2) for each in family(pid))


def resident_mb(pid: int) -> float:
    """Memory of a process and its descendants."""
    return sum(_resident_kb(each) for each in family(pid)) / 1024


def _resident_kb(pid: int) -> int:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0
