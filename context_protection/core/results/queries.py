"""Read-only SQL over the rows of a stored result.

The first SQL query of a result loads its rows as a table into a separate process (sandbox.py). The process stays alive
for further queries; it ends when it is idle, when there are too many, or when a statement breaks its limits. The
gateway's own process never loads the engine.
"""

import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from context_protection.core import field_selection
from context_protection.core.budget import dumps
from context_protection.core.errors import InvalidArgument, nearest, shown
from context_protection.core.results.tabulation import MOST_COLUMNS, Column, Tabulated, tabulate

SANDBOX = Path(__file__).with_name("sandbox.py")
HEADER_BYTES = 4
BATCH_ROWS = 1024
MOST_SQL_CHARS = 20_000
BUSY_SECONDS = 10.0
_UNKNOWN_COLUMN = re.compile(r'(?:Referenced column|does not have a column named|Column) "([^"]{1,200})"')


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one statement: seconds of work, MiB of the engine's memory (table included), columns, and the rows,
    cells and bytes of JSON that it returns."""

    seconds: float = 2.0
    memory_mb: int = 256
    columns: int = MOST_COLUMNS
    rows: int = 10_000
    cells: int = 500_000
    bytes: int = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Selected:
    """The rows of a SELECT, by column name; repeated names get a number. `more`: the statement has further rows."""

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    more: bool


class Ended(Exception):
    """The database's process is gone; the rows must be tabulated again."""


