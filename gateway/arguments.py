"""Arguments: valid by the operation's schema, or an error that says how to make them so."""

import math
import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson

from context_protection.errors import CallError, InvalidArgument, nearest, shown
from context_protection.policy import DEFAULTS
from gateway.operations import Operation

_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
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
    """The arguments as given, with whole numbers as such. Raises InvalidArgument for the first that is wrong."""
    structured = _structured(operation)
    given = {
        name: _parsed(value) if name in structured else value for name, value in arguments.items() if value is not None
    }
    for name, value in given.items():
        _check_storable(name, value)
    error = next(iter(sorted(_validator(operation).iter_errors(given), key=_rank)), None)
    if error is not None:
        raise _explained(operation, given, error)
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value for name, value in given.items()
    }


@lru_cache(maxsize=1024)
def _structured(operation: Operation) -> frozenset[str]:
    """The arguments that are objects or lists."""
    properties = operation.schema(DEFAULTS)["properties"]
    return frozenset(name for name, schema in properties.items() if schema.get("type") in {"object", "array"})


def _parsed(value: Any) -> Any:
    """An object whose JSON some clients send as a text."""
    try:
        return orjson.loads(value) if isinstance(value, str) else value
    except orjson.JSONDecodeError:
        return value


def _check_storable(name: str, value: Any) -> None:
    """Refuses what JSON can spell but no database can compare with, however deep it stands."""
    waiting: list[tuple[Any, int]] = [(name, 0), (value, 0)]
    while waiting:
        part, depth = waiting.pop()
        below = [*part.keys(), *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else []
        waiting += [(each, depth + 1) for each in below]
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
    """What is expected instead; empty when all is well."""
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
    # The range of `limit` is the policy's, which can change; protection checks it.
    limit = schema["properties"].get("limit")
    if limit:
        schema["properties"]["limit"] = {"type": "integer"}
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def _rank(error: Any) -> tuple[bool, list[str]]:
    """Unknown names first: a misspelt argument is the likely cause of a missing one."""
    return (error.kind.name != "additionalProperties", [str(step) for step in error.instance_path])


def _explained(operation: Operation, given: Mapping[str, Any], error: Any) -> CallError:
    kind = error.kind.name
    if kind == "additionalProperties":
        return _unknown_name(operation, given)
    if kind == "required":
        name = str(error.kind.property)
        return InvalidArgument(
            f"{name} is missing.",
            reason="missing_argument",
            parameter=name,
            expected=_expected(_schema_of(operation, name)),
            suggestion=f"Call {operation.name} again with {name}.",
        )
    name = str(error.instance_path[0]) if error.instance_path else "arguments"
    value = given.get(name) if error.instance_path else dict(given)
    schema = _schema_of(operation, name)
    expected = _expected(schema)
    return InvalidArgument(
        f"{name} must be {expected}.",
        reason=f"invalid_{_snake(name)}",
        parameter=name,
        value=value,
        expected=expected,
        suggestion=_suggestion(name, value, schema, required=name in operation.required),
    )


def _unknown_name(operation: Operation, given: Mapping[str, Any]) -> InvalidArgument:
    valid = list(operation.schema(DEFAULTS)["properties"])
    name = next(name for name in given if name not in valid)
    close = nearest(name, valid)
    return InvalidArgument(
        f"{operation.name} has no argument {name[:80]!r}.",
        reason="unknown_argument",
        parameter=name[:80],
        value=given[name],
        expected=f"only: {', '.join(valid)}" if valid else "no arguments",
        suggestion=f"Did you mean {close}?" if close else f"Leave {name[:80]} out.",
    )


def _schema_of(operation: Operation, name: str) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = operation.schema(DEFAULTS)["properties"].get(name, {})
    return schema


def _choices(schema: Mapping[str, Any]) -> list[str]:
    """The values of an enumeration, or of a pattern that stands for one in fewer words: ^-?(id|name)$"""
    if "enum" in schema:
        return [str(value) for value in schema["enum"]]
    match = _CHOICE.fullmatch(schema.get("pattern", ""))
    return [sign + name for name in match[2].split("|") for sign in ("-", "")[not match[1] :]] if match else []


def _expected(schema: Mapping[str, Any]) -> str:
    if choices := _choices(schema):
        return f"one of: {', '.join(choices)}"
    if "anyOf" in schema:
        return " or ".join(_expected(branch) for branch in schema["anyOf"])
    words = _FORMATS.get(schema.get("format", "")) or _KINDS.get(schema.get("type", ""), "a valid value")
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f"{words} from {low} to {high}"
    if low is not None:
        return f"{words} of at least {low}"
    if "maxLength" in schema:
        return f"{words} of at most {schema['maxLength']} characters"
    return words


def _suggestion(name: str, value: Any, schema: Mapping[str, Any], *, required: bool) -> str:
    """A value that would pass, as near to the given one as can be told."""
    if choices := _choices(schema):
        return f"Set {name} to {nearest(str(value), choices, cutoff=0.4) or choices[0]}."
    if (repaired := _repaired(value, schema)) is not None:
        return f"Set {name} to {repaired}."
    if "default" in schema:
        return f"Set {name} to {schema['default']}, or leave it out."
    if required:
        return f"Call again with {name} as {_expected(schema)}."
    if "format" in schema:
        return f"Set {name} to a value such as {_EXAMPLES[schema['format']]}."
    return f"Correct {name}, or leave it out."


def _repaired(value: Any, schema: Mapping[str, Any]) -> str | None:
    """The value as the schema would have it, where that can be told: "10" for a number, 20.11.2026 for a date."""
    kind = schema.get("type")
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
    number = min(max(number, schema.get("minimum", number)), schema.get("maximum", number))
    return str(round(number)) if whole or number.is_integer() else str(number)


def _as_date(text: str) -> str | None:
    """2026/11/20, 20.11.2026, 20261120, 2026-11-20T09:30: where day and month could be taken for each other, none."""
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
