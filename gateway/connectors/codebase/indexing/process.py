"""Runs the indexer in a child process of the worker. libgit2 and the parsers hold the GIL while they work: in the
worker's own process, which may also be the web server's, all calls would wait for them."""

import logging
import os
from collections.abc import Set
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from pebble import ProcessExpired

from gateway.connectors.codebase.child_processes import ChildProcesses
from gateway.connectors.codebase.index.index_place import IndexPlace
from gateway.connectors.codebase.indexing.advance import Advance, AdvanceOutcome

NICENESS = 10  # a lower priority: the process gets the processor time that calls leave
GRACE = 120.0  # seconds past the given time after which the process counts as hanging; a batch takes one or two
HANGS = "Indexing made no progress for two minutes and was stopped. It is retried automatically."
CRASHED = "The indexing process ended unexpectedly, perhaps because memory ran out. It is restarted automatically."
UNKNOWN = "Indexing failed with an unexpected error, which is in the server's log. It is retried automatically."

logger = logging.getLogger(__name__)


class IndexingProcess:
    """The child process. The first `advance` starts it, which takes half a second. It ends with its parent."""

    def __init__(self) -> None:
        self._children = ChildProcesses(1, _lower_priority)

    def advance(self, root: Path, place: IndexPlace, seconds: float, grace: float = GRACE) -> Advance:
        """Like indexer.advance. Blocks for about `seconds`. Raises nothing: if the process fails, hangs or ends, the
        result says so, and the next call starts another process if needed."""
        try:
            future = self._children.pool().schedule(_advance, args=(root, place, seconds))
            # Not the pool's own timeout: that starts when the process takes the job, which a hanging process never
            # does.
            found: Advance = future.result(seconds + grace)
        except TimeoutError:
            self.stop()
            return Advance(AdvanceOutcome.FAILED, error=HANGS)
        except (ProcessExpired, BrokenProcessPool):
            return Advance(AdvanceOutcome.FAILED, error=CRASHED)
        except Exception:
            logger.exception("indexing failed", extra={"project_root": str(root)})
            return Advance(AdvanceOutcome.FAILED, error=UNKNOWN)
        return found

    def keep(self, places: Set[IndexPlace]) -> None:
        """Abandons the runs of other places, whose projects were removed. Does not block."""
        if self._children.are_started:
            self._children.pool().schedule(_keep, args=(places,))

    def stop(self) -> None:
        """Blocks until the process has ended."""
        self._children.stop()


def _advance(root: Path, place: IndexPlace, seconds: float) -> Advance:
    from gateway.connectors.codebase.indexing import indexer  # only in the child

    return indexer.advance(root, place, seconds)


def _keep(places: Set[IndexPlace]) -> None:
    from gateway.connectors.codebase.indexing import indexer

    indexer.keep(places)


def _lower_priority() -> None:
    os.nice(NICENESS)


process = IndexingProcess()
