"""A panel fails alone: a slow or failing query of one leaves the others complete."""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db import DatabaseError, connection, transaction

logger = logging.getLogger(__name__)
T = TypeVar("T")

UNREADABLE = "Not known: the calls cannot be read now. What stands here without an error is complete."
SECONDS = 5
STEPS = 20_000  # instructions of SQLite between two checks of the clock: some milliseconds


@dataclass(frozen=True, slots=True)
class Panel(Generic[T]):
    """A panel's `content`, or the reason why it failed."""

    title: str
    content: T | None
    failure: str = ""


def guarded(title: str, build: Callable[[], T]) -> Panel[T]:
    """Builds a panel's content within SECONDS. A failure is logged and shown on the panel."""
    # Inside a transaction, a failure would end it, so the panel gets a savepoint.
    part = transaction.atomic() if connection.in_atomic_block else nullcontext()
    try:
        with _limited(SECONDS), part:
            return Panel(title, build())
    except DatabaseError as error:
        logger.exception("panel failed", extra={"panel": title})
        return Panel(title, None, _why(error))


def is_missing(exists: Callable[[], bool]) -> bool:
    """Whether something does not exist. What cannot be looked for may exist: its page then says what it cannot read."""
    return guarded("Name", exists).content is False


def _why(error: DatabaseError) -> str:
    if _was_stopped(error):
        return f"This panel took longer than {SECONDS} s and was stopped. The others are complete."
    return "The database answered this panel with an error, which is in the server's log. The others are complete."


def _was_stopped(error: DatabaseError) -> bool:
    cause = error.__cause__
    is_interrupted = isinstance(cause, sqlite3.OperationalError) and str(cause) == "interrupted"
    return is_interrupted or getattr(cause, "sqlstate", "") == "57014"  # query_canceled


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Stops the database's work after `seconds`. Without a transaction, which would block writers on SQLite."""
    connection.ensure_connection()
    with _limited_sqlite(seconds) if connection.vendor == "sqlite" else _limited_postgres(seconds):
        yield


@contextmanager
def _limited_sqlite(seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    connection.connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)
    try:
        yield
    finally:
        connection.connection.set_progress_handler(None, 0)


@contextmanager
def _limited_postgres(seconds: float) -> Iterator[None]:
    set_timeout = "SELECT set_config('statement_timeout', %s, false)"
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('statement_timeout')")
        (usual,) = cursor.fetchone()
        cursor.execute(set_timeout, [f"{int(1000 * seconds)}"])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(set_timeout, [usual])
