"""Validates arguments against the operation's schema; an error says how to correct them."""

import math
import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson

from context_protection.core import json_limits
from context_protection.core.errors import CallError, InvalidArgument, nearest, shown
from context_protection.core.policy import DEFAULTS
from context_protection.core.redaction import path_kind
from gateway.catalog.operation import Operation

_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_LIMITS = {
    "exclusiveMinimum": "above {}",
    "exclusiveMaximum": "below {}",
    "multipleOf": "that is a multiple of {}",
    "uniqueItems": "without repetitions",
    "pattern": "that matches {}",
}
_STORABLE = re.compile("[^\0\ud800-\udfff]*", re.DOTALL)
_FORMATS = {
    "date": "a date as YYYY-MM-DD",
    "date-time": "a time as YYYY-MM-DDThh:mm:ssZ",
}
_EXAMPLES = {"date": "2026-11-20", "date-time": "2026-11-20T12:00:00Z"}
_CHOICE = re.compile(r"\^(-\?)?\(([\w|]+)\)\$")


DEEPEST = 20


def validated(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The valid arguments, with whole floats as integers. With a cursor, missing arguments come from its snapshot
    (`Walk`). Raises InvalidArgument for the first wrong argument."""
    structured = _structured(operation)
    given = {
        name: _parsed(name, value) if name in structured else value
        for name, value in arguments.items()
        if value is not None
    }
    for name, value in given.items():
        _check_storable(name, value)
    errors = [each for each in _validator(operation).iter_errors(given) if not _comes_from_the_snapshot(each, given)]
    if errors:
        raise _explained(operation, given, min(errors, key=_rank))
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in given.items()
    }


def _comes_from_the_snapshot(error: Any, given: Mapping[str, Any]) -> bool:
    return "cursor" in given and error.kind.name == "required" and not error.instance_path


@lru_cache(maxsize=1024)
def _structured(operation: Operation) -> frozenset[str]:
    """Arguments that are objects or lists and never strings. Where a string is valid, one that looks like JSON may be
    meant as it is."""
    properties = operation.schema(DEFAULTS)["properties"]
    return frozenset(name for name, schema in properties.items() if _is_structure(schema))


def _is_structure(schema: Mapping[str, Any]) -> bool:
    types = _types(schema)
    return "string" not in types and not {"object", "array"}.isdisjoint(types)


def _parsed(name: str, value: Any) -> Any:
    """Parses an object or a list that some clients send as a JSON string."""
    try:
        return json_limits.loads(value, name) if isinstance(value, str) else value
    except ValueError:
        return value


def _check_storable(name: str, value: Any) -> None:
    """Rejects values that JSON allows but databases cannot compare with, at any depth."""
    pending: list[tuple[Any, int]] = [(name, 0), (value, 0)]
    while pending:
        part, depth = pending.pop()
        below = [*part.keys(), *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else []
        pending += [(each, depth + 1) for each in below]
        if expected := _unstorable(part) if depth <= DEEPEST else f"nested at most {DEEPEST} deep":
            raise InvalidArgument(
                f"{shown(name)} must be {expected}.",
                reason="invalid_value",
                parameter=str(shown(name)),
                value=value,
                expected=expected,
                suggestion=f"Correct {shown(name)}, or leave it out.",
            )


def _unstorable(value: Any) -> str:
    """The expected value, in words; empty if the given one is valid."""
    if isinstance(value, str):
        return "" if _STORABLE.fullmatch(value) else "a text without NUL or lone surrogates"
    if isinstance(value, float) and not math.isfinite(value):
        return "a finite number"
    if isinstance(value, (int, float)) and abs(value) >= 2**53:
        return "a number of at most 15 digits"
    return ""


@lru_cache(maxsize=1024)
def _validator(operation: Operation) -> Any:
    schema = operation.schema(DEFAULTS)
    # The range of `limit` comes from the policy, which can change, so protection checks it.
    limit = schema["properties"].get("limit")
    if limit:
        schema["properties"]["limit"] = {"type": "integer"}
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def _rank(error: Any) -> tuple[bool, list[str]]:
    """Sorts unknown names first: a misspelt argument is the likely cause of a missing one."""
    return (error.kind.name != "additionalProperties", [str(step) for step in error.instance_path])


def _explained(operation: Operation, given: Mapping[str, Any], error: Any) -> CallError:
    kind = error.kind.name
    if kind == "additionalProperties":
        return _unknown_name(operation, given)
    steps = [str(step) for step in error.instance_path]
    name, schema = ".".join(steps) or "arguments", _failed(operation, error)
    if kind == "required":
        missing = str(error.kind.property)
        name = ".".join([*steps, missing])
        return InvalidArgument(
            f"{name} is missing.",
            reason="missing_argument",
            parameter=name,
            expected=_expected(schema.get("properties", {}).get(missing, {})),
            suggestion=f"Call {operation.name} again with {name}.",
        )
    expected = _expected(schema)
    return InvalidArgument(
        f"{name} must be {expected}.",
        reason=f"invalid_{_snake(steps[0] if steps else name)}",
        parameter=name,
        value=error.instance if steps else dict(given),
        expected=expected,
        suggestion=_suggestion(name, error.instance, schema, required=name in operation.required),
    )


def _failed(operation: Operation, error: Any) -> Mapping[str, Any]:
    """The schema that the value violates: of an argument, or of something within it."""
    found: Any = operation.schema(DEFAULTS)
    for step in list(error.schema_path)[:-1]:
        found = found[step]
    schema: Mapping[str, Any] = found
    return schema


def _unknown_name(operation: Operation, given: Mapping[str, Any]) -> InvalidArgument:
    known = operation.schema(DEFAULTS)["properties"]
    name = next((name for name in given if name not in known), None)
    if name is None:
        return _unknown_below(operation, given)
    valid = [each for each in known if each not in operation.asks_secrets]
    close = nearest(name, valid)
    return InvalidArgument(
        f"{operation.name} has no argument {name[:80]!r}.",
        reason="unknown_argument",
        parameter=name[:80],
        value=given[name],
        expected=f"only: {', '.join(valid)}" if valid else "no arguments",
        suggestion=f"Did you mean {close}?" if close else f"Leave {name[:80]} out.",
    )


def _unknown_below(operation: Operation, given: Mapping[str, Any]) -> InvalidArgument:
    """The error for an unknown name in a nested object."""
    error = next(
        error for error in _validator(operation).iter_errors(given) if error.kind.name == "additionalProperties"
    )
    where = ".".join(str(step) for step in error.instance_path)
    unexpected = [str(each)[:80] for each in error.kind.unexpected]
    return InvalidArgument(
        f"{where} has no {', '.join(unexpected[:3])}.",
        reason="unknown_argument",
        parameter=where,
        value=unexpected[0] if unexpected else None,
        expected="only names that its schema has",
        suggestion=f"Leave {unexpected[0] if unexpected else 'it'} out.",
    )


def _choices(schema: Mapping[str, Any]) -> list[str]:
    """The values of an enumeration, or of a pattern that is a compact enumeration: ^-?(id|name)$"""
    if "enum" in schema:
        return [str(value) for value in schema["enum"]]
    match = _CHOICE.fullmatch(schema.get("pattern", ""))
    return [sign + name for name in match[2].split("|") for sign in ("-", "")[not match[1] :]] if match else []


def _types(schema: Mapping[str, Any]) -> list[str]:
    """The schema's types, without null."""
    types = schema.get("type", [])
    return [each for each in ([types] if isinstance(types, str) else types) if each != "null"]


def _expected(schema: Mapping[str, Any]) -> str:
    if choices := _choices(schema):
        return f"one of: {', '.join(choices)}"
    if "anyOf" in schema:
        return " or ".join(_expected(branch) for branch in schema["anyOf"])
    kinds = [_KINDS[each] for each in _types(schema) if each in _KINDS]
    words = _FORMATS.get(schema.get("format", "")) or " or ".join(kinds) or "a valid value"
    limits = [
        _range(schema.get("minimum"), schema.get("maximum"), ""),
        _range(schema.get("minLength"), schema.get("maxLength"), "character"),
        _range(schema.get("minItems"), schema.get("maxItems"), "element"),
        *(
            phrase.format(schema[key])
            for key, phrase in _LIMITS.items()
            if schema.get(key) is not None and schema[key] is not False
        ),
    ]
    return " ".join([words, *filter(None, limits)])


def _range(low: Any, high: Any, unit: str) -> str:
    """ "from 1 to 50", "of at least 3 characters"; empty if neither bound is set."""
    if low is not None and high is not None:
        return f"of {low} to {high} {unit}s" if unit else f"from {low} to {high}"
    if low is None and high is None:
        return ""
    bound = low if high is None else high
    counted = f" {unit}{'s' * (bound != 1)}" if unit else ""
    return f"of at {'least' if high is None else 'most'} {bound}{counted}"


def _suggestion(name: str, value: Any, schema: Mapping[str, Any], *, required: bool) -> str:
    """Suggests a valid value, as near to the given one as possible."""
    if choices := _choices(schema):
        return f"Set {name} to {nearest(str(value), choices, cutoff=0.4) or choices[0]}."
    if path_kind(name):
        return f"Correct {name}." if required else f"Correct {name}, or leave it out."
    if (repaired := _repaired(value, schema)) is not None:
        return f"Set {name} to {repaired}."
    if "default" in schema:
        default = schema["default"]
        shown_default = default if isinstance(default, str) else orjson.dumps(default).decode()
        return f"Set {name} to {shown_default}, or leave it out."
    if required:
        return f"Call again with {name} as {_expected(schema)}."
    if schema.get("format") in _EXAMPLES:
        return f"Set {name} to a value such as {_EXAMPLES[schema['format']]}."
    return f"Correct {name}, or leave it out."


def _repaired(value: Any, schema: Mapping[str, Any]) -> str | None:
    """The value converted to what the schema expects, if that is clear: "10" for a number, 20.11.2026 for a date."""
    kind = next(iter(_types(schema)), None)
    if schema.get("format") == "date" and isinstance(value, str):
        return _as_date(value)
    if kind == "boolean" and str(value).lower() in {"true", "yes", "1", "false", "no", "0"}:
        return "true" if str(value).lower() in {"true", "yes", "1"} else "false"
    if kind in {"integer", "number"} and not isinstance(value, bool):
        return _as_number(value, schema, whole=kind == "integer")
    return None


def _as_number(value: Any, schema: Mapping[str, Any], *, whole: bool) -> str | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not math.isfinite(number):
        return None
    if "exclusiveMinimum" in schema or "exclusiveMaximum" in schema or "multipleOf" in schema:
        return None
    number = min(max(number, schema.get("minimum", number)), schema.get("maximum", number))
    return str(round(number)) if whole or number.is_integer() else str(number)


def _as_date(text: str) -> str | None:
    """Reads 2026/11/20, 20.11.2026, 20261120, 2026-11-20T09:30. None where day and month cannot be told apart."""
    numbers = [int(part) for part in re.findall(r"\d+", text[:10] if len(text) > 10 else text)]
    if len(numbers) == 1 and len(text.strip()) == 8:
        numbers = [numbers[0] // 10000, numbers[0] // 100 % 100, numbers[0] % 100]
    if len(numbers) == 3 and numbers[2] > 31:
        first, second, year = numbers
        numbers = [year, second, first] if first > 12 or "." in text else [year, first, second]
        if first <= 12 and second <= 12 and first != second and "." not in text:
            return None
    try:
        return date(*numbers).isoformat()
    except (TypeError, ValueError):
        return None


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
