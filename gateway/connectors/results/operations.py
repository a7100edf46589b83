"""Operations on stored results. A reduced response has a handle to its full data.

Stored data costs no tokens. Callers read it with a path, a search or SQL, and only the requested part is sent.
"""

from collections.abc import Mapping
from typing import Any

from context_protection.core import patterns
from context_protection.core.cursors import NEW_HANDLE
from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import Payload, Record, RowOptions
from context_protection.core.policy import Kind
from context_protection.core.results import result_tables, search, selection, statement_errors
from context_protection.core.results.queries import Databases, RowsDatabase
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.shapes import ANY, Shape
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Operation
from gateway.connectors.results import tables
from gateway.connectors.results.results import Stored, StoredRows, StoredText, StoredValue, opened

Arguments = Mapping[str, Any]
AS_STORED = RowOptions(follow_up=True)
AS_FOUND = RowOptions(condensable=False, follow_up=True)
AS_SELECTED = RowOptions(condensable=False, follow_up=True, always_handle=True, fills_pages=True)
MORE_ROWS = "The statement has more rows than these: add LIMIT, WHERE or GROUP BY."

databases = Databases()


# -- result_get -------------------------------------------------------------------------------------


def _get(arguments: Arguments, caller: Caller) -> Payload:
    path, rows = arguments.get("path"), arguments.get("rows")
    stored = opened(arguments["handle"], caller, last_row=selection.last_row(rows))
    if isinstance(stored, StoredText):
        if path is None and rows is None:
            return stored.text
        name, value = ("path", path) if path is not None else ("rows", rows)
        raise _not_for(stored, name, value, "startLine and endLine")
    for name in ("startLine", "endLine"):
        if name in arguments:
            raise _not_for(stored, name, arguments[name], "path and rows" if isinstance(stored, StoredRows) else "path")
    if path is not None:
        return _payload(selection.pick(stored.named, path=path, rows=rows), ANY, {})
    whole = stored.rows if isinstance(stored, StoredRows) else stored.value
    return _payload(selection.pick(whole, rows=rows), stored.shape, stored.note)


def _payload(value: Any, shape: Shape, note: Mapping[str, Any]) -> Payload:
    if isinstance(value, dict):
        return Record(value, shape, follow_up=True, note=note)
    if isinstance(value, list):
        rows = [each if isinstance(each, dict) else {"value": each} for each in value]
        return MemoryRows(lambda: Loaded(rows, note), shape, AS_STORED)
    return Record({"value": value}, follow_up=True)


# -- result_search ----------------------------------------------------------------------------------


def _search(arguments: Arguments, caller: Caller) -> Payload:
    wanted = patterns.pattern(arguments.get("text"), arguments.get("regex"))

    def load() -> Loaded:
        found = _found(opened(arguments["handle"], caller), wanted, arguments.get("from")).document()
        return Loaded(found.pop("hits"), found, total=found.get("totalCount"))

    return MemoryRows(load, options=AS_FOUND)


def _found(stored: Stored, wanted: patterns.Pattern, start: str | None) -> search.SearchResult:
    limit = search.MAX_HITS
    if isinstance(stored, StoredRows):
        return search.search_rows(stored.named, wanted, identity=stored.shape.identity, start=start, limit=limit)
    if isinstance(stored, StoredValue):
        return search.search_value(stored.named, wanted, start=start, limit=limit)
    pieces = stored.text.pieces(stored.text.version, search.ResultPlace.of(start, first=1).row)
    found = ((piece.line, piece.start, piece.text) for piece in pieces)
    return search.search_text(found, wanted, start=start, limit=limit)


# -- result_query -----------------------------------------------------------------------------------


def _query(arguments: Arguments, caller: Caller) -> Payload:
    handles, sql = tables.named_handles(arguments), arguments["sql"]

    def load() -> Loaded:
        key = tables.database_key(handles, caller)  # checks access even if the database is cached
        selected = databases.select(key, lambda: RowsDatabase(tables.tables(handles, caller)), sql)
        notes = [*selected.notes, *([MORE_ROWS] if selected.more else [])]
        note = {"notes": notes} if notes else {}
        return Loaded(selected.rows, note, plan=result_tables.plan_of(selected.columns))

    return MemoryRows(load, options=AS_SELECTED)


_INVALID = {
    "path": "invalid_path",
    "rows": "invalid_rows",
    "startLine": "invalid_range",
    "endLine": "invalid_range",
}


def _not_for(stored: Stored, parameter: str, value: Any, instead: str) -> InvalidArgument:
    kind = {StoredRows: "list", StoredValue: "record", StoredText: "text"}[type(stored)]
    return InvalidArgument(
        f"The result is a {kind}, which {parameter} does not apply to.",
        reason=_INVALID[parameter],
        parameter=parameter,
        value=value,
        expected=instead,
        suggestion=f"Leave {parameter} out; use {instead}.",
    )


# -- The operations ---------------------------------------------------------------------------------


HANDLE = {"type": "string", "description": "meta.resultHandle"}


def _operation(name: str, parameters: Arguments, **more: Any) -> Operation:
    return Operation(
        name=name,
        kind=Kind.LIST,
        parameters={"handle": HANDLE, **parameters},
        plain=frozenset({"path", "rows", "text", "regex"}),
        endpoint=f"/api/v1/tools/{name}",
        is_redacted=True,
        in_every_set=True,
        sources={"handle": NEW_HANDLE, "text": "Set text to a word.", "sql": statement_errors.any_select(tables.ROWS)},
        **more,
    )


def operations() -> list[Operation]:
    return [
        _operation(
            "result_get",
            {
                "path": {
                    "type": "string",
                    "description": "A field, or several.",
                    "examples": ["items.*.id"],
                },
                "rows": {"type": "string", "description": "Rows of a list, from 0.", "examples": ["10-20"]},
                "startLine": {"type": "integer", "description": "First line of a text, from 1."},
                "endLine": {"type": "integer", "description": "Last line, inclusive."},
            },
            title="Get from a result",
            description="Part of a stored result.",
            fetch=_get,
            required=("handle",),
            form=("fields", "limit", "cursor", "format"),
        ),
        _operation(
            "result_search",
            {
                "text": {"type": "string", "description": "Text to find; case does not matter."},
                "regex": {"type": "string", "description": "A regular expression, instead of text."},
                "from": {"type": "string", "description": "meta.nextFrom"},
            },
            title="Search a result",
            description="Finds text in a whole stored list, record or document.",
            fetch=_search,
            required=("handle",),
            form=("cursor", "format"),
        ),
        _operation(
            "result_query",
            {
                "handle": {**HANDLE, "description": "The table rows."},
                "handles": {
                    "type": "object",
                    "description": "Or up to eight tables to join.",
                    "examples": [{"b": "…", "l": "…"}],
                },
                "sql": {
                    "type": "string",
                    "description": "One SELECT.",
                    "examples": ["SELECT city, count(*) FROM b JOIN l ON b.propertyId = l.id GROUP BY city"],
                },
            },
            title="Query results",
            description="SQL (DuckDB) over all rows of stored lists, or the lines of a text; dates are DATE, times "
            "TIMESTAMP.",
            fetch=_query,
            required=("sql",),
            form=("cursor", "format"),
        ),
    ]
