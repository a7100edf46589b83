"""Processes that read files for the process that writes an index. Reading and parsing take longer than writing, so a
run of many files is spread over several processes. A file that makes its reader crash or hang twice is left out, and
the run goes on. But if a process cannot even read the file's bytes, the file is not to blame, and the run fails.

The readers start with the first run that needs them, are shared by the runs of all projects, and end with the last of
these runs. They have the priority of the process that writes.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from pebble import ProcessExpired, ProcessPool

from gateway.connectors.codebase.child_processes import ChildProcesses
from gateway.connectors.codebase.index.index_place import IndexFailed
from gateway.connectors.codebase.indexing.file_reads import Digests, ReadFiles, look_at, read_files

PROCESSES = 2
AHEAD = 2  # batches that are read, or wait to be read, while one is written
BATCH_SECONDS, FILE_SECONDS = 60.0, 10.0  # a batch takes a second or two
LOOK_SECONDS = 1.0  # between checks of whether a pool still works
TRIES = 2  # for a file on its own
FAILS = (
    "The processes that read the files of the project cannot start, or its file system does not answer. Indexing is "
    "retried automatically."
)

_ENDED = (ProcessExpired, BrokenProcessPool, CancelledError, TimeoutError)

logger = logging.getLogger(__name__)


class Readers:
    """To be used by one thread. `work`: what a process does with a batch. `look`: reads a file and discards its
    content. `batch_seconds`, `file_seconds`: how long a batch, or a file on its own, may take before its process is
    stopped."""

    def __init__(
        self,
        work: Callable[[Path, Digests], ReadFiles] = read_files,
        look: Callable[[Path, str], None] = look_at,
        batch_seconds: float = BATCH_SECONDS,
        file_seconds: float = FILE_SECONDS,
    ) -> None:
        self._work, self._look = work, look
        self._batch_seconds, self._file_seconds = batch_seconds, file_seconds
        self.processes = ChildProcesses(PROCESSES, _prepare)
        self._runs = 0

    def read(self, root: Path, batches: Iterable[Digests]) -> Iterator[ReadFiles]:
        """Yields what `read_files` returns for each batch, in order. Raises IndexFailed."""
        waiting: deque[tuple[Digests, _Scheduled]] = deque()
        self._runs += 1
        try:
            for batch in batches:
                waiting.append((batch, self._schedule(root, batch, self._batch_seconds)))
                while len(waiting) > AHEAD:
                    yield from self._next(root, waiting)
            while waiting:
                yield from self._next(root, waiting)
        finally:
            self._runs -= 1
            if not self._runs:
                self.processes.stop()

    def _next(self, root: Path, waiting: deque[tuple[Digests, "_Scheduled"]]) -> Iterator[ReadFiles]:
        batch, scheduled = waiting.popleft()
        try:
            found: ReadFiles = scheduled.result()
        except _ENDED:
            yield from self._one_by_one(root, batch)
            return
        if found.rest:
            rest = {path: batch[path] for path in found.rest}
            waiting.appendleft((rest, self._schedule(root, rest, self._batch_seconds)))
        yield found

    def _one_by_one(self, root: Path, batch: Digests) -> Iterator[ReadFiles]:
        """After a reader has ended, reads its batch file by file, to find the file that ended it."""
        for path, digest in batch.items():
            yield self._alone(root, path, digest)

    def _alone(self, root: Path, path: str, digest: bytes) -> ReadFiles:
        for _ in range(TRIES):
            try:
                found: ReadFiles = self._schedule(root, {path: digest}, self._file_seconds).result()
                return found
            except _ENDED:
                logger.exception("a file ended its reader", extra={"project_root": str(root), "path": path})
        try:
            _Scheduled(self.processes.pool(), self._look, (root, path), self._file_seconds).result()
        except _ENDED as error:
            raise IndexFailed(FAILS) from error
        logger.error("a file cannot be indexed", extra={"project_root": str(root), "path": path})
        return ReadFiles(left_out=[path])

    def _schedule(self, root: Path, batch: Digests, seconds: float) -> "_Scheduled":
        return _Scheduled(self.processes.pool(), self._work, (root, batch), seconds)


class _Scheduled:
    """A job that was given to a pool."""

    def __init__(self, pool: ProcessPool, work: Callable[..., Any], arguments: tuple[Any, ...], seconds: float) -> None:
        self._pool = pool
        self._future: Future[Any] = pool.schedule(work, args=arguments, timeout=seconds)

    def result(self) -> Any:
        """Raises the exceptions in _ENDED. Also checks the pool, because a pool that breaks while it is given a job
        forgets the job, and the future would never be done."""
        while not wait([self._future], LOOK_SECONDS).done:
            if not self._pool.active:
                raise BrokenProcessPool
        return self._future.result()


def _prepare() -> None:
    """Does nothing, because the grammars are loaded when a file needs them."""


readers = Readers()
