"""The tables of a SQL statement: stored results under the names that the statement uses."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from context_protection.core.budget import dumps
from context_protection.core.cursors import NEW_HANDLE
from context_protection.core.errors import InvalidArgument, OverBudget, shown
from context_protection.core.masks import is_withheld
from context_protection.core.payloads import Text
from context_protection.core.redaction import Visibility
from context_protection.core.results import result_tables, text_lines
from context_protection.core.results.queries import QueryTable
from context_protection.core.splitting import forms
from context_protection.core.withheld_fields import under_all_names
from gateway.catalog.caller import Caller
from gateway.connectors.results.results import MAX_BYTES, MAX_ROWS, Stored, StoredRows, StoredText, opened, snapshot_of

ROWS = "rows"  # the table name of a single handle
MAX_TABLES = 8
HEAD_CHARS = 20_000  # characters at the start of a text, from which its form is detected
_NAME = re.compile(r"[A-Za-z_]\w{0,29}", re.ASCII)
_SYSTEM = ("duckdb_", "pg_", "pragma_", "sqlite_")
# DuckDB's reserved words
_KEYWORDS = """
all analyse analyze and any array as asc asymmetric both case cast check collate column constraint create default
deferrable desc describe distinct do else end except false fetch for foreign from group having in initially intersect
into lambda lateral leading limit not null offset on only or order pivot pivot_longer pivot_wider placing primary
qualify references returning select show some summarize symmetric table then to trailing true union unique unpivot
using variadic when where window with
"""
_READS_ROWS = re.compile(rf"\b{ROWS}\b", re.IGNORECASE)
_RESERVED = frozenset(_KEYWORDS.split())


def named_handles(arguments: Mapping[str, Any]) -> dict[str, str]:
    """Maps the table names of a call to handles. Raises InvalidArgument."""
    one, several = arguments.get("handle"), arguments.get("handles")
    if (one is None) == (several is None):
        raise _not_one_of_both(several, str(arguments.get("sql")))
    if several is None:
        return {ROWS: str(one)}
    if not 0 < len(several) <= MAX_TABLES:
        message = f"handles has {len(several)} entries."
        suggestion = "Join fewer results at once." if several else 'Name a handle, as in {"b":"…"}.'
        raise _invalid("handles", sorted(several), message, f"1 to {MAX_TABLES} handles", suggestion)
    for name, handle in several.items():
        _check(name, handle, several)
    return dict(several)


def _not_one_of_both(several: Any, sql: str) -> InvalidArgument:
    expected = "one of handle and handles"
    if several is None:
        return _invalid("handles", several, "Neither handle nor handles is given.", expected, NEW_HANDLE)
    needless = "handles" if _READS_ROWS.search(sql) else "handle"
    return _invalid(
        "handles", several, "Both handle and handles are given.", expected, f"Leave {needless} out for this sql."
    )


def _check(name: str, handle: Any, every: Mapping[str, Any]) -> None:
    folded = name.lower()
    if not _NAME.fullmatch(name) or folded in _RESERVED or folded.startswith(_SYSTEM):
        message = f"handles has a table name that SQL cannot use: {shown(name)!r}."
        expected = "names of letters, digits and _, at most 30 characters, that are not SQL keywords"
        raise _invalid("handles", name, message, expected, 'Name the tables a, b, …: {"a":"…","b":"…"}.')
    if sum(folded == each.lower() for each in every) > 1:
        message = f"handles has the name {shown(name)!r} twice, as SQL ignores case."
        raise _invalid("handles", name, message, "different names", "Rename one of the two tables.")
    if not isinstance(handle, str):
        expected = "the resultHandle of an answer"
        raise _invalid(
            f"handles.{name}", handle, f"handles.{name} is not a handle.", expected, f"Set {name} to {expected}."
        )


def database_key(handles: Mapping[str, str], caller: Caller) -> str:
    """The name of the database that holds these tables for the caller. Raises InvalidHandle if a handle is invalid."""
    for name, handle in handles.items():
        with _naming(name):
            snapshot_of(handle, caller)
    return dumps([caller.owner, handles]).decode()


def tables(handles: Mapping[str, str], caller: Caller) -> dict[str, QueryTable]:
    """The rows of each result, without the columns that are redacted for this caller. Raises InvalidArgument."""
    found = {}
    for name, handle in handles.items():
        with _naming(name):
            found[name] = _shown(_table(stored := opened(handle, caller)), _visibility(handle, stored, caller))
    return found


@contextmanager
def _naming(table: str) -> Iterator[None]:
    """Names the table in errors about its handle."""
    try:
        yield
    except InvalidArgument as error:
        if error.parameter != "handle" or table == ROWS:
            raise
        parameter = f"handles.{table}"
        suggestion = error.suggestion.replace("set handle to", f"set {parameter} to")
        raise replace(error, parameter=parameter, suggestion=suggestion) from None


def _table(stored: Stored) -> QueryTable:
    match stored:
        case StoredRows():
            return QueryTable(stored.rows, stored.columns)
        case StoredText():
            return _lines(stored.text, stored.handle)
        case _:
            return QueryTable([stored.value], result_tables.of_record(stored.shape))


def _visibility(handle: str, stored: Stored, caller: Caller) -> Visibility:
    """Which columns of the result the caller sees."""
    visibility = caller.visibility(snapshot_of(handle, caller).operation)
    return visibility if isinstance(stored, StoredText) else under_all_names(visibility, stored.shape)


def _shown(table: QueryTable, visibility: Visibility) -> QueryTable:
    def shows(name: str) -> bool:
        return not is_withheld(name, visibility)

    columns = [each for each in table.columns if shows(each.path) and shows(each.name)]
    return QueryTable([{name: each for name, each in row.items() if shows(name)} for row in table.rows], columns)


def _lines(text: Text, handle: str) -> QueryTable:
    """Raises InvalidArgument if the text is too long."""
    if text.lines > MAX_ROWS or text.chars > MAX_BYTES:
        raise OverBudget(
            f"The text has {text.lines:,} lines and {text.chars:,} characters, which is too much for SQL.",
            reason="result_too_large",
            parameter="handle",
            value=handle,
            expected=f"a text of at most {MAX_ROWS:,} lines and {MAX_BYTES // 2**20} MB",
            suggestion="Search it with result_search, which takes texts of any length.",
        )
    head = text.read(text.version, 0, HEAD_CHARS) or ""
    form = forms.detect(text.name, text.media_type, head)
    return QueryTable(list(text_lines.rows(text.pieces(text.version), form)), text_lines.columns(form))


def _invalid(parameter: str, value: Any, message: str, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        message,
        reason="invalid_handles",
        parameter=parameter,
        value=value,
        expected=expected,
        suggestion=suggestion,
    )
