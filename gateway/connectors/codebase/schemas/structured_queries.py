"""The structured queries of dbp_general_query, such as {"operation": "grep", "pattern": "TODO"}."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from context_protection.core.errors import InvalidArgument, nearest
from context_protection.core.policy import Kind
from gateway.catalog.arguments import validated
from gateway.catalog.definition import ToolDefinition

Schema = Mapping[str, Any]

DEFAULT_LIMIT, MAX_LIMIT = 50, 1_000
SYMBOL_KINDS = ("class", "constant", "function", "module", "type")  # the kinds that the index stores
OPERATION, QUERY = "operation", "query"

_TEXT = {"type": "string", "minLength": 1, "maxLength": 1_000}
_FLAG = {"type": "boolean", "default": False}
_AFTER = {**_TEXT, "description": "Only files after this path."}
_AFTER_COMMIT = {**_TEXT, "description": "Only commits after this one, in the order of the answer."}
_OFFSET = {"type": "integer", "minimum": 0, "maximum": 1_000_000, "default": 0, "description": "Rows to skip."}
_LIMIT = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}


def _definition(name: str, description: str, required: tuple[str, ...] = (), /, **parameters: Schema) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        title=name,
        description=description,
        kind=Kind.RECORD,
        parameters={OPERATION: {"const": name}, **parameters, "limit": _LIMIT},
        required=(OPERATION, *required),
        form=(),
        is_strict=True,
    )


OPERATIONS: Mapping[str, ToolDefinition] = {
    each.name: each
    for each in (
        _definition(
            "findSymbol",
            "Where a class, function or other symbol is defined.",
            ("name",),
            name=_TEXT,
            kind={"type": "string", "enum": list(SYMBOL_KINDS)},
            offset=_OFFSET,
        ),
        _definition("findReferences", "Where a name is used.", ("name",), name=_TEXT, after=_AFTER, offset=_OFFSET),
        _definition("listFiles", "The files of the scope.", after=_AFTER),
        _definition(
            "grep",
            "The lines that hold a text.",
            ("pattern",),
            pattern=_TEXT,
            isRegex=_FLAG,
            ignoreCase=_FLAG,
            after=_AFTER,
            offset=_OFFSET,
        ),
        _definition("outline", "The symbols of a file, with their lines.", ("path",), path=_TEXT, offset=_OFFSET),
        _definition("history", "The newest commits, of all files or of one.", path=_TEXT, after=_AFTER_COMMIT),
        _definition("changedSince", "The files that differ from a commit.", ("commit",), commit=_TEXT, offset=_OFFSET),
    )
}


def structured_query(query: Mapping[str, Any]) -> dict[str, Any]:
    """The validated query with its defaults filled in. Raises InvalidArgument for the first mistake."""
    name = query.get(OPERATION)
    if not isinstance(name, str) or name not in OPERATIONS:
        raise _unknown_operation(name)
    definition = OPERATIONS[name]
    try:
        return {**definition.defaults, **validated(definition, query)}
    except InvalidArgument as refused:
        raise replace(refused, parameter=f"{QUERY}.{refused.parameter}", reason="invalid_query") from None


def _unknown_operation(name: Any) -> InvalidArgument:
    close = nearest(name, OPERATIONS) if isinstance(name, str) else None
    return InvalidArgument(
        "query.operation is missing." if name is None else "query.operation is not known.",
        reason="invalid_query",
        parameter=f"{QUERY}.{OPERATION}",
        value=name,
        expected=f"one of: {', '.join(OPERATIONS)}",
        suggestion=f"Set query.operation to {close or 'listFiles'}.",
    )
