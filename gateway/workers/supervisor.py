"""Keeps the worker processes of `manage.py serve --workers` running: starts them, replaces those that end, stops all.

At the start, every worker must come up: if one fails, all are stopped, and the error gives the reason. Later, a worker
that ends is replaced. If its successors end too, or cannot be started, the pause before each grows. The other workers
keep answering.
"""

import asyncio
import logging
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path

from django.conf import settings

from context_protection.stores.announcements import announcements
from context_protection.stores.shared_store import shared_url, use_store_at
from gateway.process import place
from gateway.process.cluster import obituary
from gateway.workers import peers
from gateway.workers.connections import Distributor, WorkerLink
from gateway.workers.store import SharedStore

READY_SECONDS = 60.0  # how long a worker may take to start
STOP_SECONDS = 13.0  # how long workers may take to let calls finish and to end; after that they are killed
STEADY_SECONDS = 10.0  # a worker that has run longer than this is replaced at once
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
logger = logging.getLogger(__name__)


class CannotStart(Exception):
    """The message is a sentence to show to the user."""


class Worker:
    """One worker process, and the link over which it gets connections."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, link: WorkerLink) -> None:
        self.name, self.process, self.link = name, process, link
        self._started_at = time.monotonic()

    @classmethod
    async def start(cls, number: int, changed: Callable[[], None]) -> "Worker":
        """Raises OSError or RuntimeError if no memory, process, thread or file descriptor is left."""
        link = WorkerLink(changed)
        descriptor = link.workers_end.fileno()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(settings.BASE_DIR / "manage.py"),
                *("serve", "--connections-from", str(descriptor)),
                env=place.environment_of(number),
                stdin=asyncio.subprocess.DEVNULL,
                pass_fds=[descriptor],
                process_group=0,  # Ctrl-C reaches only the parent, which then stops all
            )
        except BaseException:
            link.close()
            raise
        finally:
            link.workers_end.close()
        return cls(place.name_of(number), process, link)

    @property
    def was_steady(self) -> bool:
        return self.link.has_been_ready.is_set() and time.monotonic() - self._started_at > STEADY_SECONDS

    async def comes_up(self) -> bool:
        """True once the worker can answer; False if it ended before, or was killed because it took too long."""
        ready, ended = (asyncio.ensure_future(each) for each in (self.link.has_been_ready.wait(), self.process.wait()))
        await asyncio.wait([ready, ended], timeout=READY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done() and not ended.done():
            logger.error("%s has not started within %d seconds; killed", self.name, READY_SECONDS)
            self.signal(signal.SIGKILL)
            await ended
        ready.cancel()
        return not ended.done()

    def signal(self, number: int) -> None:
        if self.process.returncode is None:
            self.process.send_signal(number)


class Supervisor:
    def __init__(self, count: int, listener: socket.socket, directory: Path) -> None:
        self._count, self._directory = count, directory
        self._workers: dict[int, Worker] = {}
        self._up = 0  # workers that have come up at the start
        self._stopping = asyncio.Event()
        self._distributor = Distributor(listener, self._links)

    async def run(self) -> None:
        """Runs until SIGINT or SIGTERM; a second one kills the workers. Raises CannotStart."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._signalled)
        async with AsyncExitStack() as shared:
            await self._share(shared)
            tasks = [asyncio.create_task(self._keep(number)) for number in range(1, self._count + 1)]
            tasks.append(asyncio.create_task(self._stopping.wait()))  # type: ignore[arg-type]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            finally:
                self._distributor.close()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await self._stop()

    async def _share(self, shared: AsyncExitStack) -> None:
        """Answers the workers' requests to their parent, until `shared` exits."""
        if not shared_url():
            path = self._directory / "store.sock"
            store = await SharedStore().start(path)
            shared.callback(store.close)
            use_store_at(path)
        await peers.start()
        shared.push_async_callback(peers.stop)
        announcements.start()
        shared.push_async_callback(asyncio.to_thread, announcements.stop)

    async def _keep(self, number: int) -> None:
        """Keeps the worker with this number running. Raises CannotStart if the first one does not come up."""
        worker = await self._start(number)
        if not await worker.comes_up():
            raise CannotStart(
                f"{obituary(worker.name, worker.process)} before it could answer; its log lines above say why. "
                "The others are stopped."
            )
        self._up += 1
        if self._up == self._count:  # if opened earlier, the first worker to come up would get all connections
            self._distributor.open()
        pause = 0.0
        while True:
            await worker.process.wait()
            worker.link.close()
            pause = 0.0 if worker.was_steady else _longer(pause)
            logger.error("%s; replaced in %d s", obituary(worker.name, worker.process), pause)
            worker, pause = await self._successor(number, pause)
            if await worker.comes_up():
                logger.info("%s (process %d) answers", worker.name, worker.process.pid)

    async def _successor(self, number: int, pause: float) -> tuple[Worker, float]:
        """Starts a new worker after the pause, and retries until one starts. Returns it with the last pause."""
        while True:
            await asyncio.sleep(pause)
            try:
                return await self._start(number), pause
            except CannotStart as error:
                pause = _longer(pause)
                logger.error("%s Tried again in %d s.", error, pause)

    async def _start(self, number: int) -> Worker:
        """Raises CannotStart."""
        try:
            worker = self._workers[number] = await Worker.start(number, self._distributor.resume)
        except (OSError, RuntimeError) as error:
            raise CannotStart(
                f"{place.name_of(number)} cannot be started: {error}. Give Sluice more memory, processes or file "
                "descriptors, or use fewer --workers."
            ) from error
        return worker

    async def _stop(self) -> None:
        workers = list(self._workers.values())
        for worker in workers:
            worker.signal(signal.SIGTERM)
        ends = [asyncio.ensure_future(worker.process.wait()) for worker in workers]
        if ends:
            _, late = await asyncio.wait(ends, timeout=STOP_SECONDS)
            if late:
                logger.error("%d workers did not stop in time; killed", len(late))
        for worker in workers:
            worker.signal(signal.SIGKILL)
            await worker.process.wait()
            worker.link.close()

    def _links(self) -> Iterable[WorkerLink]:
        return [each.link for each in self._workers.values()]

    def _signalled(self) -> None:
        if self._stopping.is_set():
            for worker in self._workers.values():
                worker.signal(signal.SIGKILL)
        self._stopping.set()


def _longer(pause: float) -> float:
    return min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * pause))


async def supervise(count: int, listener: socket.socket, directory: Path) -> None:
    """Runs `count` workers until SIGINT or SIGTERM. Raises CannotStart."""
    await Supervisor(count, listener, directory).run()
