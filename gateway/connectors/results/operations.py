"""Operations on stored results. A reduced response has a handle to the full data that it was made from.

Stored data costs no tokens. Callers read it with a path, a search or SQL, and only the requested part is sent.
"""

from collections.abc import Mapping
from typing import Any

from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import Manner, Payload, Record
from context_protection.core.policy import Kind
from context_protection.core.results import search, selection
from context_protection.core.results.queries import Databases, RowsDatabase
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.shapes import ANY, Shape
from context_protection.core.withheld import is_withheld
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Operation
from gateway.connectors.results.results import Stored, StoredRows, StoredText, StoredValue, opened, walk_of

Arguments = Mapping[str, Any]
AS_STORED = Manner(follow_up=True)
AS_FOUND = Manner(condensable=False, follow_up=True)

databases = Databases()


# -- result_get -------------------------------------------------------------------------------------


def _get(arguments: Arguments, caller: Caller) -> Payload:
    stored = opened(arguments["handle"], caller)
    path, rows = arguments.get("path"), arguments.get("rows")
    if isinstance(stored, StoredText):
        if path is None and rows is None:
            return stored.text
        name, value = ("path", path) if path is not None else ("rows", rows)
        raise _not_for(stored, name, value, "startLine and endLine")
    whole = stored.rows if isinstance(stored, StoredRows) else stored.value
    shape = stored.shape if path is None else ANY
    return _payload(selection.pick(whole, path=path, rows=rows), shape, stored.note if path is None else {})


def _payload(value: Any, shape: Shape, note: Mapping[str, Any]) -> Payload:
    if isinstance(value, dict):
        return Record(value, shape, follow_up=True, note=note)
    if isinstance(value, list):
        rows = [each if isinstance(each, dict) else {"value": each} for each in value]
        return MemoryRows(lambda: Loaded(rows, note), shape, AS_STORED)
    return Record({"value": value}, follow_up=True)


# -- result_search ----------------------------------------------------------------------------------


def _search(arguments: Arguments, caller: Caller) -> Payload:
    wanted = search.pattern(arguments.get("text"), arguments.get("regex"))

    def load() -> Loaded:
        found = _found(opened(arguments["handle"], caller), wanted, arguments.get("from")).document()
        return Loaded(found.pop("hits"), found)

    return MemoryRows(load, manner=AS_FOUND)


def _found(stored: Stored, wanted: search.Pattern, start: str | None) -> search.Found:
    limit = search.MOST_HITS
    if isinstance(stored, StoredRows):
        return search.search_rows(stored.rows, wanted, identity=stored.shape.identity, start=start, limit=limit)
    if isinstance(stored, StoredValue):
        return search.search_value(stored.value, wanted, start=start, limit=limit)
    pieces = stored.text.pieces(stored.text.version, search.Place.of(start, first=1).row)
    found = ((piece.line, piece.start, piece.text) for piece in pieces)
    return search.search_text(found, wanted, start=start, limit=limit)


# -- result_query -----------------------------------------------------------------------------------


def _query(arguments: Arguments, caller: Caller) -> Payload:
    handle, sql = arguments["handle"], arguments["sql"]

    def load() -> Loaded:
        walk_of(handle, caller)  # checks access even if its database is cached
        name = f"{caller.owner} {handle}"
        selected = databases.select(name, lambda: _database(opened(handle, caller), caller, sql), sql)
        note = {"notes": ["The statement has more rows than these: add LIMIT, WHERE or GROUP BY."]}
        return Loaded(selected.rows, note if selected.more else {})

    return MemoryRows(load, manner=AS_FOUND)


def _database(stored: Stored, caller: Caller, sql: str) -> RowsDatabase:
    """The rows as a database, without the columns that are redacted for this caller."""
    if isinstance(stored, StoredRows):
        columns = [each for each in stored.columns if not is_withheld(each.path, caller.reveal)]
        rows = [
            {name: value for name, value in row.items() if not is_withheld(name, caller.reveal)} for row in stored.rows
        ]
        return RowsDatabase(rows, columns)
    raise _not_for(stored, "sql", sql, "a list's handle; a record is read with result_get, a text with result_search")


def _not_for(stored: Stored, parameter: str, value: Any, instead: str) -> InvalidArgument:
    kind = {StoredRows: "list", StoredValue: "record", StoredText: "text"}[type(stored)]
    return InvalidArgument(
        f"The result is a {kind}, which {parameter} does not apply to.",
        reason=f"invalid_{parameter}",
        parameter=parameter,
        value=value,
        expected=instead,
        suggestion=f"Use {instead}.",
    )


# -- The operations ---------------------------------------------------------------------------------


def _operation(name: str, parameters: Arguments, **more: Any) -> Operation:
    return Operation(
        name=name,
        kind=Kind.LIST,
        parameters={"handle": {"type": "string", "description": "meta.resultHandle of an answer."}, **parameters},
        endpoint=f"/api/v1/tools/{name}",
        is_redacted=True,
        **more,
    )


def operations() -> list[Operation]:
    return [
        _operation(
            "result_get",
            {
                "path": {"type": "string", "description": "E.g. guest.name, items.*.id, items[0]."},
                "rows": {"type": "string", "description": "E.g. 5 or 10-20, from 0."},
                "startLine": {"type": "integer", "description": "Of a text, from 1."},
                "endLine": {"type": "integer", "description": "Inclusive."},
            },
            title="Get from a result",
            description="Part of a stored result.",
            fetch=_get,
            required=("handle",),
            form=("fields", "limit", "cursor"),
        ),
        _operation(
            "result_search",
            {
                "text": {"type": "string", "description": "Upper or lower case."},
                "regex": {"type": "string", "description": "Instead of text."},
                "from": {"type": "string", "description": "meta.nextFrom, to go on."},
            },
            title="Search a result",
            description="Search all of a stored list, record or text; gives rows, paths or line numbers.",
            fetch=_search,
            required=("handle",),
            form=("cursor",),
        ),
        _operation(
            "result_query",
            {"sql": {"type": "string", "description": "One SELECT; dates are DATE, moments TIMESTAMP."}},
            title="Query a result",
            description="SQL (DuckDB) over all rows of a stored list, as the table rows: canonical and upstream's "
            "own columns.",
            fetch=_query,
            required=("handle", "sql"),
            form=("cursor",),
        ),
    ]
