"""Validates arguments against the operation's schema. Arguments whose meaning is clear are converted first, unless the
operation is strict. Errors say how to correct an argument."""

import math
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs

from context_protection.core import json_limits
from context_protection.core.errors import InvalidArgument, shown
from context_protection.core.policy import DEFAULTS
from context_protection.core.query import conditions
from gateway.catalog import corrections
from gateway.catalog.corrections import NAME_CHARS, Correction
from gateway.catalog.definition import ToolDefinition
from gateway.catalog.expectations import expected
from gateway.catalog.normalization import normalized
from gateway.catalog.schemas import Schema, kinds

_STORABLE = re.compile("[^\0\ud800-\udfff]*", re.DOTALL)
DEEPEST = 20
EXACT = 2**53  # many clients round whole numbers from here on
LONG = 2**63
_DIGITS = "a number of at most 15 digits"
_LONG_NUMBER = 'Send a longer number as a text: {"id":"12345678901234567890"}.'


def validated(operation: ToolDefinition, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The valid arguments, with whole floats as integers. With a cursor, missing arguments come from its snapshot.
    Raises InvalidArgument for the first wrong argument."""
    structured = frozenset() if operation.is_strict else _structured(operation)
    given = {
        name: _parsed(name, value) if name in structured else value
        for name, value in arguments.items()
        if value is not None or name in operation.takes_null
    }
    _check_storable(operation, given, EXACT)
    if _errors(operation, given):
        given = _as_meant(operation, given)
        _check_storable(operation, given, LONG if operation.takes_long_integers else EXACT)
        if errors := _errors(operation, given):
            raise _explained(operation, given, min(errors, key=_rank))
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in given.items()
    }


def _as_meant(operation: ToolDefinition, given: Mapping[str, Any]) -> dict[str, Any]:
    return dict(given) if operation.is_strict else normalized(operation, given)


def _errors(operation: ToolDefinition, given: Mapping[str, Any]) -> list[Any]:
    found = _validator(operation).iter_errors(given)
    return [each for each in found if not _comes_from_the_snapshot(each, given)]


def _comes_from_the_snapshot(error: Any, given: Mapping[str, Any]) -> bool:
    return "cursor" in given and error.kind.name == "required" and not error.instance_path


@lru_cache(maxsize=1024)
def _structured(operation: ToolDefinition) -> frozenset[str]:
    """Arguments that are objects or lists and never strings. If a string is also valid, one that looks like JSON may be
    meant literally."""
    properties = operation.schema(DEFAULTS)["properties"]
    return frozenset(name for name, schema in properties.items() if _is_structure(schema))


def _is_structure(schema: Schema) -> bool:
    types = kinds(schema)
    return "string" not in types and not {"object", "array"}.isdisjoint(types)


def _parsed(name: str, value: Any) -> Any:
    """Parses an object or a list that some clients send as a JSON string."""
    try:
        return json_limits.loads(value, name) if isinstance(value, str) else value
    except ValueError:
        return value


def _check_storable(operation: ToolDefinition, given: Mapping[str, Any], end: int) -> None:
    """`end`: whole numbers from here on are rejected."""
    for name, value in given.items():
        if wanted := _unstorable_part(name, value, end):
            raise _not_storable(operation, name, value, wanted)


def _unstorable_part(name: str, value: Any, end: int) -> str:
    """Describes what is expected in place of a value, at any depth, that is valid JSON but that a database cannot
    compare; empty if there is none."""
    pending: list[tuple[Any, int]] = [(name, 0), (value, 0)]
    while pending:
        part, depth = pending.pop()
        below = [*part.keys(), *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else []
        pending += [(each, depth + 1) for each in below]
        if wanted := _unstorable(part, end) if depth <= DEEPEST else f"nested at most {DEEPEST} deep":
            return wanted
    return ""


def _not_storable(operation: ToolDefinition, name: str, value: Any, wanted: str) -> InvalidArgument:
    as_text = wanted == _DIGITS and _may_be_text(operation, name, value)
    return InvalidArgument(
        f"{shown(name)} must be {wanted}.",
        reason="invalid_value",
        parameter=str(shown(name)),
        value=value,
        expected=wanted,
        suggestion=_LONG_NUMBER if as_text else f"Correct {shown(name)}, or leave it out.",
    )


def _may_be_text(operation: ToolDefinition, name: str, value: Any) -> bool:
    """Whether the number with too many digits, in this argument, can be given as a text instead."""
    if operation.takes_long_integers and name in operation.parameters:
        is_too_long = isinstance(value, int) and abs(value) >= LONG
        return not isinstance(value, (str, float)) and not is_too_long
    return name == conditions.PARAMETER


def _unstorable(value: Any, end: int = EXACT) -> str:
    """Describes the expected value; empty if the given one is valid."""
    if isinstance(value, str):
        return "" if _STORABLE.fullmatch(value) else "a text without NUL or lone surrogates"
    if isinstance(value, float) and not math.isfinite(value):
        return "a finite number"
    if isinstance(value, (int, float)) and abs(value) >= (end if isinstance(value, int) else EXACT):
        return _DIGITS
    return ""


@lru_cache(maxsize=1024)
def _validator(operation: ToolDefinition) -> Any:
    schema = operation.schema(DEFAULTS)
    # The range of `limit` comes from the policy, which can change, so protection checks it.
    if "limit" in schema["properties"] and "limit" in operation.form_names:
        schema["properties"]["limit"] = {"type": "integer"}
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def _rank(error: Any) -> tuple[bool, list[str]]:
    """Sorts unknown names first: a misspelt argument is the likely cause of a missing one."""
    return (error.kind.name != "additionalProperties", [str(step) for step in error.instance_path])


# -- Errors -----------------------------------------------------------------------------------------


def _explained(operation: ToolDefinition, given: Mapping[str, Any], error: Any) -> InvalidArgument:
    match error.kind.name:
        case "additionalProperties":
            return _unknown_name(operation, given, error)
        case "required":
            return _missing(operation, given, error)
        case _:
            return _wrong_value(operation, given, error)


def _missing(operation: ToolDefinition, given: Mapping[str, Any], error: Any) -> InvalidArgument:
    path = [*error.instance_path, str(error.kind.property)]
    schema = _failed(operation, error).get("properties", {}).get(path[-1], {})
    name = ".".join(map(str, path))
    return InvalidArgument(
        f"{name} is missing.",
        reason="missing_argument",
        parameter=name,
        expected=expected(schema),
        suggestion=_working(operation, given, corrections.of_missing(operation, given, path, schema)),
    )


def _wrong_value(operation: ToolDefinition, given: Mapping[str, Any], error: Any) -> InvalidArgument:
    path, schema = list(error.instance_path), _failed(operation, error)
    name = ".".join(map(str, path)) or "arguments"
    if wanted := _storable_number(error.instance, schema):
        return _not_storable(operation, name, error.instance, wanted)
    return InvalidArgument(
        f"{name} must be {expected(schema)}.",
        reason=f"invalid_{_snake(str(path[0]) if path else name)}",
        parameter=name,
        value=error.instance if path else dict(given),
        expected=expected(schema),
        suggestion=_working(operation, given, corrections.of_value(operation, given, path, error.instance, schema)),
    )


def _storable_number(value: Any, schema: Schema) -> str:
    """Describes the expected number, if the value is a number as a text and cannot be stored; else empty. Such a text,
    for example of a URL, is not converted, as its digits would change."""
    types = set(kinds(schema))
    if not isinstance(value, str) or not types or types - {"integer", "number"}:
        return ""
    try:
        return _unstorable(float(value))
    except ValueError:
        return ""


def _unknown_name(operation: ToolDefinition, given: Mapping[str, Any], error: Any) -> InvalidArgument:
    parents, unknown = list(error.instance_path), [str(each) for each in error.kind.unexpected]
    properties = _failed(operation, error).get("properties", {})
    valid = [each for each in properties if parents or each not in operation.asks_secrets]
    holder: Any = given
    for step in parents:
        holder = holder[step]
    name = next(each for each in holder if each in unknown)
    path = [*parents, name]
    where = ".".join(str(step)[:NAME_CHARS] for step in path)
    return InvalidArgument(
        f"{operation.name} has no argument {where!r}.",
        reason="unknown_argument",
        parameter=where,
        value=holder[name],
        expected=f"only: {', '.join(valid)}" if valid else "no arguments",
        suggestion=_solving(operation, given, corrections.of_unknown(operation, given, path, valid)),
    )


def _failed(operation: ToolDefinition, error: Any) -> Schema:
    """The schema that the value violates: the argument's, or that of a nested value."""
    found: Any = operation.schema(DEFAULTS)
    for step in list(error.schema_path)[:-1]:
        found = found[step]
    schema: Schema = found
    return schema


def _solving(operation: ToolDefinition, given: Mapping[str, Any], candidates: Iterable[Correction]) -> str:
    """The first suggestion that leaves no mistake; else the first whose effect is not known yet; else as _working."""
    tried = list(candidates)
    solved = (each for each in tried if each.arguments is not None and not _mistakes(operation, each.arguments))
    unknown = (each for each in tried if each.arguments is None)
    best = next(solved, None) or next(unknown, None)
    return best.text if best else _working(operation, given, tried)


def _working(operation: ToolDefinition, given: Mapping[str, Any], candidates: Iterable[Correction]) -> str:
    """The first suggestion that leaves fewer mistakes than before, or whose effect is not known yet; else the last."""
    mistakes = _mistakes(operation, given)
    tried = list(candidates)
    works = (each for each in tried if each.arguments is None or _mistakes(operation, each.arguments) < mistakes)
    return next(works, tried[-1]).text


def _mistakes(operation: ToolDefinition, given: Mapping[str, Any]) -> int:
    errors = _errors(operation, _as_meant(operation, given))
    return sum(len(getattr(each.kind, "unexpected", None) or "1") for each in errors)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
