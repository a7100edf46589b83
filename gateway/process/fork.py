"""Runs work in a forked process, which frees all its memory at the end. For the start of a process, before it has
threads."""

import multiprocessing
import sys
from collections.abc import Callable
from typing import TypeVar

from django.db import connections

Result = TypeVar("Result")


def in_a_fork(work: Callable[[], Result]) -> Result:
    """Returns what `work` returns, and raises what it raises; both are pickled. Where forking is not safe, `work` runs
    in this process. The forked process ends after its work, even if this process has ended before."""
    if sys.platform != "linux":  # on macOS, system libraries must not be used after a fork
        return work()
    from pebble.concurrent import process  # loaded here, because most starts need no fork

    connections.close_all()  # two processes must not use one connection
    result: Result = process(mp_context=multiprocessing.get_context("fork"))(work)().result()
    return result
