"""The types and choices that the JSON Schema of an argument allows."""

import re
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_CHOICE = re.compile(r"\^(-\?)?\(([\w|]+)\)\$")


def kinds(schema: Schema) -> list[str]:
    """The schema's types, without null."""
    types = schema.get("type", [])
    return [each for each in ([types] if isinstance(types, str) else types) if each != "null"]


def choices(schema: Schema) -> list[Any]:
    """The values of an enumeration, or of a pattern that is a compact enumeration: ^-?(id|name)$"""
    if "enum" in schema:
        return [value for value in schema["enum"] if value is not None]
    match = _CHOICE.fullmatch(schema.get("pattern", ""))
    return [sign + name for name in match[2].split("|") for sign in ("-", "")[not match[1] :]] if match else []


def is_order(schema: Schema) -> bool:
    """Whether the argument names a field to sort by, with a leading - for descending."""
    match = _CHOICE.fullmatch(schema.get("pattern", ""))
    return match is not None and match[1] is not None
