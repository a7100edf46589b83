"""The index of one project in one SQLite file. Full text search proposes files; the ranking decides.

One process writes at a time; others read meanwhile, and see a batch when it is complete.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gateway.connectors.codebase.index.document import FileTerms, IndexedDocument
from gateway.connectors.codebase.index.symbols import Symbol
from gateway.connectors.codebase.index.terms import terms_of

VERSION = 1  # of schema and terms: a file of another version is made anew
PROPOSED = 300  # files from each full text index: they hold 98 % of what is searched for
WAIT = 30  # seconds for another process that writes
RAREST = 24  # terms of a question that propose files: a long question's common words would match every file

_SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")
_VARIABLES = 500  # in one statement


@dataclass(frozen=True, slots=True)
class Totals:
    """Over all files. `past_files`: how many have a past. The others: terms of all files together."""

    files: int = 0
    path_terms: int = 0
    symbol_terms: int = 0
    body_terms: int = 0
    past_files: int = 0
    past_terms: int = 0


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """`past`: terms of the subjects of the commits that touched the file. `age`: how many commits are newer than its
    last one; None without a past."""

    path: str
    terms: FileTerms
    past: str
    age: int | None


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    path: str
    symbol: Symbol


class IndexStore:
    """Used by one thread. Close it, or use it as a context."""

    def __init__(self, file: Path) -> None:
        self._database = self._opened(file)
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            self._database.close()
            for suffix in ("", "-wal", "-shm"):
                file.with_name(file.name + suffix).unlink(missing_ok=True)
            self._database = self._opened(file)
        if version != VERSION:
            self._database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")

    @staticmethod
    def _opened(file: Path) -> sqlite3.Connection:
        database = sqlite3.connect(file, timeout=WAIT, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -32000", "temp_store = MEMORY"):
            database.execute(f"PRAGMA {pragma}")
        return database

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> "IndexStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    @contextmanager
    def batch(self) -> Iterator[None]:
        """What the block writes is seen by readers as a whole, or not at all."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._count()
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def next_update(self) -> int:
        (last,) = self._database.execute("SELECT coalesce(max(seen), 0) FROM files").fetchone()
        return int(last) + 1

    def is_current(self, path: str, digest: bytes) -> bool:
        row = self._database.execute("SELECT digest FROM files WHERE path = ?", (os.fsencode(path),)).fetchone()
        return row is not None and row[0] == digest

    def mark_seen(self, path: str, update: int) -> None:
        self._database.execute("UPDATE files SET seen = ? WHERE path = ?", (update, os.fsencode(path)))

    def put(self, document: IndexedDocument, update: int) -> None:
        """Adds the file, or replaces it."""
        key = os.fsencode(document.path)
        row = self._database.execute("SELECT id FROM files WHERE path = ?", (key,)).fetchone()
        if row:
            self._forget_terms(row[0])
        terms = document.terms
        lengths = [_length(text) for text in (terms.path, terms.symbols, terms.body)]
        (file_id,) = self._database.execute(
            "INSERT INTO files (path, size, digest, seen, path_terms, symbol_terms, body_terms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (path) DO UPDATE SET size = excluded.size, digest = excluded.digest, seen = excluded.seen,"
            " path_terms = excluded.path_terms, symbol_terms = excluded.symbol_terms, body_terms = excluded.body_terms"
            " RETURNING id",
            (key, document.size, document.digest, update, *lengths),
        ).fetchone()
        self._database.execute("INSERT INTO terms VALUES (?, ?)", (file_id, terms.packed()))
        self._database.execute(
            "INSERT INTO words (rowid, path, symbols, body) VALUES (?, ?, ?, ?)",
            (file_id, terms.path, terms.symbols, terms.body),
        )
        self._database.executemany(
            "INSERT INTO symbols VALUES (?, ?, ?, ?, ?)",
            [(file_id, symbol.name, symbol.kind, symbol.start_line, symbol.end_line) for symbol in document.symbols],
        )

    def remove(self, path: str) -> bool:
        """Whether the file was there."""
        key = os.fsencode(path)
        row = self._database.execute("SELECT id FROM files WHERE path = ?", (key,)).fetchone()
        if row:
            self._remove(row[0])
        return row is not None

    def remove_unseen(self, update: int) -> int:
        """Removes the files that the update did not meet. How many."""
        rows = self._database.execute("SELECT id FROM files WHERE seen <> ?", (update,)).fetchall()
        for (file_id,) in rows:
            self._remove(file_id)
        return len(rows)

    def _remove(self, file_id: int) -> None:
        self._forget_terms(file_id)
        past = self._database.execute("DELETE FROM past WHERE file_id = ? RETURNING terms", (file_id,)).fetchone()
        if past:
            self._database.execute(
                "INSERT INTO past_words (past_words, rowid, terms) VALUES ('delete', ?, ?)", (file_id, past[0])
            )
        self._database.execute("DELETE FROM files WHERE id = ?", (file_id,))

    def _forget_terms(self, file_id: int) -> None:
        (packed,) = self._database.execute(
            "DELETE FROM terms WHERE file_id = ? RETURNING packed", (file_id,)
        ).fetchone()
        terms = FileTerms.unpacked(packed)
        self._database.execute(
            "INSERT INTO words (words, rowid, path, symbols, body) VALUES ('delete', ?, ?, ?, ?)",
            (file_id, terms.path, terms.symbols, terms.body),
        )
        self._database.execute("DELETE FROM symbols WHERE file_id = ?", (file_id,))

    def replace_past(self, past: Iterable[tuple[str, Sequence[str], int]]) -> None:
        """`past`: path, subjects of the commits that touched it, and its age in commits. Of files that are indexed."""
        self._database.execute("DELETE FROM past")
        self._database.execute("INSERT INTO past_words (past_words) VALUES ('delete-all')")
        for path, subjects, age in past:
            row = self._database.execute("SELECT id FROM files WHERE path = ?", (os.fsencode(path),)).fetchone()
            if row:
                terms = terms_of("\n".join(subjects))
                self._database.execute("INSERT INTO past VALUES (?, ?, ?)", (row[0], terms, age))
                self._database.execute("INSERT INTO past_words (rowid, terms) VALUES (?, ?)", (row[0], terms))

    def _count(self) -> None:
        files = self._database.execute(
            "SELECT count(*), coalesce(sum(path_terms), 0), coalesce(sum(symbol_terms), 0),"
            " coalesce(sum(body_terms), 0)"
            " FROM files"
        ).fetchone()
        past = self._database.execute(
            "SELECT count(*), coalesce(sum(length(terms) - length(replace(terms, ' ', '')) + 1), 0) FROM past"
        ).fetchone()
        self._database.executemany(
            "INSERT OR REPLACE INTO totals VALUES (?, ?)", zip(Totals.__slots__, (*files, *past), strict=True)
        )

    # Reading

    def totals(self) -> Totals:
        return Totals(**{name: int(value) for name, value in self._database.execute("SELECT name, value FROM totals")})

    def paths(self) -> list[str]:
        return [os.fsdecode(path) for (path,) in self._database.execute("SELECT path FROM files ORDER BY path")]

    def file_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Term → how many files have it in themselves or in their past, whichever are more. Terms of no file are left
        out."""
        marks = ", ".join("?" * len(terms))
        rows = self._database.execute(
            f"SELECT term, max(doc) FROM (SELECT term, doc FROM word_files WHERE term IN ({marks})"  # noqa: S608 — marks only
            f" UNION ALL SELECT term, doc FROM past_word_files WHERE term IN ({marks})) GROUP BY term",
            (*terms, *terms),
        )
        return dict(rows.fetchall())

    def proposed(self, terms: Sequence[str]) -> list[int]:
        """Ids of files that may answer. `terms`: rarest first."""
        if not terms:
            return []
        query = " OR ".join(f'"{term}"' for term in terms[:RAREST])
        found: dict[int, None] = {}
        for statement in (
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words, 8, 2, 0.5) LIMIT ?",
            "SELECT rowid FROM past_words WHERE past_words MATCH ? ORDER BY bm25(past_words) LIMIT ?",
        ):
            found.update(dict.fromkeys(row[0] for row in self._database.execute(statement, (query, PROPOSED))))
        return list(found)

    def files(self, ids: Sequence[int]) -> Iterator[IndexedFile]:
        for start in range(0, len(ids), _VARIABLES):
            some = ids[start : start + _VARIABLES]
            rows = self._database.execute(
                "SELECT path, packed, past.terms, age FROM files JOIN terms ON terms.file_id = id"  # noqa: S608 — marks only
                f" LEFT JOIN past ON past.file_id = id WHERE id IN ({', '.join('?' * len(some))})",
                some,
            )
            for path, packed, past, age in rows:
                yield IndexedFile(os.fsdecode(path), FileTerms.unpacked(packed), past or "", age)

    def symbols_of(self, path: str) -> list[Symbol]:
        rows = self._database.execute(
            "SELECT name, kind, start_line, end_line FROM symbols WHERE file_id = (SELECT id FROM files WHERE path = ?)"
            " ORDER BY start_line, end_line DESC",
            (os.fsencode(path),),
        )
        return [Symbol(*row) for row in rows]

    def find_symbols(self, name: str, *, most: int) -> list[FoundSymbol]:
        """Definitions of the name. Those with the same case come first, then by path and line."""
        rows = self._database.execute(
            "SELECT path, name, kind, start_line, end_line FROM symbols JOIN files ON files.id = file_id"
            " WHERE name = ? COLLATE NOCASE ORDER BY name <> ?, path, start_line LIMIT ?",
            (name, name, most),
        )
        return [FoundSymbol(os.fsdecode(path), Symbol(*symbol)) for path, *symbol in rows]


def _length(terms: str) -> int:
    return len(terms.split())
