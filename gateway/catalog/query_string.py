"""Converts a query string's texts to the types of an operation's schema."""

from collections.abc import Mapping
from typing import Any

from context_protection.core import json_limits
from context_protection.core.policy import DEFAULTS
from gateway.catalog.normalization import as_schema, number
from gateway.catalog.operation import Operation
from gateway.catalog.schemas import Schema, kinds


def from_query(operation: Operation, query: Mapping[str, str]) -> dict[str, Any]:
    """Arguments by name. A text that cannot be converted to its schema's type stays a text, and validation rejects it.
    Raises InvalidArgument for JSON that is too large."""
    schemas = operation.schema(DEFAULTS)["properties"]
    return {name: _value(name, query[name], schemas.get(name, {})) for name in query}


def _value(name: str, text: str, schema: Schema) -> Any:
    if text[:1] in ("[", "{") and not {"object", "array"}.isdisjoint(kinds(schema)):
        return _json(name, text)
    value = as_schema(text, schema, name)
    if not isinstance(value, str) or {"integer", "number"}.isdisjoint(kinds(schema)):
        return value
    found = number(value)  # a number or a text is valid: 7 is a number, and 007 a text
    return found if str(found) == value else value


def _json(name: str, text: str) -> Any:
    try:
        return json_limits.loads(text, name)
    except ValueError:
        return text
