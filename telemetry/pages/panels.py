"""Isolates the panels of a page: if the query of one panel fails or is too slow, the others are complete."""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db import DatabaseError, connection, transaction

from telemetry import postgres

logger = logging.getLogger(__name__)
T = TypeVar("T")

UNREADABLE = "The calls cannot be read now. Panels without an error are complete."
SECONDS = 5
_is_limited: ContextVar[bool] = ContextVar("is_limited", default=False)
STEPS = 20_000  # instructions of SQLite between two checks of the clock: some milliseconds


@dataclass(frozen=True, slots=True)
class Panel(Generic[T]):
    """A panel's `content`, or the reason why it failed."""

    title: str
    content: T | None
    failure: str = ""


def guarded(title: str, build: Callable[[], T]) -> Panel[T]:
    """Builds a panel's content within SECONDS. A failure is logged and shown on the panel."""
    # Inside a transaction, a failure would abort the whole transaction, so the panel gets a savepoint.
    part = transaction.atomic() if connection.in_atomic_block else nullcontext()
    try:
        with _limited(SECONDS), part:
            return Panel(title, build())
    except DatabaseError as error:
        logger.exception("panel failed", extra={"panel": title})
        return Panel(title, None, _why(error))


def is_missing(exists: Callable[[], bool]) -> bool:
    """Whether something surely does not exist. False if the database fails: the page then opens and shows that."""
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
def limited() -> Iterator[None]:
    """On Postgres, sets the time limit of all panels of a page at once, and the memory for their sums."""
    if connection.vendor != "postgresql":
        yield
        return
    with postgres.settings(statement_timeout=f"{int(1000 * SECONDS)}", work_mem=postgres.ROOM):
        token = _is_limited.set(True)
        try:
            yield
        finally:
            _is_limited.reset(token)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Stops the database's work after `seconds`. Opens no transaction, which would block writers on SQLite."""
    if _is_limited.get():
        yield
        return
    connection.ensure_connection()
    is_sqlite = connection.vendor == "sqlite"
    milliseconds = f"{int(1000 * seconds)}"
    with _limited_sqlite(seconds) if is_sqlite else postgres.settings(statement_timeout=milliseconds):
        yield


@contextmanager
def _limited_sqlite(seconds: float) -> Iterator[None]:
    end = time.monotonic() + seconds
    connection.connection.set_progress_handler(lambda: time.monotonic() > end, STEPS)
    try:
        yield
    finally:
        connection.connection.set_progress_handler(None, 0)
