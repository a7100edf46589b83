"""Processes that answer calls. libgit2 and the parsers hold the GIL while they work, so in the web process every other
call would wait for them. A tree that crashes them ends one of these processes, not the server."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from pebble import ProcessExpired

from gateway.connectors.codebase.child_processes import ChildProcesses

T = TypeVar("T")

MOST = 2  # processes; further calls wait for one of them
GRACE = 0.2  # seconds past a call's time limit after which its process is killed


class OutOfTime(Exception):
    """The work did not end in time. If it had begun, its process was killed."""


class Crashed(Exception):
    """The process ended during the work."""


class AnswerProcesses:
    """The processes start at the first call, or earlier if `start` is called, because their imports take about a
    second."""

    def __init__(self) -> None:
        self._children = ChildProcesses(MOST, _import_what_answers_need)

    def start(self) -> None:
        """Starts the processes without waiting for them."""
        self._children.pool().submit(_do_nothing, None)  # a pool starts its processes when it gets its first job

    async def run(self, ends_at: float, work: Callable[..., T], *arguments: Any) -> T:
        """Returns what `work` returns. `work` must be a module-level function with picklable arguments, and should stop
        at `ends_at`, a value of time.monotonic(). Raises what `work` raises, OutOfTime, or Crashed."""
        future = self._children.pool().submit(work, None, *arguments)
        try:
            async with asyncio.timeout(max(0.0, ends_at - time.monotonic()) + GRACE):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise OutOfTime from None
        except (ProcessExpired, BrokenProcessPool):
            raise Crashed from None
        finally:
            future.cancel()  # type: ignore[no-untyped-call]

    def stop(self) -> None:
        """Blocks until the processes have ended."""
        self._children.stop()


def _import_what_answers_need() -> None:
    from gateway.connectors.codebase.messages import answer as message  # noqa: F401
    from gateway.connectors.codebase.model import check  # noqa: F401
    from gateway.connectors.codebase.query import answer as answer_of_query  # noqa: F401
    from gateway.connectors.codebase.secrets import sanitized

    sanitized("")  # the first call imports the detectors


def _do_nothing() -> None:
    pass


processes = AnswerProcesses()
