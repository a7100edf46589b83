"""Writes a configuration file. Equal values give equal bytes, and reading the text gives the same values."""

import json
from typing import Any

import yaml

from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import Breadth, BudgetScope, Scoped
from context_protection.layers.file.documents import JSON
from context_protection.layers.file.layer import CALLERS, CONNECTORS, GLOBAL, OPERATIONS

PARTS = {Breadth.CONNECTOR: CONNECTORS, Breadth.PATTERN: OPERATIONS, Breadth.OPERATION: OPERATIONS}


def written(values: Scoped, ending: str) -> str:
    """The text of a file whose name has this ending."""
    document = document_of(values)
    if ending in JSON:
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)


def document_of(values: Scoped) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for scope in sorted(values, key=lambda each: each.rank):
        named = values[scope]
        settings = {
            each.canonical_name: _plain(named[name]) for name, each in SETTINGS.items() if named.get(name) is not None
        }
        if settings:
            _place(document, scope)[_name(scope)] = settings
    return document


def _place(document: dict[str, Any], scope: BudgetScope) -> dict[str, Any]:
    """The object that holds the settings of the scope."""
    above = document.setdefault(CALLERS, {}).setdefault(scope.caller, {}) if scope.caller else document
    part = PARTS.get(scope.breadth)
    return above.setdefault(part, {}) if part else above


def _name(scope: BudgetScope) -> str:
    return scope.connector or scope.operation or GLOBAL


def _plain(value: Any) -> Any:
    """An Enum as its text."""
    return str(value) if isinstance(value, str) else value
