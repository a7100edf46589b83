"""The one bridge from async code to blocking code (the ORM, and all that reads it).

A bounded pool of threads: asgiref's own default is a single thread per process, on which one slow query
would hold up every socket.
"""

import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async

P = ParamSpec("P")
T = TypeVar("T")

POOL_SIZE = 8
_pool = ThreadPoolExecutor(POOL_SIZE, thread_name_prefix="sluice")

# Tests set this: their transaction lives on one thread, which a pool's threads could not see.
on_callers_thread = contextvars.ContextVar("on_callers_thread", default=False)


async def run_sync(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs blocking `function` off the loop; its database connection is returned afterwards."""
    if on_callers_thread.get():
        return await sync_to_async(function, thread_sensitive=True)(*args, **kwargs)
    bridged = database_sync_to_async(function, thread_sensitive=False, executor=_pool)
    result: T = await bridged(*args, **kwargs)
    return result
