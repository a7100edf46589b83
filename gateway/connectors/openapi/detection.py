"""What an answer tells where its document does not: whether it is a list, where its rows are, and how it is paged.

Read by the same rules as a document's schema: of the answer, a schema is made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from context_protection.core.policy import Kind
from gateway.connectors.openapi import conventions, paging
from gateway.connectors.openapi.data import at
from gateway.connectors.openapi.description import DocumentedOperation
from gateway.connectors.openapi.paging import Paging, QueryParameter
from gateway.connectors.openapi.references import References
from gateway.connectors.openapi.responses import MOST_PROPERTIES, Answer
from gateway.connectors.openapi.schemas import Leaning
from gateway.connectors.openapi.tool_names import words

_PROBLEMS = frozenset({"error", "errors", "warning", "warnings", "messages"})
LEVELS = 4  # of an answer that are looked at
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


@dataclass(frozen=True, slots=True)
class Listed:
    """Where the rows of an answer are (as a document's operation says it), and how upstream pages them."""

    rows: str
    paging: Paging | None

    def document(self) -> dict[str, Any]:
        """As JSON's own types; `from_document` reads it back."""
        return {"rows": self.rows, "paging": self.paging.document() if self.paging else None}

    @classmethod
    def from_document(cls, kept: Mapping[str, Any]) -> "Listed":
        return cls(kept["rows"], Paging.from_document(kept["paging"]) if kept["paging"] else None)


def seen(operation: DocumentedOperation, body: Any, headers: Iterable[str]) -> Listed | None:
    """What this answer of the operation is as a list; None where it is none."""
    references = References({})
    names = frozenset(name.lower() for name in headers)
    answer = Answer(references, Leaning(references, sent=False), (), _schema(body, LEVELS), names)
    rows = answer.rows(operation.path)
    if rows is None or not _is_told(body, rows):
        return None
    query = [
        QueryParameter(place.name, operation.parameters[name])
        for name, place in operation.places.items()
        if place.location == "query" and name not in operation.required
    ]
    return Listed(rows, paging.recognised(query, answer, rows))


def _is_told(body: Any, rows: str) -> bool:
    """Whether this one answer is enough to call the operation a list for good: rows that are objects, and around them
    nothing but what envelopes of lists have. An error's body, or a record that has an array, is not."""
    found = at(body, rows)
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        return False
    if not rows:
        return True
    outer, _, inner = (rows, "", "") if rows in body else rows.partition(".")
    return _is_envelope(body, outer) and (not inner or _is_envelope(body[outer], inner))


def _is_envelope(value: Mapping[str, Any], name: str) -> bool:
    """Of what is called `name`. With what only says how it went, an array that no list is called by is a report's."""
    beside = {each: set(words(each)) for each in value if each != name}
    is_failure = value.get("success") is False or value.get("ok") is False or any(map(value.get, _PROBLEMS))
    if is_failure or not all(each <= conventions.BESIDE_ROWS for each in beside.values()):
        return False
    is_conventional = name in conventions.ROWS or name in conventions.AROUND_ROWS
    return not beside or is_conventional or any(each & conventions.COUNTING for each in beside.values())


def as_list(operation: DocumentedOperation, listed: Listed) -> DocumentedOperation:
    """The operation, as if its document had said so. Yet an answer may be none: `tells_no_kind` stays."""
    paged = paging_arguments(operation, listed)
    return replace(
        operation,
        kind=Kind.LIST,
        rows=listed.rows,
        paging=listed.paging,
        parameters=_without(operation.parameters, paged),
        places=_without(operation.places, paged),
        shown=_without(operation.shown, paged) if operation.shown else None,
    )


def paging_arguments(operation: DocumentedOperation, listed: Listed) -> frozenset[str]:
    """Those by which a caller would page, if Sluice did not."""
    names = listed.paging.parameters if listed.paging else ()
    places = operation.places.items()
    return frozenset(name for name, place in places if place.location == "query" and place.name in names)


def _without(mapping: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: each for name, each in mapping.items() if name not in names}


def _schema(value: Any, levels: int) -> dict[str, Any]:
    if isinstance(value, list):
        first = next((each for each in value if isinstance(each, dict)), next(iter(value), None))
        return {"type": "array", "items": _schema(first, levels - 1)}
    if isinstance(value, dict):
        kept = list(value.items())[:MOST_PROPERTIES] if levels > 0 else []
        return {"type": "object", "properties": {name: _schema(each, levels - 1) for name, each in kept}}
    return {"type": _TYPES[type(value)]} if type(value) in _TYPES else {}
