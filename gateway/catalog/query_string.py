"""Converts a query string's texts to the types of an operation's schema."""

import re
from collections.abc import Mapping
from typing import Any

from context_protection.core import json_limits
from context_protection.core.policy import DEFAULTS
from gateway.catalog.operation import Operation

_INTEGER = re.compile(r"-?\d{1,18}")


def from_query(operation: Operation, query: Mapping[str, str]) -> dict[str, Any]:
    """Arguments by name. A text that cannot be read as its schema's type stays a text, and validation rejects it.
    Raises InvalidArgument for JSON that is too large."""
    schemas = operation.schema(DEFAULTS)["properties"]
    return {name: _value(name, query[name], schemas.get(name, {}).get("type")) for name in query}


def _value(name: str, text: str, kind: str | None) -> Any:
    if kind == "integer":
        return int(text) if _INTEGER.fullmatch(text) else _json(name, text)
    if kind == "number":
        return _json(name, text)
    if kind == "boolean":
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if kind in {"object", "array"}:
        return _json(name, text)
    return text


def _json(name: str, text: str) -> Any:
    try:
        return json_limits.loads(text, name)
    except ValueError:
        return text
