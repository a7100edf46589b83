"""The production topology as local processes: web processes, a Celery worker and beat, with one Postgres and one Redis.

All start together. They stop in order: first the web processes and beat, which create tasks, then the worker, which
runs them.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx2
from django.conf import settings

READY_SECONDS = 60
# Time for beat and the web processes to let calls finish and to end; then the same again for the worker. Processes that
# still run are killed.
STOP_SECONDS = 12.0
POLL_SECONDS = 0.05
LONGEST_LINE = 16 * 1024 * 1024  # bytes of a child's log line

Log = Callable[[str, str], None]  # (process name, line)


class ClusterError(Exception):
    """The cluster cannot continue. The message is a sentence to show to the user."""


@dataclass(frozen=True)
class ProcessCommand:
    """A process to start: its name in the logs, and its arguments for the Python interpreter."""

    name: str
    arguments: Sequence[str]


@dataclass(frozen=True)
class Topology:
    """The processes that the cluster consists of."""

    ports: Sequence[int]
    log_level: str = "INFO"
    worker_modules: Sequence[str] = ()  # task modules, in addition to those of the applications

    @property
    def addresses(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self.ports]

    def groups(self, directory: Path) -> list[list[ProcessCommand]]:
        """Groups of programs, in the order in which they stop. Beat stores its schedule in `directory`."""
        webs = [self._web(number, port) for number, port in enumerate(self.ports, start=1)]
        return [[*webs, self._beat(directory)], [self._worker()]]

    def _web(self, number: int, port: int) -> ProcessCommand:
        manage = str(settings.BASE_DIR / "manage.py")
        return ProcessCommand(
            f"web-{number}", [manage, "serve", "--web-only", "--host", "127.0.0.1", "--port", str(port)]
        )

    def _worker(self) -> ProcessCommand:
        # Threads, as in the embedded default. Prefork takes three times the memory, and Celery then closes the database
        # pool after each task, while the thread that follows revisions still uses it.
        node = ["--hostname", f"cluster-{os.getpid()}@%h", "--without-gossip", "--without-mingle"]
        modules = [argument for module in self.worker_modules for argument in ("--include", module)]
        return ProcessCommand(
            "worker", [*self._celery("worker"), "--pool", "threads", "--concurrency", "2", *node, *modules]
        )

    def _beat(self, directory: Path) -> ProcessCommand:
        return ProcessCommand(
            "beat", [*self._celery("beat"), "--schedule", str(directory / "schedule"), "--pidfile", ""]
        )

    def _celery(self, command: str) -> list[str]:
        return ["-m", "celery", "-A", "gateway.celery", "--quiet", command, "--loglevel", self.log_level]


class Child:
    """A running program in its own process group: Ctrl-C in a terminal reaches only the cluster command, which then
    stops its children in order."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, log: Log) -> None:
        self.name = name
        self.process = process
        self._log = log
        self._lines = asyncio.create_task(self._forward())
        self.exited = asyncio.create_task(process.wait())

    @classmethod
    async def start(cls, program: ProcessCommand, environment: Mapping[str, str], log: Log) -> "Child":
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *program.arguments,
            cwd=settings.BASE_DIR,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=LONGEST_LINE,
            process_group=0,
        )
        return cls(program.name, process, log)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def runs(self) -> bool:
        return self.process.returncode is None

    def obituary(self) -> str:
        return obituary(self.name, self.process)

    def terminate(self) -> None:
        if self.runs:
            self.process.terminate()

    async def finish(self) -> None:
        """Kills the process if it has not stopped, and waits for its last log lines."""
        if self.runs:
            self._log(self.name, "did not stop in time; killed")
            self.process.kill()
        await self.exited
        await asyncio.wait([self._lines], timeout=1)

    async def _forward(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self._log(self.name, line.decode(errors="replace").rstrip())


class Cluster:
    """Starts a topology's processes, watches them, and stops them. Signals only these, by process id."""

    def __init__(
        self,
        topology: Topology,
        environment: Mapping[str, str],
        *,
        directory: Path,
        log: Log,
    ) -> None:
        self.topology = topology
        self.environment = environment
        self.directory = directory
        self._log = log
        self._groups: list[list[Child]] = []

    @property
    def children(self) -> list[Child]:
        return [child for group in self._groups for child in group]

    async def run(self, on_ready: Callable[["Cluster"], None]) -> None:
        """Runs until SIGINT, SIGTERM or SIGHUP. Raises ClusterError if a child dies or does not become ready."""
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            await self._start()
            stopped = asyncio.create_task(stop.wait())
            died = asyncio.create_task(self._watch())
            ready = asyncio.create_task(self._ready())
            try:
                await _first(stopped, died, ready)
                if not stop.is_set():
                    on_ready(self)
                    await _first(stopped, died)
            finally:
                for task in (stopped, died, ready):
                    task.cancel()
        finally:
            await self._stop()

    async def _start(self) -> None:
        for programs in self.topology.groups(self.directory):
            group: list[Child] = []
            self._groups.append(group)
            for program in programs:
                group.append(await Child.start(program, self.environment, self._log))

    async def _ready(self) -> None:
        try:
            async with asyncio.timeout(READY_SECONDS), httpx2.AsyncClient(trust_env=False) as client:
                for address in self.topology.addresses:
                    await _until_ready(client, address)
        except TimeoutError:
            raise ClusterError(f"{address} has not become ready within {READY_SECONDS} seconds.") from None

    async def _watch(self) -> None:
        """Raises ClusterError when the first child dies."""
        alive = {child.exited: child for child in self.children}
        done, _ = await asyncio.wait(alive, return_when=asyncio.FIRST_COMPLETED)
        deaths = ", ".join(alive[exited].obituary() for exited in alive.keys() & done)
        raise ClusterError(f"{deaths}; the others are stopped.")

    async def _stop(self) -> None:
        for group in self._groups:
            for child in group:
                child.terminate()
            if group:
                await asyncio.wait([child.exited for child in group], timeout=STOP_SECONDS)
            for child in group:
                await child.finish()


def obituary(name: str, process: asyncio.subprocess.Process) -> str:
    """How a process has ended, as a sentence without its full stop."""
    code = process.returncode
    assert code is not None
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
    return f"{name} (process {process.pid}) {how}"


async def _first(*tasks: asyncio.Task[object]) -> None:
    """Waits for the first task that ends, and raises its exception if it failed."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in done:
        task.result()


async def _until_ready(client: httpx2.AsyncClient, address: str) -> None:
    while True:
        try:
            if (await client.get(f"{address}/readyz")).status_code == httpx2.codes.OK:
                return
        except httpx2.TransportError:  # the process does not listen yet
            pass
        await asyncio.sleep(POLL_SECONDS)
