"""Detects lists from responses if the document does not describe them: the path of the rows, and the paging.

The rules for documents apply: a schema is inferred from the response, and then read like a documented one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import orjson

from context_protection.core.inference.vocabulary import IDENTITIES
from context_protection.core.policy import Kind
from gateway.connectors.openapi.document import conventions, paging
from gateway.connectors.openapi.document.description import DocumentedOperation
from gateway.connectors.openapi.document.paging import Paging, QueryParameter
from gateway.connectors.openapi.document.references import References
from gateway.connectors.openapi.document.responses import MAX_PROPERTIES, DocumentedResponse
from gateway.connectors.openapi.document.schemas import Leaning
from gateway.connectors.openapi.document.wording import words
from gateway.connectors.openapi.response.dotted_paths import at
from gateway.connectors.openapi.response.forms import Form, count_of_names, example, form_of, holds_list, typical
from gateway.connectors.openapi.response.side_data import PROBLEMS

LEVELS = 4  # levels of a response that are examined for its paging
LEVELS_OF_ROWS = 2  # levels at which the rows may be
KNOWN_NAMES = 400  # names in a form that is remembered
ID, MESSAGES = "id", "messages"
SEVERAL = 3  # the fewest rows that count as several
RATHER_SMALL = 4  # the rows of a list are at least this many times as large as the fields around them
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


@dataclass(frozen=True, slots=True)
class DetectedList:
    """The path of the rows in a response (as in `DocumentedOperation.rows`), and how upstream pages them."""

    rows: str
    paging: Paging | None

    def document(self) -> dict[str, Any]:
        """The list as JSON types; `from_document` reads it back."""
        return {"rows": self.rows, "paging": self.paging.document() if self.paging else None}

    @classmethod
    def from_document(cls, stored: Mapping[str, Any]) -> "DetectedList":
        return cls(stored["rows"], Paging.from_document(stored["paging"]) if stored["paging"] else None)


def detect(operation: DocumentedOperation, body: Any, headers: Iterable[str]) -> DetectedList | None:
    """The place of the rows in the response, and its paging. None if it is not a list, or may be something else."""
    query = _query(operation)
    is_paged = paging.has_position(query)
    rows = rows_in(body, operation.path, is_paged=is_paged)
    if rows is None or not (_is_conclusive(body, rows) or _surrounds_records(body, rows, is_paged=is_paged)):
        return None
    return DetectedList(rows, paging.recognised(query, _inferred(body, headers), rows))


def rows_in(body: Any, path: str, *, is_paged: bool) -> str | None:
    """The path of the response's rows, as DocumentedResponse.rows finds it in an inferred schema. Most responses of an
    operation have the same form, for which it is decided once: that takes a tenth of a small call."""
    form = form_of(body, LEVELS_OF_ROWS)
    if not holds_list(form):
        return None
    return (_known_rows if count_of_names(form) <= KNOWN_NAMES else _rows)(form, path, is_paged)


def _rows(form: Form, path: str, is_paged: bool) -> str | None:
    return _inferred(example(form), ()).rows(path, is_paged=is_paged)


_known_rows = lru_cache(maxsize=128)(_rows)


def detect_paging(operation: DocumentedOperation, body: Any, headers: Iterable[str], rows: str) -> DetectedList | None:
    """The paging of a list whose document does not describe it. None if the response does not show it either."""
    found = paging.recognised(_query(operation), _inferred(body, headers), rows)
    return DetectedList(rows, found) if found else None


def _inferred(body: Any, headers: Iterable[str]) -> DocumentedResponse:
    references = References({})
    names = frozenset(name.lower() for name in headers)
    return DocumentedResponse(references, Leaning(references, sent=False), (), _schema(body, LEVELS), names)


def _query(operation: DocumentedOperation) -> list[QueryParameter]:
    return list(_query_by_argument(operation).values())


def position_arguments(operation: DocumentedOperation) -> list[str]:
    """The arguments by which a caller may page the list, if Sluice does not."""
    return [name for name, each in _query_by_argument(operation).items() if paging.has_position([each])]


def _query_by_argument(operation: DocumentedOperation) -> dict[str, QueryParameter]:
    return {
        name: QueryParameter(place.name, operation.parameters[name])
        for name, place in operation.places.items()
        if place.location == "query" and name not in operation.required
    }


def _is_conclusive(body: Any, rows: str) -> bool:
    """Whether this one response proves that the operation is a list: its rows are objects, with only typical envelope
    fields around them. The body of an error, or a record with an array in it, proves nothing."""
    found = at(body, rows)
    if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
        return False
    if not rows:
        return True
    outer, _, inner = (rows, "", "") if rows in body else rows.partition(".")
    return _is_envelope(body, outer) and (not inner or _is_envelope(body[outer], inner))


def _is_envelope(value: Mapping[str, Any], name: str) -> bool:
    """Whether `value` is the envelope of the list `name`. Around an array with an unconventional name, one of the other
    fields must be one that only lists have: an array among mere status fields is part of a report."""
    beside = {each: set(words(each)) for each in value if each != name}
    if _is_failure(value, name) or not all(each <= conventions.BESIDE_ROWS for each in beside.values()):
        return False
    is_conventional = name in conventions.ROWS or name in conventions.AROUND_ROWS
    return not beside or is_conventional or any(each & conventions.COUNTING for each in beside.values())


def _is_failure(value: Mapping[str, Any], rows: str) -> bool:
    """Whether `value` reports a failure. Messages may also be the rows themselves."""
    problems = PROBLEMS - {rows} if rows == MESSAGES else PROBLEMS
    return value.get("success") is False or value.get("ok") is False or any(map(value.get, problems))


def _surrounds_records(body: Any, rows: str, *, is_paged: bool) -> bool:
    """Whether the body is little more than a list, although its other fields are not typical. The rows must be several
    records with ids, the other fields must be small and have no id, and the name of the rows or a paging parameter must
    indicate a list."""
    if not isinstance(body, dict) or not (is_paged or rows in conventions.ROWS) or _is_failure(body, rows):
        return False
    found, beside = body.get(rows), {name: each for name, each in body.items() if name != rows}
    if not isinstance(found, list) or len(found) < SEVERAL or ID in {name.lower() for name in beside}:
        return False
    are_records = all(isinstance(each, dict) and not IDENTITIES.isdisjoint(map(_last_word, each)) for each in found)
    return are_records and RATHER_SMALL * len(orjson.dumps(beside)) < len(orjson.dumps(found))


def _last_word(name: str) -> str:
    return (words(name) or [""])[-1]


def as_list(operation: DocumentedOperation, listed: DetectedList) -> DocumentedOperation:
    """The operation as if its document had described the list. `kind_is_unknown` stays: a later response
    may turn out not to be a list."""
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


def paging_arguments(operation: DocumentedOperation, listed: DetectedList) -> frozenset[str]:
    """The arguments for paging. Sluice sets them itself, so callers do not see them."""
    names = listed.paging.parameters if listed.paging else ()
    places = operation.places.items()
    return frozenset(name for name, place in places if place.location == "query" and place.name in names)


def _without(mapping: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: each for name, each in mapping.items() if name not in names}


def _schema(value: Any, levels: int) -> dict[str, Any]:
    if isinstance(value, list):
        return {"type": "array", "items": _schema(typical(value), levels - 1)}
    if isinstance(value, dict):
        members = list(value.items())[:MAX_PROPERTIES] if levels > 0 else []
        return {"type": "object", "properties": {name: _schema(each, levels - 1) for name, each in members}}
    return {"type": _TYPES[type(value)]} if type(value) in _TYPES else {}
