"""The stored form of an operation, and what has changed since it was stored."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from context_protection.core.budget import dumps
from context_protection.core.json_values import storable
from gateway.connectors.openapi.description import DocumentedOperation

_COMPARED = ("title", "description", "deprecated", "kind", "rows", "paging", "body", "path", "servers")


def stored_form(operation: DocumentedOperation) -> dict[str, Any]:
    """The part of an operation that its calls need. Response schemas are left out: the proposed shape is made from
    them."""
    paging = operation.paging.document() if operation.paging else None
    needed = replace(operation, response=None, record_schema=None, paging=None)
    stored: dict[str, Any] = storable(orjson.loads(dumps(needed)))
    return {**stored, "paging": paging}


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """The changes in words: "argument limit is new", "description"."""
    before, now = old["parameters"], new["parameters"]
    arguments = [
        *(f"argument {name} is new" for name in now.keys() - before.keys()),
        *(f"argument {name} is gone" for name in before.keys() - now.keys()),
        *(f"argument {name} is another" for name in now.keys() & before.keys() if now[name] != before[name]),
        *(f"{name} is required now" for name in {*new["required"]} - {*old["required"]} if name in before),
    ]
    return (*sorted(arguments), *(name for name in _COMPARED if old.get(name) != new.get(name)))
