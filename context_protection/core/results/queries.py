"""Read-only SQL over the rows of stored results.

The first SQL query on a set of results loads their rows as tables into a process of their own (sandbox.py). It stays
alive for further queries; it ends when it is idle, when there are too many processes, or when a statement exceeds its
limits. The gateway's own process never loads the engine.
"""

import signal
import subprocess
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from context_protection.core.budget import dumps
from context_protection.core.errors import InvalidArgument
from context_protection.core.results import amounts, statement_errors
from context_protection.core.results.tabulation import MAX_COLUMNS, Column, Kind, Tabulated, tabulate

SANDBOX = Path(__file__).with_name("sandbox.py")
HEADER_BYTES = 4
BATCH_ROWS = 1024
MAX_SQL_CHARS = 20_000
BUSY_SECONDS = 10.0
_KINDS: Mapping[str, Kind] = {"DATE": "date", "TIMESTAMP": "moment"}  # kinds of a result's columns; others are inferred


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of one statement: run time in seconds, the engine's memory in MiB (including the table), columns, and
    the rows, cells and bytes of JSON that it returns."""

    seconds: float = 2.0
    memory_mb: int = 256
    columns: int = MAX_COLUMNS
    rows: int = 10_000
    cells: int = 500_000
    bytes: int = 8 * 2**20


@dataclass(frozen=True, slots=True)
class QueryTable:
    """The rows of one result, and its canonical columns."""

    rows: Sequence[Any]
    columns: Sequence[Column] = ()


@dataclass(frozen=True, slots=True)
class Selected:
    """The rows of a SELECT, by column name; repeated names get a number. `more`: whether there are further rows.
    `notes`: remarks on its amounts."""

    columns: tuple[Column, ...]
    rows: list[dict[str, Any]]
    more: bool
    notes: tuple[str, ...] = ()


class Ended(Exception):
    """The database's process is gone; the rows must be tabulated again."""


