"""Describes in words what a JSON Schema expects: "a whole number from 1 to 50"."""

from typing import Any

from gateway.catalog.schemas import Schema, choices, kinds

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
_FORMATS = {
    "date": "a date as YYYY-MM-DD",
    "date-time": "a time as YYYY-MM-DDThh:mm:ssZ",
}


def expected(schema: Schema) -> str:
    if allowed := choices(schema):
        return f"one of: {', '.join(map(str, allowed))}"
    if "anyOf" in schema:
        return " or ".join(expected(branch) for branch in schema["anyOf"])
    types = [_KINDS[each] for each in kinds(schema) if each in _KINDS]
    words = _FORMATS.get(schema.get("format", "")) or " or ".join(types) or "a valid value"
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
