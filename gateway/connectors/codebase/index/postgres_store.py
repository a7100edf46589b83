"""The index of one project in a schema of Postgres. Postings propose files, and the ranking orders them."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from psycopg import sql

from gateway.connectors.codebase.index.batches import batched
from gateway.connectors.codebase.index.document import FileTerms, IndexedDocument
from gateway.connectors.codebase.index.grams import PRIMES, GramsQuery
from gateway.connectors.codebase.index.postings import (
    LEVELS,
    lower,
    past_postings_of,
    postings_of,
    searched,
    symbol_posting,
)
from gateway.connectors.codebase.index.store import PROPOSED, FoundSymbol, IndexedFile, Totals, rarest
from gateway.connectors.codebase.index.symbols import Symbol
from gateway.connectors.codebase.index.terms import length_of, terms_of

VERSION = "2"  # of tables, terms and postings: an index of another version is replaced
CONNECT_SECONDS = 5
_PAST_ROWS = 1_000  # rows of the history that are written together

_VERSION = "version"
_TABLES = Path(__file__).with_name("postgres.sql").read_bytes()
# Questions are asked from the first batch on, when the server does not know the size of the tables yet. These settings
# make it plan as for a full index.
_SETTINGS = "SET jit = off; SET enable_seqscan = off"
_MERGE = (
    "SELECT gin_clean_pending_list('terms_by_posting'::regclass), gin_clean_pending_list('past_by_posting'::regclass)"
)


class PostgresStore:
    """Use `existing` or `made`."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._database = connection
        self._chosen: list[int] | None = None

    @classmethod
    def existing(cls, conninfo: str, schema: str) -> "PostgresStore | None":
        """The store for reading. None if there is no index of this version."""
        connection = connected(conninfo, schema)
        if _version(connection) == VERSION:
            return cls(connection)
        connection.close()
        return None

    @classmethod
    def made(cls, connection: psycopg.Connection[Any], schema: str) -> "PostgresStore":
        """The store for writing. `schema` must exist. Tables of another version are replaced."""
        if _version(connection) != VERSION:
            with connection.transaction():
                connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))
                connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
                connection.execute(_TABLES)
                connection.execute("INSERT INTO facts VALUES (%s, %s)", (_VERSION, VERSION))
        return cls(connection)

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> "PostgresStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Writing

    @contextmanager
    def batch(self) -> Iterator[None]:
        with self._database.transaction():
            yield
            self._count()
            # Each term of each question would read an index's pending list to its end until the list is merged.
            self._database.execute(_MERGE)

    def digests(self, paths: Sequence[str]) -> dict[str, bytes]:
        found = {path: digest for path, _, digest in self._known(paths)}
        return {path: found.get(path, b"") for path in paths}

    def put(self, documents: Sequence[IndexedDocument]) -> None:
        ids = {path: file_id for path, file_id, _ in self._known([each.path for each in documents])}
        self._delete(list(ids.values()), "files", "terms", "grams")
        ((last,),) = self._rows("SELECT coalesce(max(id), 0) FROM files")
        new = count(last + 1)
        numbered = [(ids.get(each.path) or next(new), each) for each in documents]
        self._copy(
            "COPY files FROM STDIN (FORMAT binary)",
            "int4 bytea bytea int4 int4 int4",
            ((file_id, os.fsencode(each.path), each.digest, *each.lengths) for file_id, each in numbered),
        )
        self._copy(
            "COPY terms FROM STDIN (FORMAT binary)",
            "int4 bytea bytea text",
            ((file_id, postings_of(each), each.packed, _symbols_text(each)) for file_id, each in numbered),
        )
        self._copy(
            "COPY grams FROM STDIN (FORMAT binary)", "int4 bytea", ((file_id, each.grams) for file_id, each in numbered)
        )

    def remove(self, paths: Sequence[str]) -> None:
        self._delete([file_id for _, file_id, _ in self._known(paths)], "files", "terms", "grams", "past")
        self._database.execute("DELETE FROM stamps WHERE path = ANY(%s)", (_keys(paths),))

    def put_stamps(self, stamps: Mapping[str, str]) -> None:
        self._database.execute("DELETE FROM stamps WHERE path = ANY(%s)", (_keys(stamps),))
        self._copy(
            "COPY stamps FROM STDIN (FORMAT binary)",
            "bytea text",
            ((os.fsencode(path), stamp) for path, stamp in stamps.items()),
        )

    def put_fact(self, name: str, value: str) -> None:
        statement = "INSERT INTO facts VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        self._database.execute(statement, (name, value))

    def replace_past(self, past: Iterable[tuple[str, Sequence[str], int]]) -> None:
        self._database.execute("DELETE FROM past")  # TRUNCATE would keep readers waiting until the batch is complete
        for some in batched(past, _PAST_ROWS):
            ids = {path: file_id for path, file_id, _ in self._known([path for path, _, _ in some])}
            self._copy("COPY past FROM STDIN (FORMAT binary)", "int4 int4 int4 bytea text", _past_rows(some, ids))

    def _known(self, paths: Iterable[str]) -> list[tuple[str, int, bytes]]:
        """Path, id and digest of each of these files that is indexed."""
        rows = self._rows("SELECT path, id, digest FROM files WHERE path = ANY(%s)", (_keys(paths),))
        return [(os.fsdecode(path), file_id, digest) for path, file_id, digest in rows]

    def _delete(self, ids: list[int], files: LiteralString, *others: LiteralString) -> None:
        if ids:
            self._database.execute(sql.SQL("DELETE FROM {} WHERE id = ANY(%s)").format(sql.Identifier(files)), (ids,))
        for table in others if ids else ():
            statement = sql.SQL("DELETE FROM {} WHERE file_id = ANY(%s)").format(sql.Identifier(table))
            self._database.execute(statement, (ids,))

    def _copy(self, statement: LiteralString, types: str, rows: Iterable[tuple[Any, ...]]) -> None:
        with self._database.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(types.split())
            for row in rows:
                copy.write_row(row)

    def _count(self) -> None:
        ((*files,),) = self._rows(
            "SELECT count(*), coalesce(sum(path_terms), 0), coalesce(sum(symbol_terms), 0),"
            " coalesce(sum(body_terms), 0) FROM files"
        )
        ((*past,),) = self._rows("SELECT count(*), coalesce(sum(length), 0) FROM past")
        self._database.execute("DELETE FROM totals")
        rows = zip(Totals.__slots__, map(int, (*files, *past)), strict=True)
        self._copy("COPY totals FROM STDIN (FORMAT binary)", "text int8", rows)

    # Reading

    def totals(self) -> Totals:
        return Totals(**dict(self._rows("SELECT name, value FROM totals")))

    def stamps(self, paths: Sequence[str]) -> dict[str, str]:
        rows = self._rows("SELECT path, stamp FROM stamps WHERE path = ANY(%s)", (_keys(paths),))
        return {os.fsdecode(path): stamp for path, stamp in rows}

    def stamped(self) -> Iterator[str]:
        return (os.fsdecode(path) for (path,) in self._rows("SELECT path FROM stamps"))

    def fact(self, name: str) -> str:
        return "".join(value for (value,) in self._rows("SELECT value FROM facts WHERE name = %s", (name,)))

    def paths(self) -> list[str]:
        rows = self._rows("SELECT path FROM files WHERE %(all)s OR id = ANY(%(chosen)s)", self._among())
        # Sorted here: the order of the database differs for names that are not UTF-8.
        return sorted(os.fsdecode(path) for (path,) in rows)

    def choose(self, holds: Callable[[str], bool]) -> None:
        rows = self._rows("SELECT id, path FROM files")
        self._chosen = [file_id for file_id, path in rows if holds(os.fsdecode(path))]

    def _among(self) -> dict[str, Any]:
        """The restriction that `choose` has set, as parameters."""
        return {"all": self._chosen is None, "chosen": self._chosen or []}

    def paths_that_may_hold(self, texts: Sequence[str]) -> list[str] | None:
        query = GramsQuery(texts)
        if not query:
            return None
        bits = sql.SQL(" ").join(
            sql.SQL("WHEN {} THEN {}").format(
                sql.Literal(size),
                sql.SQL(" AND ").join(sql.SQL("get_bit(signature, {}) = 1").format(bit) for bit in query.bits(size)),
            )
            for size in PRIMES
        )
        statement = sql.SQL(
            "SELECT path FROM grams JOIN files ON id = file_id WHERE CASE octet_length(signature) {} END"
            " AND (%(all)s OR id = ANY(%(chosen)s))"
        ).format(bits)
        return sorted(os.fsdecode(path) for (path,) in self._database.execute(statement, self._among()))

    def file_counts(self, terms: Sequence[str]) -> dict[str, int]:
        postings, _ = searched(dict.fromkeys(terms, 1.0))
        counts: dict[str, int] = {}
        for table in ("terms", "past"):
            rows = self._database.execute(
                sql.SQL(
                    "SELECT (number - 1) / {levels}, count(*)"
                    " FROM unnest(%s::bigint[]) WITH ORDINALITY AS asked (posting, number),"
                    " LATERAL (SELECT FROM {table} WHERE postings @> ARRAY[posting]) AS found GROUP BY 1"
                ).format(levels=LEVELS, table=sql.Identifier(table)),
                (postings,),
            )
            for number, files in rows:
                counts[terms[number]] = max(files, counts.get(terms[number], 0))
        return counts

    def proposed(self, rarity: Mapping[str, float]) -> list[int]:
        postings, worth = searched({term: rarity[term] for term in rarest(rarity)})
        found: dict[int, None] = {}
        for table in ("terms", "past"):
            rows = self._database.execute(
                sql.SQL(
                    "SELECT file_id FROM unnest(%(postings)s::bigint[], %(worth)s::float8[]) AS asked (posting, worth),"
                    " LATERAL (SELECT file_id FROM {} WHERE postings @> ARRAY[posting]) AS found"
                    " WHERE %(all)s OR file_id = ANY(%(chosen)s)"
                    " GROUP BY file_id ORDER BY sum(worth) DESC, file_id LIMIT %(most)s"
                ).format(sql.Identifier(table)),
                {"postings": postings, "worth": worth, "most": PROPOSED, **self._among()},
            )
            found.update(dict.fromkeys(file_id for (file_id,) in rows))
        return list(found)

    def files(self, ids: Sequence[int]) -> Iterator[IndexedFile]:
        rows = self._rows(
            "SELECT path, packed, past.terms, age FROM files JOIN terms ON terms.file_id = id"
            " LEFT JOIN past ON past.file_id = id WHERE id = ANY(%s)",
            (list(ids),),
        )
        for path, packed, past, age in rows:
            yield IndexedFile(os.fsdecode(path), FileTerms.unpacked(packed), past or "", age)

    def symbols_of(self, path: str) -> list[Symbol]:
        rows = self._rows(
            "SELECT symbols FROM terms WHERE file_id = (SELECT id FROM files WHERE path = %s)", (os.fsencode(path),)
        )
        return [symbol for (text,) in rows for symbol in _symbols(text)]

    def find_symbols(self, name: str, *, most: int) -> list[FoundSymbol]:
        rows = self._rows(
            "SELECT path, symbols FROM terms JOIN files ON id = file_id WHERE postings @> ARRAY[%s::bigint]",
            (symbol_posting(name),),
        )
        found = [
            FoundSymbol(os.fsdecode(path), symbol)
            for path, text in rows
            for symbol in _symbols(text)
            if lower(symbol.name) == lower(name)
        ]
        return sorted(found, key=lambda each: (each.symbol.name != name, each.path, each.symbol.start_line))[:most]

    def _rows(self, statement: LiteralString, parameters: Any = None) -> list[tuple[Any, ...]]:
        return self._database.execute(statement, parameters, binary=True).fetchall()


