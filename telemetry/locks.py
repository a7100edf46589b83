"""A lock that one process or thread at a time holds, and that ends with its holder."""

import threading
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


@contextmanager
def only_one(name: str) -> Iterator[bool]:
    """Yields whether the lock is ours; never waits. Postgres holds it for all processes; with SQLite, which is for one
    process, a lock of the process does."""
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
    """A lock of the session, so that each rule can have its own transaction. Postgres frees it if the connection
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
