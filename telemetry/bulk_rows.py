"""Inserts many rows at once. The ORM takes ten to twenty times as long for rows with many columns."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.db import connection

# Rows of one statement on SQLite. During each statement, the thread that serves requests may take over Python, and this
# thread then waits for its turn: with a statement for each row, that took a quarter of the whole cost of a row.
AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class BulkRows:
    """The columns of a table that rows are inserted into. Their values should be short, because a SQLite connection
    keeps the last values of each statement."""

    table: str
    columns: tuple[str, ...]

    def insert(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Inserts rows of values in the order of the columns: by COPY on Postgres, by few statements elsewhere. Call it
        in a transaction: if a row cannot be inserted, those before it may be."""
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                names = ", ".join(self.columns)
                with connection.wrap_database_errors, cursor.copy(f"COPY {self.table} ({names}) FROM STDIN") as copy:
                    for row in rows:
                        copy.write_row(row)
                return
            each = list(rows)
            grouped = len(each) - len(each) % AT_ONCE
            together = self._insert(AT_ONCE)
            for start in range(0, grouped, AT_ONCE):
                cursor.execute(together, list(chain.from_iterable(each[start : start + AT_ONCE])))
            cursor.executemany(self._insert(1), each[grouped:])

    def _insert(self, rows: int) -> str:
        """SQLite's statement for so many rows. OR FAIL: it need not be able to undo the rows before one that fails, for
        which it would copy each changed page to a file."""
        names, places = ", ".join(self.columns), ", ".join(["%s"] * len(self.columns))
        return f"INSERT OR FAIL INTO {self.table} ({names}) VALUES {', '.join([f'({places})'] * rows)}"  # noqa: S608
