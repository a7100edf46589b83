"""What is kept of an operation, and what of it has changed since."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from context_protection.core.budget import dumps
from context_protection.core.json_values import storable
from gateway.connectors.openapi.description import DocumentedOperation

_TOLD = ("title", "description", "deprecated", "kind", "rows", "paging", "body", "path", "servers")


def stored_form(operation: DocumentedOperation) -> dict[str, Any]:
    """What its calls need. The schemas of its answer have become a proposed shape."""
    paging = operation.paging.document() if operation.paging else None
    needed = replace(operation, response=None, record_schema=None, paging=None)
    kept: dict[str, Any] = storable(orjson.loads(dumps(needed)))
    return {**kept, "paging": paging}


def changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """In words: "argument limit is new", "description"."""
    before, now = old["parameters"], new["parameters"]
    arguments = [
        *(f"argument {name} is new" for name in now.keys() - before.keys()),
        *(f"argument {name} is gone" for name in before.keys() - now.keys()),
        *(f"argument {name} is another" for name in now.keys() & before.keys() if now[name] != before[name]),
        *(f"{name} is required now" for name in {*new["required"]} - {*old["required"]} if name in before),
    ]
    return (*sorted(arguments), *(name for name in _TOLD if old.get(name) != new.get(name)))
