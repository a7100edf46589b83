"""The JSON Schema of a configuration file, for editors."""

from typing import Any

from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import ANY, Breadth
from context_protection.layers.file.layer import CALLERS, CHOSEN, CONNECTORS, GLOBAL, OPERATIONS
from context_protection.layers.file.profiles import PROFILES

# Which settings may be set depends on how wide the scope is.
OF_CONNECTOR, OF_PATTERN, OF_OPERATION = "settingsOfConnectors", "settingsOfSeveral", "settingsOfOne"


def file_schema() -> dict[str, Any]:
    """Has the canonical names of settings only, although a file may use other spellings too."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Configuration file of Sluice",
        "type": "object",
        "properties": {
            CHOSEN: {
                "description": "Shipped settings by name. The file's own settings of the same scope win.",
                "type": ["array", "string"],
                "items": {"enum": list(PROFILES)},
            },
            **_scopes(),
            CALLERS: {
                "description": "Settings for single callers, by the names of their API keys.",
                **_named({"type": ["object", "null"], "properties": _scopes(), "additionalProperties": False}),
            },
        },
        "additionalProperties": False,
        "$defs": {
            OF_CONNECTOR: _settings(Breadth.CONNECTOR),
            OF_PATTERN: _settings(Breadth.PATTERN),
            OF_OPERATION: _settings(Breadth.OPERATION),
        },
    }


def _scopes() -> dict[str, Any]:
    return {
        GLOBAL: {"description": "Settings for all operations.", **_reference(OF_CONNECTOR)},
        CONNECTORS: {"description": "Settings for all operations of a connector.", **_named(_reference(OF_CONNECTOR))},
        OPERATIONS: {
            "description": "Settings for an operation, or for those whose names match a pattern: list_*",
            "type": ["object", "null"],
            "patternProperties": {f"\\{ANY}": _reference(OF_PATTERN), f"^[^{ANY}]+$": _reference(OF_OPERATION)},
            "additionalProperties": False,
        },
    }


def _settings(breadth: Breadth) -> dict[str, Any]:
    properties = {
        each.canonical_name: {**each.schema(), "default": each.default}
        for each in SETTINGS.values()
        if not each.misplaced(breadth)
    }
    return {"type": ["object", "null"], "properties": properties, "additionalProperties": False}


def _named(value: dict[str, Any]) -> dict[str, Any]:
    return {"type": ["object", "null"], "additionalProperties": value}


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}