def connected(conninfo: str, schema: str) -> psycopg.Connection[Any]:
    """Raises psycopg.OperationalError."""
    connection = psycopg.connect(conninfo, autocommit=True, connect_timeout=CONNECT_SECONDS)
    connection.execute(_SETTINGS)
    connection.execute("SELECT set_config('search_path', quote_ident(%s), false)", (schema,))
    return connection


def _version(connection: psycopg.Connection[Any]) -> str:
    """The version of the index; "" if there is none, or if the server has emptied its unlogged tables after a crash."""
    try:
        row = connection.execute("SELECT value FROM facts WHERE name = %s", (_VERSION,)).fetchone()
    except psycopg.errors.UndefinedTable:
        return ""
    return str(row[0]) if row else ""


def _past_rows(past: Iterable[tuple[str, Sequence[str], int]], ids: Mapping[str, int]) -> Iterator[tuple[Any, ...]]:
    for path, subjects, age in past:
        if file_id := ids.get(path):
            terms = terms_of("\n".join(subjects))
            length = length_of(terms)
            yield file_id, length, age, past_postings_of(terms, length), terms


def _keys(paths: Iterable[str]) -> list[bytes]:
    return [os.fsencode(path) for path in paths]


def _symbols_text(document: IndexedDocument) -> str:
    """The symbols as JSON. Names are decoded with errors replaced, so they contain no surrogates."""
    rows = [(each.name, each.kind, each.start_line, each.end_line) for each in document.symbols]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).replace("\\u0000", "\ufffd")


def _symbols(text: str) -> list[Symbol]:
    return [Symbol(*row) for row in json.loads(text)]
