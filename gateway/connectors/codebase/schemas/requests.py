"""The arguments of the codebase tools, as JSON Schemas by argument name.

Source: the tools' data model, with `project` and the structured operations added.
"""

from collections.abc import Mapping
from typing import Any

from context_protection.core.policy import DEFAULTS
from gateway.connectors.codebase.schemas.structured_queries import OPERATION, OPERATIONS

Schema = Mapping[str, Any]

QUERY_TYPES = NATURAL, STRUCTURED = "NaturalLanguage", "StructuredJSON"
RESPONSE_FORMATS = ("Concise", "Detailed", "JSON", "Markdown")
COMMIT_FORMATS = ("Conventional", "Detailed", "Summary")
MAX_CHARACTERS = 1_000_000  # of a query and of a diff; their bytes are counted when they are read
MIN_COST, DEFAULT_COST, MAX_COST = 0.01, 1.0, 10.0  # US dollars
MIN_SECONDS, DEFAULT_SECONDS, MAX_SECONDS = 1, 60, 300
MIN_MESSAGE, DEFAULT_MESSAGE, MAX_MESSAGE = 20, 2_000, 20_000  # characters

_PROJECT = {"type": "string", "maxLength": 100, "description": "Needed if there are several."}
_COST = {
    "type": "number",
    "minimum": MIN_COST,
    "maximum": MAX_COST,
    "default": DEFAULT_COST,
    "description": "US dollars. Past it, a partial result.",
}


def _names(description: str) -> Schema:
    return {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": 1_000},
        "maxItems": 100,
        "description": description,
    }


SCOPE: Schema = {
    "type": "object",
    "properties": {
        "filePatterns": _names("Globs, e.g. *.py"),
        "directories": _names("From the root, e.g. src"),
        "excludePatterns": _names("Globs"),
    },
    "additionalProperties": False,
}

GENERAL_QUERY: Mapping[str, Schema] = {
    "query": {
        "type": ["string", "object"],
        "minLength": 1,
        "maxLength": MAX_CHARACTERS,
        "description": "A question, or a structured query.",
        "$defs": {name: each.schema(DEFAULTS) for name, each in OPERATIONS.items()},
    },
    "queryType": {"type": "string", "enum": list(QUERY_TYPES)},
    "scope": SCOPE,
    "responseFormat": {"type": "string", "enum": list(RESPONSE_FORMATS), "default": "Concise"},
    "context": {"type": "object", "description": "What is known already, e.g. files or an error."},
    "timeout": {"type": "integer", "minimum": MIN_SECONDS, "maximum": MAX_SECONDS, "default": DEFAULT_SECONDS},
    "maxCost": _COST,
    "project": _PROJECT,
}

COMMIT_MESSAGE: Mapping[str, Schema] = {
    "sinceDiff": {
        "type": "string",
        "maxLength": MAX_CHARACTERS,
        "description": "A unified diff.",
    },
    "sinceCommit": {
        "type": "string",
        "minLength": 1,
        "maxLength": 200,
        "description": "Changes after this commit. Without both: the work tree, or else the last commit.",
    },
    "includeImpact": {"type": "boolean", "default": False},
    "format": {"type": "string", "enum": list(COMMIT_FORMATS), "default": "Conventional"},
    "scope": {"type": "string", "minLength": 1, "maxLength": 60},
    "maxLength": {"type": "integer", "minimum": MIN_MESSAGE, "maximum": MAX_MESSAGE, "default": DEFAULT_MESSAGE},
    "maxCost": _COST,
    "project": _PROJECT,
}


# -- As tool lists show them ------------------------------------------------------------------------

_UNSHOWN = frozenset({"$defs", "minLength", "maxLength", "maxItems", "minimum", "maximum", "additionalProperties"})


def _brief(schema: Schema) -> Schema:
    """The schema without the limits that hardly any call exceeds. If a call exceeds a limit, its error states the
    limit."""
    brief = {keyword: value for keyword, value in schema.items() if keyword not in _UNSHOWN}
    if "items" in brief:
        brief["items"] = _brief(brief["items"])
    if "properties" in brief:
        brief["properties"] = {name: _brief(each) for name, each in brief["properties"].items()}
    return brief


def _structured_queries() -> str:
    """ "findSymbol name, grep pattern, …": each operation with its required parameters."""
    needed = {name: [each for each in query.required if each != OPERATION] for name, query in OPERATIONS.items()}
    optional = {name: ["[path]"] if "path" in query.parameters else [] for name, query in OPERATIONS.items()}
    return ", ".join(" ".join([name, *(needed[name] or optional[name])]) for name in OPERATIONS)


GENERAL_QUERY_SHOWN: Mapping[str, Schema] = {
    **{name: _brief(each) for name, each in GENERAL_QUERY.items()},
    "query": {
        "type": ["string", "object"],
        "description": f"A question, or {{operation, …}}: {_structured_queries()}.",
    },
}
COMMIT_MESSAGE_SHOWN: Mapping[str, Schema] = {name: _brief(each) for name, each in COMMIT_MESSAGE.items()}