class RowsDatabase:
    """Tables in a separate process, under their names in SQL. Statements run one at a time."""

    def __init__(self, tables: Mapping[str, QueryTable], limits: QueryLimits = QueryLimits()) -> None:
        """Raises InvalidArgument if SQL is not installed or the rows exceed the limits."""
        if find_spec("duckdb") is None:
            raise statement_errors.unavailable()
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
        built = {name: _tabulated(table) for name, table in tables.items()}
        self.columns = {name: {each.name: each.type for each in table} for name, table in built.items()}
        self.amounts = [
            each for name, table in tables.items() for each in amounts.of_table(name, table.columns, built[name])
        ]
        self.size = self._build(built, limits)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def _build(self, tables: Mapping[str, Sequence[Tabulated]], limits: QueryLimits) -> int:
        """Sends the tables to the process; returns their size in bytes of JSON."""
        starts = {name: range(0, len(table[0].values), BATCH_ROWS) for name, table in tables.items()}
        plan = {
            "tables": [
                {
                    "name": name,
                    "columns": [[each.name, each.type] for each in table],
                    "batches": len(starts[name]),
                }
                for name, table in tables.items()
            ],
            "explains": bool(self.amounts),
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
            for data in _frames(tables, starts):
                size += len(data)
                self._send(data)
            self._receive()
        except Ended:
            raise statement_errors.too_large_a_table() from None
        return size

    def select(self, sql: str) -> Selected:
        """Runs one SELECT. Raises InvalidArgument for any other statement, or one beyond the limits; Ended if the
        process was closed before the call."""
        if not sql.strip() or len(sql) > MAX_SQL_CHARS:
            message = "sql is empty." if not sql.strip() else "sql is too long."
            suggestion = statement_errors.any_select(next(iter(self.columns)))
            raise statement_errors.wrong(message, "invalid_sql", sql, statement_errors.ONE_SELECT, suggestion)
        with self._lock:
            if not self.alive:
                raise Ended
            try:
                self._send(sql.encode("utf-8", "replace"))
                answer = orjson.loads(self._receive())
            except Ended:
                raise self._error_of_end(sql) from None
        if "error" in answer:
            raise statement_errors.rejected(sql, self.columns, **answer)
        names = _distinct(answer["columns"])
        rows = [dict(zip(names, row, strict=True)) for row in answer["rows"]]
        explained = amounts.explained(answer["tree"], self.amounts, names)
        columns = tuple(
            Column(name, name, _KINDS.get(kind), unit=unit, units=units)
            for name, kind, (unit, units) in zip(names, answer["types"], explained.units, strict=True)
        )
        return Selected(columns, rows, answer["more"], explained.notes)

    def _error_of_end(self, sql: str) -> InvalidArgument:
        """The error for a statement that ended the process: the exit status shows whether time or memory ran out."""
        by_alarm = self._process.wait() == -signal.SIGALRM
        return statement_errors.rejected(sql, self.columns, "time" if by_alarm else "memory")

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


def _tabulated(table: QueryTable) -> list[Tabulated]:
    rows = [row if isinstance(row, dict) else {"value": row} for row in table.rows]
    return tabulate(rows, table.columns) or [Tabulated("empty", "VARCHAR", [None] * len(rows))]


def _frames(tables: Mapping[str, Sequence[Tabulated]], starts: Mapping[str, range]) -> Iterator[bytes]:
    for name, table in tables.items():
        for start in starts[name]:
            for each in table:
                yield each.json(start, start + BATCH_ROWS)


def _end(process: subprocess.Popen[bytes], lock: threading.Lock) -> None:
    """Ends the process after the current statement."""
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
    """`used`: when its last statement began or ended. `running`: how many of its statements are running."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    database: RowsDatabase | None = None
    used: float = 0.0
    running: int = 0


class Databases:
    """The databases of the most recently queried results: at most `most`, with at most `most_bytes` of JSON in total.
    Those that have been idle for `idle_seconds` are closed, since each takes 25 MB. At most `most` statements run at a
    time."""

    def __init__(self, most: int = 4, most_bytes: int = 256 * 2**20, idle_seconds: float = 300.0) -> None:
        self.most, self.most_bytes, self.idle_seconds = most, most_bytes, idle_seconds
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(most)
        self._closing: threading.Timer | None = None

    def select(self, key: str, build: Callable[[], RowsDatabase], sql: str) -> Selected:
        """Runs `sql` on the database of `key`; `build` creates it if there is none. Raises InvalidArgument."""
        if not self._places.acquire(timeout=BUSY_SECONDS):
            raise statement_errors.busy()
        try:
            while True:
                entry = self._entry(key)
                try:
                    with suppress(Ended):  # another call closed this database to make room: open it again
                        return self._opened(entry, build).select(sql)
                finally:
                    self._leave(entry)
        finally:
            self._places.release()

    def _entry(self, key: str) -> _Entry:
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            entry.used = time.monotonic()
            entry.running += 1
            dropped = self._evicted(entry)
        for each in dropped:
            each.close()
        return entry

    def _leave(self, entry: _Entry) -> None:
        with self._lock:
            entry.running -= 1
            entry.used = time.monotonic()
            self._close_idle_later()

    def _close_idle_later(self) -> None:
        """Sets the timer, unless it runs or nothing is idle. The caller holds the lock."""
        idle_since = [entry.used for entry in self._entries.values() if not entry.running]
        if self._closing is None and idle_since:
            seconds = max(0.0, min(idle_since) + self.idle_seconds - time.monotonic())
            self._closing = threading.Timer(seconds, self._close_idle)
            self._closing.daemon = True
            self._closing.start()

    def _close_idle(self) -> None:
        with self._lock:
            dropped = self._evicted()
            self._closing = None
            self._close_idle_later()
        for each in dropped:
            each.close()

    def _opened(self, entry: _Entry, build: Callable[[], RowsDatabase]) -> RowsDatabase:
        with entry.lock:
            if entry.database is None or not entry.database.alive:
                if entry.database is not None:
                    entry.database.close()
                entry.database = build()
            return entry.database

    def _evicted(self, current: _Entry | None = None) -> list[RowsDatabase]:
        """Removes and returns, oldest first, the databases that are idle, too many, or too large together."""
        dropped: list[RowsDatabase] = []
        for key, entry in list(self._entries.items()):
            size = sum(each.database.size for each in self._entries.values() if each.database)
            idle = not entry.running and time.monotonic() - entry.used >= self.idle_seconds
            if entry is not current and (idle or len(self._entries) > self.most or size > self.most_bytes):
                del self._entries[key]
                if entry.database is not None:
                    dropped.append(entry.database)
        return dropped

    def close(self) -> None:
        with self._lock:
            entries = list(self._entries.values())
            self._entries.clear()
            if self._closing is not None:
                self._closing.cancel()
                self._closing = None
        for entry in entries:
            if entry.database is not None:
                entry.database.close()
