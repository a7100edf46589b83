"""Processes of manage.py that find other people's packages imported: forks of one interpreter that has imported them.

An import of all of them takes 1.5 s of a processor, and of Sluice's own modules that read no settings 0.4 s more: most
of what a start needs. Settings and state are each process's own, and so are the modules that have some.
Starts from nothing are tested by `serving(..., empty=True)`, by clusters and by the official clients of stdio."""

import atexit
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
LONGEST_REQUEST = 2**20
# A variable of the environment: passwords are hashed in the rounds that Sluice ships with (0.4 s a login), not in one.
ROUNDS_AS_SHIPPED = "ROUNDS_AS_SHIPPED"
# What reads no settings when it is imported, and costs most.
PACKAGES = """
    aiohttp anyio._backends._asyncio celery.app.base celery.beat celery.worker.consumer channels
    context_protection.core.redaction context_protection.core.results.queries cryptography.fernet
    django.contrib.admin.decorators django.contrib.auth.hashers django.contrib.sessions.backends.base
    django.core.management django.db.backends.postgresql.base django.db.backends.sqlite3.base
    django.db.migrations.executor django.forms django.test duckdb httpcore2 httpx2 jsonschema_rs kombu.matcher
    kombu.transport.virtual mcp mcp.server pebble prometheus_client redis.asyncio requests rest_framework.compat rich
    segno sentencex servestatic simple_history structlog unittest.mock uvicorn
    uvicorn.protocols.http.httptools_impl uvloop websockets websockets.server xml.dom.minidom yaml
"""
# Of Sluice, what reads no settings either and has no state of its process.
OWN_MODULES = """
    context_protection.core.protect context_protection.layers.file_validation gateway.catalog.arguments
    gateway.connectors.codebase.indexing.process gateway.connectors.hostaway.fields
    gateway.connectors.hostaway.sample.guides gateway.connectors.mcp_servers.answers
    gateway.connectors.mcp_servers.connections gateway.connectors.nsip.sources
    gateway.connectors.openapi.document.reader gateway.connectors.openapi.request.requests
    gateway.connectors.openapi.response.detection gateway.connectors.tools.search gateway.mcp.in_flight
    gateway.staff.playground.follow_ups gateway.tracing.requests gateway.workers.session_routing
    telemetry.call_figures
"""


@dataclass
class Fork:
    """A process, with what Popen offers for one. `told` is a pipe that holds its exit code when it has ended."""

    pid: int
    told: IO[str]
    returncode: int | None = None

    def wait(self, timeout: float) -> int:
        """The exit code, negative for a signal. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self.told], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            self.returncode = int(self.told.readline())
            self.told.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None and not select.select([self.told], [], [], 0)[0]:
            os.kill(self.pid, number)


def start(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int = -1,
    *,
    wrapper: Sequence[str] = (),
) -> Fork:
    """`manage.py` with these arguments and file descriptors, which stay the caller's to close; -1 is nothing.
    `wrapper` is a command that runs another one, as `setpriv` does."""
    reading, writing = os.pipe()
    with Path(os.devnull).open("r+b") as nowhere:
        files = [nowhere.fileno() if each < 0 else each for each in (stdin, stdout, stderr)]
        request = json.dumps([list(arguments), dict(environment)]).encode()
        socket.send_fds(_parent(tuple(wrapper)), [request], [*files, writing])
    os.close(writing)
    told = os.fdopen(reading, buffering=1)
    return Fork(int(told.readline()), told)


def run(
    arguments: Sequence[str], environment: Mapping[str, str], timeout: float, *, wrapper: Sequence[str] = ()
) -> "subprocess.CompletedProcess[str]":
    """`manage.py` to its end. Raises subprocess.TimeoutExpired."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        process = start(arguments, environment, -1, stdout.fileno(), stderr.fileno(), wrapper=wrapper)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            raise
        printed = [_text_of(file) for file in (stdout, stderr)]
    return subprocess.CompletedProcess(list(arguments), code, *printed)


def _text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


@cache
def _parent(wrapper: tuple[str, ...]) -> socket.socket:
    """The connection to the interpreter that forks, started with the first process and ended with this one."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [*wrapper, sys.executable, "-m", "tests.e2e.forks", str(there.fileno())],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"},
        pass_fds=[there.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    there.close()
    atexit.register(process.wait)
    atexit.register(here.close)
    return here


# -- The interpreter that forks ---------------------------------------------------------------------


def _forked(requests: socket.socket) -> bool:
    """Forks for each request; returns True in the processes that are asked for, False when nobody asks any more."""
    while True:
        request, files, _, _ = socket.recv_fds(requests, LONGEST_REQUEST, 4)
        if not request:
            return False
        if not os.fork():
            break
        for each in files:
            os.close(each)
        with suppress(ChildProcessError):
            while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG):
                pass
    *standard, told = files
    if pid := os.fork():
        requests.close()
        for each in standard:
            os.close(each)
        os.write(told, f"{pid}\n".encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.write(told, f"{code}\n".encode())
        os._exit(0)
    _take_the_place_of_the_interpreter(*json.loads(request), standard)
    return True


def _take_the_place_of_the_interpreter(arguments: list[str], environment: dict[str, str], standard: list[int]) -> None:
    for number, each in enumerate(standard):
        os.dup2(each, number)
    os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
    # New ones: those of the interpreter remember what kind of file was behind them.
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8", write_through=True)
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", write_through=True)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["manage.py", *arguments]
    if ROUNDS_AS_SHIPPED not in environment:
        hashers = importlib.import_module("django.contrib.auth.hashers")
        hashers.PBKDF2PasswordHasher.iterations = 1


exit_code = 0


def _leave() -> None:
    """Without taking the imported packages apart, which is half a second's work for nobody."""
    os._exit(exit_code)


def _run() -> int:
    """The exit code of manage.py."""
    try:
        runpy.run_path(str(ROOT / "manage.py"), run_name="__main__")
    except SystemExit as stopped:
        if isinstance(stopped.code, str):
            sys.stderr.write(f"{stopped.code}\n")
            return 1
        return stopped.code or 0
    return 0


if __name__ == "__main__":
    atexit.register(_leave)  # first, so that it runs last
    for module in (*PACKAGES.split(), *OWN_MODULES.split()):
        importlib.import_module(module)
    importlib.import_module("context_protection.core.tokens").claude.count("")  # reads the vocabulary
    # Compiles the patterns.
    importlib.import_module("context_protection.core.redaction").redact(
        {"note": "The doorCode is 4711.", "doorCode": 4711}
    )
    gc.freeze()  # what is never collected stays shared
    with socket.socket(fileno=int(sys.argv[1])) as channel:
        is_asked_for = _forked(channel)
        channel.detach()
    if is_asked_for:
        exit_code = 1  # of what is raised
        exit_code = _run()
