"""A lock that only one process or thread holds at a time, and that is released when its holder ends."""

import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@contextmanager
def only_one(name: str) -> Iterator[bool]:
    """Yields whether the lock was acquired; never waits. On Postgres, it is a lock of the database for all processes.
    SQLite serves one process, so a lock of this process is enough."""
    if connection.vendor == "postgresql":
        with _advisory(zlib.crc32(name.encode())) as is_ours:
            yield is_ours
        return
    lock = _locks[name]
    is_ours = lock.acquire(blocking=False)
    try:
        yield is_ours
    finally:
        if is_ours:
            lock.release()


@contextmanager
def _advisory(key: int) -> Iterator[bool]:
    """A session lock of Postgres, which can be held over several transactions. Postgres releases it if the connection
    breaks."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        is_ours = bool(cursor.fetchone()[0])
    try:
        yield is_ours
    finally:
        if is_ours:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
