"""The request of a query, read from the tool's arguments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.query.scope import QueryScope
from gateway.connectors.codebase.schemas.requests import MAX_CHARACTERS, NATURAL, STRUCTURED
from gateway.connectors.codebase.schemas.structured_queries import OPERATION, OPERATIONS, QUERY, structured_query


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Either a question in words, or a structured query with its defaults filled in. `context`: texts that the caller
    already has."""

    question: str
    structured: Mapping[str, Any] | None
    scope: QueryScope
    response_format: str
    context: tuple[str, ...]

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> "QueryRequest":
        """Raises InvalidArgument."""
        query, kind = arguments["query"], arguments.get("queryType")
        _check_size(query)
        structured = _structured(query, kind)
        return cls(
            question="" if structured is not None else str(query),
            structured=None if structured is None else structured_query(structured),
            scope=QueryScope.of(arguments.get("scope", {})),
            response_format=arguments["responseFormat"],
            context=tuple(_texts(arguments.get("context", {}))),
        )


def _structured(query: Any, kind: str | None) -> Mapping[str, Any] | None:
    """The structured query; None for a question in words. A text that is the JSON of a structured query, such as a
    suggestion, counts as that query whatever `kind` says."""
    if isinstance(query, dict):
        if kind == NATURAL:
            raise _mismatch(query, "a text", f"Set queryType to {STRUCTURED}, or leave it out.")
        return query
    parsed = _parsed(query)
    if parsed is None and kind == STRUCTURED:
        raise _mismatch(query, "an object with operation", f"Set queryType to {NATURAL}, or leave it out.")
    return parsed if kind == STRUCTURED or (parsed or {}).get(OPERATION) in OPERATIONS else None


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text) if text.lstrip().startswith("{") else None
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _mismatch(query: Any, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        f"query must be {expected} for this queryType.",
        reason="invalid_query",
        parameter=QUERY,
        value=query,
        expected=expected,
        suggestion=suggestion,
    )


def _check_size(query: Any) -> None:
    size = len(query.encode() if isinstance(query, str) else orjson.dumps(query))
    if size > MAX_CHARACTERS:
        raise InvalidArgument(
            f"query has {size:,} bytes.",
            reason="invalid_query",
            parameter=QUERY,
            value=str(query)[:80],
            expected=f"at most {MAX_CHARACTERS:,} bytes",
            suggestion="Ask for the part that matters, such as the error's message.",
        )


def _texts(value: Any) -> list[str]:
    """All texts in a JSON value, in order."""
    if isinstance(value, str):
        return [value]
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in below for text in _texts(each)]
