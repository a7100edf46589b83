"""The index of one project in one SQLite file. Full-text search proposes files, and the ranking orders them.

One process writes at a time; others read meanwhile, and see a batch when it is complete.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from gateway.connectors.codebase.index.batches import batched
from gateway.connectors.codebase.index.document import FileTerms, IndexedDocument
from gateway.connectors.codebase.index.grams import GramsQuery
from gateway.connectors.codebase.index.store import PROPOSED, FoundSymbol, IndexedFile, Totals, rarest
from gateway.connectors.codebase.index.symbols import Symbol
from gateway.connectors.codebase.index.terms import length_of, terms_of

VERSION = 6  # of schema and terms; a file of another version is replaced
WAIT = 30  # seconds to wait for another process that writes

_SCHEMA = Path(__file__).with_name("sqlite.sql").read_text(encoding="utf-8")
_VARIABLES = 500  # in one statement


class SqliteStore:
    """To be used by one thread. Close it, or use it as a context manager."""

    def __init__(self, file: Path) -> None:
        self._is_restricted = False
        self._database = self._opened(file)
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            self._database.close()
            for suffix in ("", "-wal", "-shm"):
                file.with_name(file.name + suffix).unlink(missing_ok=True)
            self._database = self._opened(file)
        if version != VERSION:
            self._database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")

    @classmethod
    def existing(cls, file: Path) -> "SqliteStore | None":
        """The store for reading; creates and replaces nothing. None if there is no index of this version."""
        if not file.exists():
            return None
        database = cls._opened(file)
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.close()
        return cls(file) if version == VERSION else None

    @staticmethod
    def _opened(file: Path) -> sqlite3.Connection:
        database = sqlite3.connect(file, timeout=WAIT, isolation_level=None)
        for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "cache_size = -32000", "temp_store = MEMORY"):
            database.execute(f"PRAGMA {pragma}")
        return database

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> "SqliteStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    @contextmanager
    def batch(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._count()
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def digests(self, paths: Sequence[str]) -> dict[str, bytes]:
        found = {path: digest for path, _, digest in self._known(paths)}
        return {path: found.get(path, b"") for path in paths}

    def put(self, documents: Sequence[IndexedDocument]) -> None:
        ids = {path: file_id for path, file_id, _ in self._known([each.path for each in documents])}
        for file_id in ids.values():
            self._forget_terms(file_id)
        (last,) = self._database.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()
        new = count(last + 1)
        numbered = [(ids.get(each.path) or next(new), each) for each in documents]
        self._database.executemany(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET digest = excluded.digest, path_terms = excluded.path_terms,"
            " symbol_terms = excluded.symbol_terms, body_terms = excluded.body_terms",
            [(file_id, os.fsencode(each.path), each.digest, *each.lengths) for file_id, each in numbered],
        )
        self._database.executemany(
            "INSERT INTO terms VALUES (?, ?)", [(file_id, each.packed) for file_id, each in numbered]
        )
        self._database.executemany(
            "INSERT INTO grams VALUES (?, ?)", [(file_id, each.grams) for file_id, each in numbered]
        )
        self._database.executemany(
            "INSERT INTO words (rowid, path, symbols, body) VALUES (?, ?, ?, ?)",
            [(file_id, each.terms.path, each.terms.symbols, each.terms.body) for file_id, each in numbered],
        )
        self._database.executemany(
            "INSERT INTO symbols VALUES (?, ?, ?, ?, ?)",
            [
                (file_id, symbol.name, symbol.kind, symbol.start_line, symbol.end_line)
                for file_id, each in numbered
                for symbol in each.symbols
            ],
        )

    def remove(self, paths: Sequence[str]) -> None:
        for _, file_id, _ in self._known(paths):
            self._forget_terms(file_id)
            self._forget_past(file_id)
            self._database.execute("DELETE FROM files WHERE id = ?", (file_id,))
        self._database.executemany("DELETE FROM stamps WHERE path = ?", [(os.fsencode(path),) for path in paths])

    def _known(self, paths: Sequence[str]) -> list[tuple[str, int, bytes]]:
        """Path, id and digest of each of these files that is indexed."""
        rows: list[tuple[bytes, int, bytes]] = []
        for keys in batched(map(os.fsencode, paths), _VARIABLES):
            statement = f"SELECT path, id, digest FROM files WHERE path IN ({_marks(keys)})"  # noqa: S608 — marks only
            rows += self._database.execute(statement, keys)
        return [(os.fsdecode(path), file_id, digest) for path, file_id, digest in rows]

    def _forget_terms(self, file_id: int) -> None:
        (packed,) = self._database.execute(
            "DELETE FROM terms WHERE file_id = ? RETURNING packed", (file_id,)
        ).fetchone()
        terms = FileTerms.unpacked(packed)
        self._database.execute(
            "INSERT INTO words (words, rowid, path, symbols, body) VALUES ('delete', ?, ?, ?, ?)",
            (file_id, terms.path, terms.symbols, terms.body),
        )
        self._database.execute("DELETE FROM grams WHERE file_id = ?", (file_id,))
        self._database.execute("DELETE FROM symbols WHERE file_id = ?", (file_id,))

    def _forget_past(self, file_id: int) -> None:
        past = self._database.execute("DELETE FROM past WHERE file_id = ? RETURNING terms", (file_id,)).fetchone()
        if past:
            self._database.execute(
                "INSERT INTO past_words (past_words, rowid, terms) VALUES ('delete', ?, ?)", (file_id, past[0])
            )

    def put_stamps(self, stamps: Mapping[str, str]) -> None:
        rows = [(os.fsencode(path), stamp) for path, stamp in stamps.items()]
        self._database.executemany("INSERT OR REPLACE INTO stamps VALUES (?, ?)", rows)

    def put_fact(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def replace_past(self, past: Iterable[tuple[str, Sequence[str], int]]) -> None:
        self._database.execute("DELETE FROM past")
        self._database.execute("INSERT INTO past_words (past_words) VALUES ('delete-all')")
        for some in batched(past, _VARIABLES):
            ids = {path: file_id for path, file_id, _ in self._known([path for path, _, _ in some])}
            for path, subjects, age in some:
                if file_id := ids.get(path):
                    terms = terms_of("\n".join(subjects))
                    row = (file_id, length_of(terms), age, terms)
                    self._database.execute("INSERT INTO past VALUES (?, ?, ?, ?)", row)
                    self._database.execute("INSERT INTO past_words (rowid, terms) VALUES (?, ?)", (file_id, terms))

    def _count(self) -> None:
        files = self._database.execute(
            "SELECT count(*), coalesce(sum(path_terms), 0), coalesce(sum(symbol_terms), 0),"
            " coalesce(sum(body_terms), 0)"
            " FROM files"
        ).fetchone()
        past = self._database.execute("SELECT count(*), coalesce(sum(length), 0) FROM past").fetchone()
        self._database.executemany(
            "INSERT OR REPLACE INTO totals VALUES (?, ?)", zip(Totals.__slots__, (*files, *past), strict=True)
        )

    # Reading

    def totals(self) -> Totals:
        return Totals(**{name: int(value) for name, value in self._database.execute("SELECT name, value FROM totals")})

    def stamps(self, paths: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for keys in batched(map(os.fsencode, paths), _VARIABLES):
            statement = f"SELECT path, stamp FROM stamps WHERE path IN ({_marks(keys)})"  # noqa: S608 — marks only
            found.update((os.fsdecode(path), stamp) for path, stamp in self._database.execute(statement, keys))
        return found

    def stamped(self) -> Iterator[str]:
        return (os.fsdecode(path) for (path,) in self._database.execute("SELECT path FROM stamps"))

    def fact(self, name: str) -> str:
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def paths(self) -> list[str]:
        condition = self._among("id")
        rows = self._database.execute(f"SELECT path FROM files WHERE true{condition}")  # noqa: S608
        # Sorted here: the order of the database differs for names that are not UTF-8.
        return sorted(os.fsdecode(path) for (path,) in rows)

    def choose(self, holds: Callable[[str], bool]) -> None:
        rows = self._database.execute("SELECT id, path FROM files").fetchall()
        chosen = [(file_id,) for file_id, path in rows if holds(os.fsdecode(path))]
        self._database.execute("CREATE TEMP TABLE IF NOT EXISTS chosen (id INTEGER PRIMARY KEY)")
        self._database.execute("DELETE FROM chosen")
        self._database.executemany("INSERT INTO chosen VALUES (?)", chosen)
        self._is_restricted = True

    def _among(self, column: str) -> str:
        """The condition for the restriction that `choose` has set. The plus makes SQLite look words up before it tries
        ids."""
        return f" AND +{column} IN (SELECT id FROM chosen)" if self._is_restricted else ""  # noqa: S608

    def paths_that_may_hold(self, texts: Sequence[str]) -> list[str] | None:
        query = GramsQuery(texts)
        if not query:
            return None
        rows = self._database.execute(
            f"SELECT path, signature FROM grams JOIN files ON id = file_id WHERE true{self._among('id')}"  # noqa: S608
        )
        return sorted(os.fsdecode(path) for path, signature in rows if query.may_be_in(signature))

    def file_counts(self, terms: Sequence[str]) -> dict[str, int]:
        marks = ", ".join("?" * len(terms))
        rows = self._database.execute(
            f"SELECT term, max(doc) FROM (SELECT term, doc FROM word_files WHERE term IN ({marks})"  # noqa: S608 — marks only
            f" UNION ALL SELECT term, doc FROM past_word_files WHERE term IN ({marks})) GROUP BY term",
            (*terms, *terms),
        )
        return dict(rows.fetchall())

    def proposed(self, rarity: Mapping[str, float]) -> list[int]:
        if not rarity:
            return []
        query = " OR ".join(f'"{term}"' for term in rarest(rarity))
        among = self._among("rowid")
        found: dict[int, None] = {}
        for statement in (
            f"SELECT rowid FROM words WHERE words MATCH ?{among} ORDER BY bm25(words, 8, 2, 0.5) LIMIT ?",  # noqa: S608
            f"SELECT rowid FROM past_words WHERE past_words MATCH ?{among} ORDER BY bm25(past_words) LIMIT ?",  # noqa: S608
        ):
            found.update(dict.fromkeys(row[0] for row in self._database.execute(statement, (query, PROPOSED))))
        return list(found)

    def files(self, ids: Sequence[int]) -> Iterator[IndexedFile]:
        for some in batched(ids, _VARIABLES):
            rows = self._database.execute(
                "SELECT path, packed, past.terms, age FROM files JOIN terms ON terms.file_id = id"  # noqa: S608 — marks only
                f" LEFT JOIN past ON past.file_id = id WHERE id IN ({_marks(some)})",
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
        rows = self._database.execute(
            "SELECT path, name, kind, start_line, end_line FROM symbols JOIN files ON files.id = file_id"
            " WHERE name = ? COLLATE NOCASE ORDER BY name <> ?, path, start_line LIMIT ?",
            (name, name, most),
        )
        return [FoundSymbol(os.fsdecode(path), Symbol(*symbol)) for path, *symbol in rows]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
