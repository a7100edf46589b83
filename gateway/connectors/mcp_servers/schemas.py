"""The schema of a stranger's tool, as arguments of ours: small, plain, without references, and one that compiles."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from context_protection.core.budget import dumps, length
from gateway.connectors.mcp_servers.sanitizer import cleaned, hides

Schema = dict[str, Any]
TAKEN = frozenset({"limit", "cursor", "pages", "fields", "format", "where", "aggregate", "startLine", "endLine"})
PREFIX = "api_"
WHOLE = "arguments"  # the one parameter of a tool whose own cannot be taken apart
DEEPEST, LONGEST = 8, 16_000  # levels; characters of all parameters as JSON
DESCRIPTION = 300  # characters
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
# What only people read, what costs us time that the stranger sets (patterns), and what points elsewhere. The server
# checks for itself what it means.
_LEFT_OUT = frozenset({"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "examples", "title"}) | {
    "pattern",
    "patternProperties",
    "propertyNames",
    "format",
    "$dynamicRef",
    "$dynamicAnchor",
    "$vocabulary",
    "contentSchema",
}
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_NAMED = frozenset({"properties", "dependentSchemas"})  # their keys are names, not words of the schema
_COMBINED = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref"})


@dataclass(frozen=True)
class Parameters:
    """JSON Schemas by our names. `upstream`: the names that the server has for those that are called otherwise.
    `nulls`: those that the server wants to have said, if only as null, which no door tells from one that is left out.
    `is_whole`: there is but one, the object of all arguments."""

    schemas: Mapping[str, Schema]
    required: tuple[str, ...] = ()
    upstream: Mapping[str, str] = field(default_factory=dict)
    nulls: frozenset[str] = frozenset()
    is_whole: bool = False

    def sent(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the server wants them; what it does not know is not sent."""
        if self.is_whole:
            return dict(arguments.get(WHOLE, {}))
        said = {**dict.fromkeys(self.nulls), **arguments}
        return {self.upstream.get(name, name): said[name] for name in self.schemas if name in said}


def parameters(schema: Mapping[str, Any]) -> Parameters:
    """Those of a tool's inputSchema. Never raises."""
    try:
        plain = _Plain(schema).of(schema, 0)
    except _TooMuch:
        return Parameters({WHOLE: {"type": "object"}}, is_whole=True)
    if not _can_be_taken_apart(plain):
        return _whole(plain)
    properties = plain.get("properties", {})
    names = {name: f"{PREFIX}{name}" if name in TAKEN else name for name in properties}
    required = [name for name in plain.get("required", []) if name in names]
    apart = Parameters(
        {names[name]: each for name, each in properties.items()},
        tuple(names[name] for name in required if not _takes_null(properties[name])),
        {ours: name for name, ours in names.items() if ours != name},
        frozenset(names[name] for name in required if _takes_null(properties[name])),
    )
    return apart if len(set(names.values())) == len(names) and _compiles(apart) else _whole(plain)


def _can_be_taken_apart(schema: Schema) -> bool:
    properties = schema.get("properties", {})
    return (
        schema.get("type") == "object"
        and not _COMBINED & set(schema)
        and isinstance(properties, dict)
        and (properties or schema.get("additionalProperties", False) is False)  # it takes any, and names none
        and all(_NAME.fullmatch(name) for name in properties)
    )


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    types, branches = schema.get("type"), [*_listed(schema, "anyOf"), *_listed(schema, "oneOf")]
    return types == "null" or (isinstance(types, list) and "null" in types) or any(map(_takes_null, branches))


def _listed(schema: Schema, name: str) -> list[Any]:
    found = schema.get(name, [])
    return found if isinstance(found, list) else []


def _whole(schema: Schema) -> Parameters:
    """The schema itself as that of one argument; if it is no schema, any object."""
    schema = {**schema, "type": "object"}
    described = Parameters({WHOLE: schema}, (WHOLE,) if schema.get("required") else (), is_whole=True)
    return described if _compiles(described) else Parameters({WHOLE: {"type": "object"}}, is_whole=True)


def _compiles(parameters: Parameters) -> bool:
    document = {"type": "object", "properties": dict(parameters.schemas)}
    written = dumps(document)
    if length(written) > LONGEST or hides(written.decode()):
        return False
    try:
        jsonschema_rs.validator_for(document)
    except (ValueError, jsonschema_rs.ReferencingError):
        return False
    return True


class _TooMuch(Exception):
    """The schema is no tree of a bearable size."""


class _Plain:
    """Copies a schema: local references written out, others dropped, words cleaned."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.nodes = 0

    def of(self, schema: Any, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > 2000:
            raise _TooMuch
        if isinstance(schema, list):
            return [self.of(each, depth + 1) for each in schema]
        if not isinstance(schema, dict):
            return schema
        if depth > 2 * DEEPEST:
            return {}
        if "$ref" in schema:
            beside = {name: each for name, each in schema.items() if name != "$ref"}
            return {**self.of(self.referred(schema["$ref"]), depth + 2), **self.of(beside, depth)}
        return {name: self.word(name, each, depth) for name, each in schema.items() if _is_kept(name, each)}

    def word(self, name: str, value: Any, depth: int) -> Any:
        if name == "description":
            return cleaned(str(value), DESCRIPTION)
        if name in _NAMED and isinstance(value, dict):
            return {str(key): self.of(each, depth + 1) for key, each in value.items()}
        if name in ("enum", "const", "default", "required", "type"):
            return value
        return self.of(value, depth + 1)

    def referred(self, reference: Any) -> Any:
        """What a local reference points at; anything, for any other."""
        place: Any = self.root
        steps = str(reference).removeprefix("#/").split("/") if str(reference).startswith("#/") else ["", ""]
        for step in steps:
            name = step.replace("~1", "/").replace("~0", "~")
            place = place.get(name) if isinstance(place, dict) else None
        return place if isinstance(place, dict) else {}


def _is_kept(name: str, value: Any) -> bool:
    if name in _BOUNDS and isinstance(value, str):  # a number beyond 64 bits, which nobody's argument reaches
        return False
    return name not in _LEFT_OUT and not (name == "default" and value is None) and not name.startswith("x-")
