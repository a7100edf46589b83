"""Converts the schema of another server's tool to our parameters: small, without references, and certain to compile."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from context_protection.core.budget import dumps, length
from gateway.catalog.definition import RENAMED, RESERVED
from gateway.connectors.mcp_servers.sanitizer import cleaned, hides

Schema = dict[str, Any]
WHOLE = "arguments"  # the only parameter of a tool whose own parameters cannot be offered individually
DEEPEST, LONGEST = 8, 16_000  # levels; characters of all parameters as JSON
DESCRIPTION = 300  # characters
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
# Keywords that only people read, that refer to other schemas, or whose cost the other server would control (patterns).
# The server still validates its arguments itself.
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
_NAMED = frozenset({"properties", "dependentSchemas"})  # their keys are names, not keywords
_COMBINED = frozenset({"anyOf", "oneOf", "allOf", "not", "if", "then", "else", "$ref"})


@dataclass(frozen=True)
class Parameters:
    """JSON Schemas by our names. `upstream`: the server's names, where they differ. `filled`: values to send for
    parameters that the server requires but a call may omit. Such a value is the default, or null where null is valid,
    as transports do not distinguish null from a missing argument. `is_whole`: the only parameter is an object with all
    arguments."""

    schemas: Mapping[str, Schema]
    required: tuple[str, ...] = ()
    upstream: Mapping[str, str] = field(default_factory=dict)
    filled: Mapping[str, Any] = field(default_factory=dict)
    is_whole: bool = False

    def sent(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by the server's names, without those that it does not define."""
        if self.is_whole:
            return dict(arguments.get(WHOLE, {}))
        complete = {**self.filled, **arguments}
        return {self.upstream.get(name, name): complete[name] for name in self.schemas if name in complete}


def parameters(schema: Mapping[str, Any]) -> Parameters:
    """The parameters of a tool's inputSchema. Never raises."""
    try:
        plain = _Copier(schema).copied(schema, 0)
    except _TooLarge:
        return Parameters({WHOLE: {"type": "object"}}, is_whole=True)
    if not _can_be_split(plain):
        return _whole(plain)
    properties = plain.get("properties", {})
    names = {name: f"{RENAMED}{name}" if name in RESERVED else name for name in properties}
    required = [name for name in _listed(plain, "required") if isinstance(name, str) and name in names]
    filled = {name: value for name in required for value in _of_missing(properties[name])}
    split = Parameters(
        {names[name]: each for name, each in properties.items()},
        tuple(names[name] for name in required if name not in filled),
        {ours: name for name, ours in names.items() if ours != name},
        {names[name]: value for name, value in filled.items()},
    )
    return split if len(set(names.values())) == len(names) and _compiles(split) else _whole(plain)


def _can_be_split(schema: Schema) -> bool:
    properties = schema.get("properties", {})
    return (
        schema.get("type") == "object"
        and not _COMBINED & set(schema)
        and isinstance(properties, dict)
        and (properties or schema.get("additionalProperties", False) is False)  # else properties are not declared
        and all(_NAME.fullmatch(name) for name in properties)
    )


def _of_missing(schema: Any) -> tuple[Any, ...]:
    """The value to send for a missing argument, as a tuple; empty if there is none."""
    if isinstance(schema, dict) and "default" in schema:
        return (schema["default"],)
    return (None,) if _takes_null(schema) else ()


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return False
    types, branches = schema.get("type"), [*_listed(schema, "anyOf"), *_listed(schema, "oneOf")]
    return types == "null" or (isinstance(types, list) and "null" in types) or any(map(_takes_null, branches))


def _listed(schema: Schema, name: str) -> list[Any]:
    found = schema.get(name, [])
    return found if isinstance(found, list) else []


def _whole(schema: Schema) -> Parameters:
    """One parameter with the whole schema; if that does not compile, one that accepts any object."""
    schema = {**schema, "type": "object"}
    described = Parameters({WHOLE: schema}, (WHOLE,) if schema.get("required") else (), is_whole=True)
    return described if _compiles(described) else Parameters({WHOLE: {"type": "object"}}, is_whole=True)


def _compiles(parameters: Parameters) -> bool:
    document = {"type": "object", "properties": dict(parameters.schemas)}
    try:
        written = dumps(document)
        if length(written) > LONGEST or hides(written.decode()):
            return False
        jsonschema_rs.validator_for(document)
    except (TypeError, ValueError, jsonschema_rs.ReferencingError):
        return False
    return True


class _TooLarge(Exception):
    """The schema is too large once its references are inlined."""


class _Copier:
    """Copies a schema: inlines local references, drops others, and cleans descriptions."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.nodes = 0

    def copied(self, schema: Any, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > 2000:
            raise _TooLarge
        if not isinstance(schema, (dict, list)):
            return schema
        if depth > 2 * DEEPEST:
            return {}
        if isinstance(schema, list):
            return [self.copied(each, depth + 1) for each in schema]
        if "$ref" in schema:
            beside = {name: each for name, each in schema.items() if name != "$ref"}
            return {**self.copied(self.referred(schema["$ref"]), depth + 2), **self.copied(beside, depth)}
        return {name: self.keyword_value(name, each, depth) for name, each in schema.items() if _is_copied(name, each)}

    def keyword_value(self, name: str, value: Any, depth: int) -> Any:
        if name == "description":
            return cleaned(str(value), DESCRIPTION)
        if name in _NAMED and isinstance(value, dict):
            return {str(key): self.copied(each, depth + 1) for key, each in value.items()}
        if name in ("enum", "const", "default", "required", "type"):
            return value
        return self.copied(value, depth + 1)

    def referred(self, reference: Any) -> Any:
        """The target of a local reference; for any other reference, a schema that accepts anything."""
        place: Any = self.root
        steps = str(reference).removeprefix("#/").split("/") if str(reference).startswith("#/") else ["", ""]
        for step in steps:
            name = step.replace("~1", "/").replace("~0", "~")
            place = place.get(name) if isinstance(place, dict) else None
        return place if isinstance(place, dict) else {}


def _is_copied(name: str, value: Any) -> bool:
    if name in _BOUNDS and isinstance(value, str):  # a bound beyond 64 bits, which no argument reaches
        return False
    return name not in _LEFT_OUT and not (name == "default" and value is None) and not name.startswith("x-")
