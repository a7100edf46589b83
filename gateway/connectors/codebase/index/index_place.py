"""Where the index of a project is: in a file of SQLite, or in a schema of Postgres. A place can be sent to another
process, which needs no Django to use it."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString, Protocol

if TYPE_CHECKING:  # the stores load the parsers
    from gateway.connectors.codebase.index.store import IndexStore


class IndexFailed(Exception):
    """The index cannot be used. The message is a sentence for ops."""


class IndexGone(Exception):
    """The index was deleted while it was used."""


class IndexPlace(Protocol):
    def existing(self) -> "IndexStore | None":
        """The store for reading; creates nothing. None if there is no index of this version. Raises IndexFailed."""

    @contextmanager
    def reading(self) -> "Iterator[IndexStore | None]":
        """Like `existing`. Raises IndexFailed and IndexGone, also for errors of the store in the block."""
        with self._explained(), self.existing() or nullcontext() as store:
            yield store

    def writing(self) -> "AbstractContextManager[IndexStore | None]":
        """The store for writing; None while another process is writing. An index of another version is replaced. The
        place must exist. Raises IndexFailed and IndexGone, also for errors of the store in the block."""

    def identity(self) -> int:
        """A number that changes when the index is deleted and created again, as far as that can be detected."""

    def _explained(self) -> AbstractContextManager[None]:
        """Raises IndexFailed or IndexGone instead of the store's own errors."""


@dataclass(frozen=True, slots=True)
class SqlitePlace(IndexPlace):
    """`file`: the index, which is an empty file at first. The process that writes locks the `.lock` file beside it."""

    file: Path

    def existing(self) -> "IndexStore | None":
        from gateway.connectors.codebase.index.sqlite_store import SqliteStore

        with self._explained():
            return SqliteStore.existing(self.file)

    @contextmanager
    def writing(self) -> "Iterator[IndexStore | None]":
        """The operating system releases the lock when the process ends, even by a crash."""
        from gateway.connectors.codebase.index.sqlite_store import SqliteStore

        lock = os.open(self.file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _is_locked(lock):
                yield None
                return
            with self._explained(), SqliteStore(self.file) as store:
                yield store
        finally:
            os.close(lock)

    def identity(self) -> int:
        try:
            return self.file.stat().st_ino
        except FileNotFoundError:
            return 0

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            raise IndexFailed(f"The index {self.file} cannot be written: {error}. Is the disk full?") from error
        except sqlite3.DatabaseError as error:
            self.file.unlink(missing_ok=True)
            raise IndexFailed(f"The index {self.file} was damaged ({error}). It will be rebuilt.") from error


@dataclass(frozen=True, slots=True)
class PostgresPlace(IndexPlace):
    """`conninfo`: the database's connection string for libpq; it may hold a password. `schema`: holds only this
    index."""

    conninfo: str = field(repr=False)
    schema: str

    def create(self) -> None:
        self._execute("CREATE SCHEMA IF NOT EXISTS {}")

    def delete(self) -> None:
        """Waits until a batch that is being written is complete."""
        self._execute("DROP SCHEMA IF EXISTS {} CASCADE")

    def existing(self) -> "IndexStore | None":
        from gateway.connectors.codebase.index.postgres_store import PostgresStore

        with self._explained():
            return PostgresStore.existing(self.conninfo, self.schema)

    @contextmanager
    def writing(self) -> "Iterator[IndexStore | None]":
        """The lock is released at the end of the block. If the connection is lost, the server releases it as soon as it
        notices; after a normal close, too, it would take a moment."""
        import psycopg

        from gateway.connectors.codebase.index.postgres_store import PostgresStore, connected

        lock = _LOCK, self.schema
        with self._explained(), connected(self.conninfo, self.schema) as connection:
            if connection.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", lock).fetchall() != [(True,)]:
                yield None
                return
            try:
                yield PostgresStore.made(connection, self.schema)
            finally:
                with suppress(psycopg.Error):  # the connection is lost, or in a failed transaction
                    connection.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", lock)

    def identity(self) -> int:
        """Always 0: using a deleted index raises IndexGone."""
        return 0

    def _execute(self, statement: LiteralString) -> None:
        from psycopg import sql

        from gateway.connectors.codebase.index.postgres_store import connected

        with self._explained(), connected(self.conninfo, self.schema) as connection:
            connection.execute(sql.SQL(statement).format(sql.Identifier(self.schema)))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        import psycopg

        try:
            yield
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            raise IndexGone from None
        except psycopg.errors.InsufficientPrivilege as error:
            raise IndexFailed(
                f"The role of DATABASE_URL may not create the schema {self.schema}, or may not use it: "
                f"{_first_line(error)}. Allow it with GRANT CREATE ON DATABASE, or set CODEBASE_INDEX=sqlite."
            ) from error
        except psycopg.Error as error:
            message = f"The index in the database's schema {self.schema} cannot be used: {_first_line(error)}."
            raise IndexFailed(message) from error


_LOCK = 7_326_001  # the first key of the indexes' advisory locks


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
