"""Tables: a lossless, smaller form of a list.

    {"columns": ["id", "status"], "constants": {"currency": "EUR", "note": null}, "rows": [[1, "new"], …]}

A column with the same value in every row is listed once under `constants`. If some rows lack a name, `absent` maps the
name to the indexes of those rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_NOTHING = object()


def constants(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The names and values that all rows share; empty for fewer than two rows."""
    if len(rows) < 2:
        return {}
    return {name: value for name, value in rows[0].items() if _is_constant(rows, name)}


def table(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    same = constants(rows)
    columns = [name for name in names if name not in same]
    document: dict[str, Any] = {
        "columns": columns,
        "constants": same,
        "rows": [[row.get(name) for name in columns] for row in rows],
    }
    absent = {name: lacking for name in columns if (lacking := [i for i, row in enumerate(rows) if name not in row])}
    return {**document, "absent": absent} if absent else document


def _is_constant(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether all rows have the name, with values that are equal in JSON: 1, 1.0 and true differ."""
    first = rows[0].get(name, _NOTHING)
    if first is _NOTHING:
        return False
    kind, text = type(first), repr(first) if isinstance(first, (dict, list)) else None
    for row in rows:
        value = row.get(name, _NOTHING)
        if type(value) is not kind or (value != first if text is None else repr(value) != text):
            return False
    return True


def rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a table: the inverse of `table`."""
    absent = {(name, index) for name, indexes in document.get("absent", {}).items() for index in indexes}
    return [
        {
            **{
                name: cell for name, cell in zip(document["columns"], cells, strict=True) if (name, index) not in absent
            },
            **document["constants"],
        }
        for index, cells in enumerate(document["rows"])
    ]