class RowsDatabase:
    """The table `rows` in a separate process. Statements run one after the other."""

    def __init__(self, rows: Sequence[Any], columns: Sequence[Column] = (), limits: Limits = Limits()) -> None:
        """Raises InvalidArgument if SQL is not installed, or the rows do not fit into its limits."""
        if find_spec("duckdb") is None:
            raise unavailable()
        self._lock = threading.Lock()
        self._process = subprocess.Popen(  # noqa: S603 (our own program; without our environment)
            [sys.executable, "-I", str(SANDBOX)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
        )
        self.close = weakref.finalize(self, _end, self._process, self._lock)
        table = tabulate([row if isinstance(row, dict) else {"value": row} for row in rows], columns)
        table = table or [Tabulated("empty", "VARCHAR", [None] * len(rows))]
        self.columns = {each.name: each.type for each in table}
        self.size = self._build(table, len(rows), limits)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def _build(self, table: Sequence[Tabulated], count: int, limits: Limits) -> int:
        """Sends the table to the process; returns its size in bytes of JSON."""
        starts = range(0, count, BATCH_ROWS)
        plan = {
            "columns": [[each.name, each.type] for each in table],
            "batches": len(starts),
            "seconds": limits.seconds,
            "memory_mb": limits.memory_mb,
            "most_rows": limits.rows,
            "most_bytes": limits.bytes,
            "most_columns": limits.columns,
            "most_cells": limits.cells,
        }
        size = 0
        try:
            self._send(dumps(plan))
            for start in starts:
                for each in table:
                    data = each.json(start, start + BATCH_ROWS)
                    size += len(data)
                    self._send(data)
            self._receive()
        except Ended:
            raise _too_large_a_table() from None
        return size

    def select(self, sql: str) -> Selected:
        """Runs one SELECT. Raises InvalidArgument for any other statement, or one beyond the limits; Ended if the
        process was closed before the call."""
        if not sql.strip() or len(sql) > MOST_SQL_CHARS:
            raise _wrong("sql is empty." if not sql.strip() else "sql is too long.", "invalid_sql", sql, ONE_SELECT)
        with self._lock:
            if not self.alive:
                raise Ended
            try:
                self._send(sql.encode("utf-8", "replace"))
                answer = orjson.loads(self._receive())
            except Ended:
                raise self._error_of_end(sql) from None
        if "error" in answer:
            raise _rejected(sql, self.columns, **answer)
        names = _distinct(answer["columns"])
        return Selected(names, [dict(zip(names, row, strict=True)) for row in answer["rows"]], answer["more"])

    def _error_of_end(self, sql: str) -> InvalidArgument:
        """The error for a statement that ended the process: the exit status tells whether time or memory ran out."""
        by_alarm = self._process.wait() == -signal.SIGALRM
        return _rejected(sql, self.columns, "time" if by_alarm else "memory")

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(len(data).to_bytes(HEADER_BYTES, "big") + data)
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise Ended from None

    def _receive(self) -> bytes:
        assert self._process.stdout is not None
        head = self._process.stdout.read(HEADER_BYTES)
        size = int.from_bytes(head, "big")
        data = self._process.stdout.read(size)
        if len(head) < HEADER_BYTES or len(data) < size:
            raise Ended
        return data


def _end(process: subprocess.Popen[bytes], lock: threading.Lock) -> None:
    """Ends the process after the statement that is running."""
    assert process.stdin is not None
    assert process.stdout is not None
    with lock:
        process.kill()
        process.wait()
        process.stdout.close()
        with suppress(OSError):  # closing flushes unsent data, which fails as the process is gone
            process.stdin.close()


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    numbers: dict[str, Iterator[int]] = {}
    for name in names:
        candidate = name
        while candidate in found:
            candidate = f"{name}_{next(numbers.setdefault(name, count(2)))}"
        found[candidate] = None
    return tuple(found)


# -- Databases that stay open -----------------------------------------------------------------------


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    database: RowsDatabase | None = None
    used: float = 0.0


class Databases:
    """The databases of the results that were queried last: at most `most`, of at most `most_bytes` of JSON together. A
    query of any result closes those that have been idle for `idle_seconds`. At most `most` statements run at a time."""

    def __init__(self, most: int = 4, most_bytes: int = 256 * 2**20, idle_seconds: float = 300.0) -> None:
        self.most, self.most_bytes, self.idle_seconds = most, most_bytes, idle_seconds
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(most)

    def select(self, key: str, build: Callable[[], RowsDatabase], sql: str) -> Selected:
        """Runs `sql` on the database of `key`; `build` creates it if there is none. Raises InvalidArgument."""
        if not self._places.acquire(timeout=BUSY_SECONDS):
            raise _busy()
        try:
            while True:
                entry = self._entry(key)
                with suppress(Ended):  # another call closed this database to make room: open it again
                    return self._opened(entry, build).select(sql)
        finally:
            self._places.release()

    def _entry(self, key: str) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            entry.used = time.monotonic()
            dropped = self._evicted(entry)
        for each in dropped:
            each.close()
        return entry

    def _opened(self, entry: _Entry, build: Callable[[], RowsDatabase]) -> RowsDatabase:
        with entry.lock:
            if entry.database is None or not entry.database.alive:
                if entry.database is not None:
                    entry.database.close()
                entry.database = build()
            return entry.database

    def _evicted(self, current: _Entry) -> list[RowsDatabase]:
        """Removes and returns, oldest first, the databases that are idle, too many, or too large together."""
        dropped: list[RowsDatabase] = []
        for key, entry in list(self._entries.items()):
            size = sum(each.database.size for each in self._entries.values() if each.database)
            idle = time.monotonic() - entry.used > self.idle_seconds
            if entry is not current and (idle or len(self._entries) > self.most or size > self.most_bytes):
                del self._entries[key]
                if entry.database is not None:
                    dropped.append(entry.database)
        return dropped

    def close(self) -> None:
        with self._lock:
            entries = list(self._entries.values())
            self._entries.clear()
        for entry in entries:
            if entry.database is not None:
                entry.database.close()


# -- Errors -----------------------------------------------------------------------------------------

ONE_SELECT = "one SELECT (WITH is fine) over the table rows"


def unavailable() -> InvalidArgument:
    return InvalidArgument(
        "SQL is not available on this server.",
        reason="sql_unavailable",
        parameter="sql",
        expected="a server with SQL installed",
        suggestion="Use where and aggregate instead.",
    )


def _rejected(
    sql: str, columns: Collection[str], error: str, name: str = "", said: str = "", position: int = 0
) -> InvalidArgument:
    """The caller's error for an error that the sandbox reported."""
    match error:
        case "wrong" if (column := _UNKNOWN_COLUMN.search(said)) and column[1].lower() not in map(str.lower, columns):
            return _unknown_column(sql, column[1], columns)
        case "syntax":
            return _syntax(sql, said, position)
        case "wrong":
            message = f"The statement does not fit the rows: {said.partition(': ')[2] or said}"
            return _wrong(message, "invalid_sql", sql, "columns and values of matching types", TRY_TYPES)
        case "table":
            message = f"sql reads from {shown(name)!r}."
            return _wrong(message, "forbidden_sql", sql, "the table rows, and names that WITH gives", "Read FROM rows.")
        case "function":
            message = f"sql calls {shown(name)!r}, which is not offered here."
            expected = "the functions of SQL that compute with values: texts, numbers, dates, lists, JSON, aggregates"
            suggestion = f"Did you mean {said}?" if said else "Leave it out; use functions that compute."
            return _wrong(message, "forbidden_sql", sql, expected, suggestion)
        case "name":
            message = f"WITH names {shown(name)!r}, which is taken."
            return _wrong(message, "forbidden_sql", sql, "another name", "Choose another name in WITH.")
        case "parameter":
            message = "sql has a placeholder, for which there is no value."
            return _wrong(message, "forbidden_sql", sql, "values written in the statement", "Write the value itself.")
        case "time":
            suggestion = "Add WHERE, or aggregate first; join less; recursion needs a condition that ends it."
            return _wrong(
                "The statement took too long.", "sql_timeout", sql, "a statement that ends in time", suggestion
            )
        case "memory":
            suggestion = "Add WHERE, select fewer columns, or aggregate; join on equal keys."
            return _wrong("The statement needs too much memory.", "sql_memory", sql, "a smaller statement", suggestion)
        case "large":
            suggestion = "Select fewer columns, or a part of the value with substr or json_extract."
            return _wrong("One row of the answer is too large.", "sql_too_large", sql, "smaller rows", suggestion)
        case "wide":
            expected = f"at most {position:,} columns, those of equal names counted each"
            suggestion = "Name the columns that you need, or ask in several statements."
            return _wrong(f"The statement has {said} columns.", "sql_too_wide", sql, expected, suggestion)
        case "time_zone":
            suggestion = "Cast it: CAST(… AS TIMESTAMP), or AS DATE."
            return _wrong("A column has a time zone.", "invalid_sql", sql, "timestamps without time zone", suggestion)
        case "nested":
            return _wrong(
                "The statement is nested too deeply.", "invalid_sql", sql, ONE_SELECT, "Write it in WITH parts."
            )
        case "forbidden":
            return _wrong(
                "sql is not one SELECT.", "forbidden_sql", sql, ONE_SELECT, "Send a single SELECT … FROM rows."
            )
        case _:
            return _wrong("The statement cannot be answered.", "invalid_sql", sql, ONE_SELECT, "Write it more simply.")


TRY_TYPES = (
    "Cast with TRY_CAST(… AS …); DESCRIBE rows gives each column's type. A JSON column is read with column->>'$.name', "
    "its elements with unnest(column::JSON[])."
)


def _wrong(message: str, reason: str, sql: str, expected: str, suggestion: str = "") -> InvalidArgument:
    return InvalidArgument(
        message,
        reason=reason,
        parameter="sql",
        value=sql,
        expected=expected,
        suggestion=suggestion or "Send a single SELECT … FROM rows.",
    )


def _unknown_column(sql: str, name: str, columns: Collection[str]) -> InvalidArgument:
    close = nearest(name, columns)
    listed = ", ".join(str(shown(each)) for each in list(columns)[: field_selection.LISTED_NAMES])
    cut = len(columns) > field_selection.LISTED_NAMES or len(listed) > field_selection.LISTED_CHARS
    return _wrong(
        f"sql names the column {shown(name)!r}, which rows does not have.",
        "unknown_column",
        sql,
        f"any of: {listed[: field_selection.LISTED_CHARS]}{' …' if cut else ''}",
        f"Did you mean {shown(close)}?"
        if close
        else 'Choose from those listed; quote names with other than a-z as "…".',
    )


def _syntax(sql: str, said: str, position: int) -> InvalidArgument:
    """The error for a statement that does not parse. `position`: the offset of the mistake, in bytes."""
    before = sql.encode("utf-8", "replace")[:position].decode(errors="ignore")
    return _wrong(
        f"sql cannot be read: {said or 'there is an error'} (character {len(before) + 1}).",
        "invalid_sql",
        sql,
        f"{ONE_SELECT}, in DuckDB's dialect",
        "Correct it there; texts stand in 'single' quotes, names in \"double\" ones.",
    )


def _busy() -> InvalidArgument:
    return InvalidArgument(
        "Too many SQL statements run at this moment.",
        reason="sql_busy",
        parameter="sql",
        expected="a moment with fewer of them",
        suggestion="Call again in a few seconds.",
        retry_after=5,
    )


def _too_large_a_table() -> InvalidArgument:
    return InvalidArgument(
        "This result is too large for SQL.",
        reason="sql_too_large",
        parameter="sql",
        expected="a result with fewer or smaller rows",
        suggestion="Use where and aggregate, or make the result smaller with filters or fields first.",
    )
