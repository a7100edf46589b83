"""The supervisor with workers that only say that they can answer: they start in a moment."""

import asyncio
import logging
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.process.place import own_directory
from gateway.workers import supervisor
from gateway.workers.supervisor import CannotStart, Supervisor, Worker
from tests.patience import PATIENCE

READY = f"""#!{sys.executable}
import socket, struct, sys
parent = socket.socket(fileno=int(sys.argv[-1]))
parent.send(struct.pack("!II", 0, 0))
while parent.recv(1):
    pass
"""


class Program:
    """What the supervisor starts in place of Python."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def install(self) -> None:
        self.path.write_text(READY)
        self.path.chmod(stat.S_IRWXU)

    def remove(self) -> None:
        self.path.unlink()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "ready"))
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.01)
    program = Program(tmp_path / "ready")
    program.install()
    return program


class Log(logging.Handler):
    """What the supervisor logs, to be waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.put_nowait(record.getMessage())

    async def until(self, text: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while text not in await self._lines.get():
                pass


@pytest.fixture
def log() -> Iterator[Log]:
    log = Log()
    supervisor.logger.addHandler(log)
    yield log
    supervisor.logger.removeHandler(log)


async def reach_a_worker(listener: socket.socket) -> None:
    """It closes the connection."""
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        assert await reader.read() == b""
        writer.close()


@asynccontextmanager
async def supervised(folder: Path) -> AsyncIterator[Supervisor]:
    """One worker, which has come up."""
    with own_directory(folder) as directory, socket.create_server(("127.0.0.1", 0)) as listener:
        supervisor = Supervisor(1, listener, directory)
        running = asyncio.create_task(supervisor.run())
        try:
            await reach_a_worker(listener)
            yield supervisor
            await reach_a_worker(listener)
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.wait([running])


def test_a_worker_that_cannot_be_replaced_yet_is_replaced_later(program: Program, log: Log, tmp_path: Path):
    async def story() -> None:
        async with supervised(tmp_path) as supervisor:
            former = supervisor._workers[1].process
            program.remove()
            former.kill()
            await log.until("web-1 cannot be started")
            program.install()
            await log.until("answers")
            assert supervisor._workers[1].process.pid != former.pid

    asyncio.run(story())  # the supervisor handles signals, which only the main thread may


def test_a_worker_that_cannot_be_started_at_first_ends_all_with_the_reason(program: Program, tmp_path: Path):
    async def story() -> None:
        program.remove()
        with own_directory(tmp_path) as directory, socket.create_server(("127.0.0.1", 0)) as listener:
            await Supervisor(1, listener, directory).run()

    with pytest.raises(CannotStart, match=r"web-1 cannot be started: .*No such file"):
        asyncio.run(story())


def test_a_worker_that_cannot_be_started_leaves_no_file_descriptor(program: Program):
    async def story() -> None:
        program.remove()
        before = os.listdir("/proc/self/fd")
        with pytest.raises(FileNotFoundError):
            await Worker.start(1, lambda: None)
        assert os.listdir("/proc/self/fd") == before

    asyncio.run(story())
