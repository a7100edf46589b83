"""The types, choices and limits of a single schema. Imprecise JSON Schema is read as its author meant it."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeGuard

import jsonschema_rs

LONGEST_CHOICE = 100  # characters
LONGEST_PATTERN = 200
EXACT = 2**53  # limits this large come from a number format, not from the value's meaning

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_OTHER_TYPES = {
    **dict.fromkeys(("int", "int32", "int64", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal"), "number"),
    **dict.fromkeys(("file", "text", "date", "date-time", "datetime", "uuid", "enum", "str", "binary"), "string"),
    "bool": "boolean",
    **dict.fromkeys(("dict", "map", "hash"), "object"),
    "list": "array",
}
_STRING_FORMATS = ("date", "date-time", "uuid", "email", "uri", "binary", "byte")
_LENGTHS = {"string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}
_RANGES = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_JSON_TYPES = {str: "string", bool: "boolean", int: "number", float: "number"}
VARIANTS = ("oneOf", "anyOf")


def kinds(schema: Mapping[str, Any]) -> list[str]:
    """The schema's types, inferred if it declares none; empty if any type is allowed."""
    named = [each.lower() for each in _each(schema.get("type")) if isinstance(each, str)]
    known = list(dict.fromkeys(_OTHER_TYPES.get(each, each) for each in named))
    found = [each for each in known if each in _TYPES] or _guessed(schema)
    return [*found, "null"] if found and "null" not in found and schema.get("nullable") is True else found


def _guessed(schema: Mapping[str, Any]) -> list[str]:
    if any(isinstance(schema.get(key), Mapping) for key in ("properties", "additionalProperties")):
        return ["object"]
    if "items" in schema:
        return ["array"]
    if values := choices(schema):
        return list(dict.fromkeys(_JSON_TYPES.get(type(value), "null") for value in values))
    return ["string"] if "pattern" in schema or schema.get("format") in _STRING_FORMATS else []


def type_of(found: Iterable[str]) -> dict[str, Any]:
    """The types as a schema's `type`, null last; empty if any type is allowed."""
    ordered = sorted(dict.fromkeys(found), key=lambda kind: kind == "null")
    return {"type": ordered[0] if len(ordered) == 1 else ordered} if ordered else {}


def choices(schema: Mapping[str, Any]) -> list[Any]:
    """The schema's `const` or `enum` values; empty if there are none, or if one is an object, a list or a long text."""
    if "const" in schema:
        return [schema["const"]] if _is_choice(schema["const"]) and schema["const"] is not None else []
    values = as_list(schema.get("enum"))
    return list({(type(value), value): value for value in values}.values()) if all(map(_is_choice, values)) else []


def is_nullable(schema: Mapping[str, Any]) -> bool:
    return "null" in kinds(schema) or schema.get("nullable") is True or any(map(_is_null, variants(schema)))


def variants(schema: Mapping[str, Any]) -> list[Any]:
    return [each for key in VARIANTS for each in as_list(schema.get(key))]


def limits(schema: Mapping[str, Any], found: Iterable[str]) -> dict[str, Any]:
    """The schema's limits on values of these types."""
    entries: dict[str, Any] = {}
    for kind in found:
        lengths = {key: schema.get(key) for key in _LENGTHS.get(kind, ())}
        entries |= {key: value for key, value in lengths.items() if isinstance(value, int) and 0 < value < EXACT}
        if kind in {"integer", "number"}:
            entries |= _range(schema)
        if kind == "string":
            entries |= _string_limits(schema)
    return entries


def _range(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Numeric limits. OpenAPI 3.0 marks an exclusive limit with a boolean. Limits of EXACT or more are left out, since
    they say nothing about the value."""
    entries = {key: value for key in _RANGES if is_number(value := schema.get(key)) and abs(value) < EXACT}
    for excluded, included in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(excluded) is True and included in entries:
            entries[excluded] = entries.pop(included)
    step = schema.get("multipleOf")
    return {**entries, "multipleOf": step} if is_number(step) and step > 0 and step != 1 else entries


def _string_limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    form, pattern = schema.get("format"), schema.get("pattern")
    entries = {"format": form} if form in ("date", "date-time") else {}
    if isinstance(pattern, str) and 0 < len(pattern) <= LONGEST_PATTERN and _is_linear(pattern):
        entries["pattern"] = pattern
    return entries


@lru_cache(maxsize=4096)
def _is_linear(pattern: str) -> bool:
    """Whether a non-backtracking engine accepts the pattern, so that no text can make it slow."""
    try:
        jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())
    except ValueError:
        return False
    return True


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and _each(schema.get("type")) == ["null"]


def _is_choice(value: Any) -> bool:
    return value is None or (isinstance(value, (str, int, float, bool)) and len(str(value)) <= LONGEST_CHOICE)
