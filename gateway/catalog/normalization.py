"""Converts arguments to the form of their schema where it is clear what is meant: "5" for a number, CONFIRMED for
confirmed, booking_id for id, "totalPrice desc" for -totalPrice.

Everything else stays as it is, and validation rejects it. Valid arguments are never changed.
"""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from types import MappingProxyType
from typing import Any

from context_protection.core.names import fold_name
from context_protection.core.policy import DEFAULTS
from gateway.catalog.definition import ToolDefinition
from gateway.catalog.schemas import Schema, choices, is_order, kinds

# Other names of arguments, without case, - and _. A name stands for the first of its arguments that the operation has.
_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("perpage", "pagesize", "maxresults", "count", "size", "top", "take"), ("limit",)),
    **dict.fromkeys(("nextcursor", "pagetoken", "nextpagetoken"), ("cursor",)),
    **dict.fromkeys(("select", "columns", "field"), ("fields",)),
    **dict.fromkeys(("filter", "filters", "conditions"), ("where",)),
    **dict.fromkeys(("aggregation", "aggregations"), ("aggregate",)),
    **dict.fromkeys(("sort", "sortby", "orderby", "ordering"), ("order",)),
    **dict.fromkeys(("resulthandle", "result"), ("handle",)),
    **dict.fromkeys(
        ("query", "q", "search", "term", "keyword", "keywords", "phrase"),
        ("query", "text", "sql", "search_string", "search"),
    ),
    **dict.fromkeys(("statement",), ("sql",)),
    **dict.fromkeys(("pattern",), ("regex",)),
    **dict.fromkeys(("fromline", "linestart"), ("startLine",)),
    **dict.fromkeys(("toline", "lineend"), ("endLine",)),
}
_DIRECTION_NAMES = {"direction", "dir", "sortorder", "sortdirection", "sortdir", "orderdirection", "orderdir"}
_DIRECTIONS = {"asc": "", "ascending": "", "desc": "-", "descending": "-"}
_ORDER = re.compile(r"\s*([+-]?)\s*([\w.]+?)(?:[\s:,./|]+(asc|ascending|desc|descending))?\s*", re.IGNORECASE)
_TRUE, _FALSE = {"true", "yes", "1", "on"}, {"false", "no", "0", "off"}
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII | re.IGNORECASE)


def normalized(definition: ToolDefinition, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the names and values that the operation's schema has."""
    properties = definition.schema(DEFAULTS)["properties"]
    named = _named(definition, _directed(given, properties), properties)
    return {
        name: _argument(value, properties[name], name, definition) if name in properties else value
        for name, value in named.items()
    }


def _argument(value: Any, schema: Schema, name: str, definition: ToolDefinition) -> Any:
    if is_order(schema):
        return _order(value, schema, definition.order_names)
    return as_schema(value, schema, name)


# -- Names ------------------------------------------------------------------------------------------


def given_names(definition: ToolDefinition, given: Mapping[str, Any]) -> dict[str, str]:
    """Real name of a renamed argument → the name that the caller used: {"order": "order_by"}. Null arguments are
    ignored."""
    present = {name: value for name, value in given.items() if value is not None}
    renamed = _renamed(definition, present, definition.schema(DEFAULTS)["properties"])
    return {target: name for name, target in renamed.items()}


def _named(definition: ToolDefinition, given: Mapping[str, Any], properties: Mapping[str, Schema]) -> dict[str, Any]:
    renamed = _renamed(definition, given, properties)
    return {renamed.get(name, name): value for name, value in given.items()}


def _renamed(definition: ToolDefinition, given: Mapping[str, Any], properties: Mapping[str, Schema]) -> dict[str, str]:
    """The argument that each unknown name stands for, if one is clear."""
    renamed: dict[str, str] = {}
    for name in given:
        if name not in properties:
            taken = {*given, *renamed.values()} - renamed.keys()
            target = _meant(fold_name(name), definition, {each for each in properties if each not in taken})
            if target is not None:
                renamed[name] = target
    return renamed


def _meant(wanted: str, definition: ToolDefinition, free: set[str]) -> str | None:
    """The argument that the name `wanted` stands for, among those that are not given."""
    same = [each for each in free if fold_name(each) == wanted]
    if same:
        return same[0] if len(same) == 1 else None
    also = (*definition.aliases.get(wanted, ()), *_SYNONYMS.get(wanted, ()))
    return next((each for each in also if each in free), None) or _identifier(wanted, definition, free)


def _identifier(wanted: str, definition: ToolDefinition, free: set[str]) -> str | None:
    """The missing identifier: `booking_id` or `booking` for `id` of get_booking, `id` or `lpn` for `lpn_id`."""
    missing = [each for each in definition.required if each in free]
    if len(missing) != 1 or not fold_name(missing[0]).endswith("id"):
        return None
    noun = fold_name(missing[0]).removesuffix("id")
    own = {noun} if noun else set(definition.name.lower().split("_"))
    return missing[0] if wanted == "id" or wanted.removesuffix("id") in own else None


# -- Orders -----------------------------------------------------------------------------------------


def _directed(given: Mapping[str, Any], properties: Mapping[str, Schema]) -> Mapping[str, Any]:
    """Merges a direction that is an argument of its own into the order: sort=totalPrice&order=desc is -totalPrice."""
    order = next((name for name, schema in properties.items() if is_order(schema)), None)
    if order is None:
        return given
    unknown = [name for name in given if name not in properties]
    is_direction = _direction(given.get(order)) is not None
    named = order if is_direction else next((name for name in unknown if fold_name(name) in _DIRECTION_NAMES), None)
    sign = _direction(given[named]) if named is not None else None
    if sign is None:
        return given
    by = order if order in given and not is_direction else _sort_argument(unknown)
    field = given[by] if by else properties[order].get("default", "")
    if not isinstance(field, str) or (by and field.startswith("-") and not sign):
        return given
    rest = {name: value for name, value in given.items() if name not in (named, by)}
    return {**rest, order: sign + field.lstrip("+-")}


def _sort_argument(unknown: Iterable[str]) -> str | None:
    """The unknown argument that names the field to sort by."""
    return next((name for name in unknown if _SYNONYMS.get(fold_name(name)) == ("order",)), None)


def _direction(value: Any) -> str | None:
    return _DIRECTIONS.get(value.strip().lower()) if isinstance(value, str) else None


def _order(value: Any, schema: Schema, names: Mapping[str, str] = MappingProxyType({})) -> Any:
    """`names`: other names of the fields to sort by."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    match = _ORDER.fullmatch(value) if isinstance(value, str) else None
    if match is None or (match[1] and match[3]):
        return value
    sign = match[1].replace("+", "") if match[1] else _DIRECTIONS[(match[3] or "asc").lower()]
    return _same(sign + names.get(fold_name(match[2]), match[2]), choices(schema), value)


# -- Values -----------------------------------------------------------------------------------------


def as_schema(value: Any, schema: Schema, name: str = "") -> Any:
    """The value converted to the schema's type; unchanged if it has that type, or if its meaning is not clear."""
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return _of_branches(value, branches, name)
    types = kinds(schema)
    if isinstance(value, list) and len(value) == 1 and types and "array" not in types:
        value = value[0]
    if is_order(schema):
        return _order(value, schema)
    if allowed := choices(schema):
        return _same(value, allowed, value)
    for kind in sorted(types, key=lambda kind: not _is(value, kind)):  # the type that the value already has first
        converted = _as_kind(value, kind, schema, name)
        if _is(converted, kind):
            return converted
    return value


def _of_branches(value: Any, branches: list[Schema], name: str) -> Any:
    if any(_is(value, kind) for branch in branches for kind in kinds(branch)):
        return value
    converted = (as_schema(value, branch, name) for branch in branches)
    return next((each for each in converted if each is not value), value)


def _is(value: Any, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case _:
            return isinstance(value, dict)


def _as_kind(value: Any, kind: str, schema: Schema, name: str) -> Any:
    match kind:
        case "integer" | "number":
            return number(value, whole=kind == "integer")
        case "boolean":
            return boolean(value)
        case "string":
            return _text(value, schema, name)
        case "array":
            return _list(value, schema.get("items") or {})
        case "object" if isinstance(value, dict):
            return _object(value, schema)
        case _:
            return value


def number(value: Any, *, whole: bool = False) -> Any:
    """The number that a text contains; any other value unchanged."""
    if not isinstance(value, str) or len(value) > 40 or not _NUMBER.fullmatch(value.strip()):
        return value
    if _INTEGER.fullmatch(value.strip()):
        return int(value)
    found = float(value)
    if not math.isfinite(found) or abs(found) >= 2**53 or (whole and not found.is_integer()):
        return value
    return int(found) if found.is_integer() else found


def boolean(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    written = str(value).strip().lower()
    return True if written in _TRUE else False if written in _FALSE else value


def _text(value: Any, schema: Schema, name: str) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, list) and _takes_commas(schema, name) and all(isinstance(each, (str, int)) for each in value):
        return ",".join(map(str, value))
    if not isinstance(value, str):
        return value
    match schema.get("format"):
        case "date":
            return day(value)
        case "date-time":
            return _moment(value)
        case _:
            return value


def _takes_commas(schema: Schema, name: str) -> bool:
    return name == "fields" or "comma" in schema.get("description", "").lower()


def _list(value: Any, items: Schema) -> Any:
    """Converts a list's elements. Makes a list from a text's parts between commas, or from one other value, if the
    elements then have the right type; else returns the value unchanged."""
    if isinstance(value, str):
        elements: list[Any] = [part.strip() for part in value.split(",") if part.strip()]
    else:
        elements = value if isinstance(value, list) else [value]
    converted = [as_schema(each, items) for each in elements]
    types = kinds(items)
    is_right = all(not types or any(_is(each, kind) for kind in types) for each in converted)
    return converted if is_right or isinstance(value, list) else value


def _object(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    return {
        name: as_schema(each, properties[name], name) if isinstance(properties.get(name), dict) else each
        for name, each in value.items()
    }


def _same(value: Any, allowed: list[Any], otherwise: Any) -> Any:
    """The one choice that equals the value if case, - and _ and the type are ignored; else `otherwise`. A value that is
    neither a text nor a number stays unchanged."""
    if value in allowed or not isinstance(value, (str, int, float)):
        return value
    signs = value.startswith("-") if isinstance(value, str) else False
    same = [
        each for each in allowed if fold_name(str(each)) == fold_name(str(value)) and str(each).startswith("-") == signs
    ]
    return same[0] if len(same) == 1 else otherwise


# -- Dates ------------------------------------------------------------------------------------------


def day(text: str) -> str:
    """Converts a timestamp, or a date in another form, to YYYY-MM-DD. An ambiguous or invalid date stays unchanged."""
    try:
        return datetime.fromisoformat(text.strip()).date().isoformat()
    except ValueError:
        return _numeric_day(text.strip()) or text


def _numeric_day(text: str) -> str | None:
    """Reads 2026/11/20 and 20.11.2026. None if the text has another form, or the date is ambiguous or invalid."""
    match = re.fullmatch(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})", text, re.ASCII)
    if match is None:
        return None
    first, middle, last = int(match[1]), int(match[3]), int(match[4])
    if len(match[1]) == 4:
        numbers = (first, middle, last)
    elif len(match[4]) == 4 and (match[2] == "." or first > 12 or first == middle):
        numbers = (last, middle, first)
    elif len(match[4]) == 4 and middle > 12:
        numbers = (last, first, middle)
    else:
        return None
    try:
        return date(*numbers).isoformat()
    except ValueError:
        return None


def _moment(text: str) -> str:
    """Converts a timestamp to JSON Schema's date-time: with T, seconds and a time zone, by default UTC."""
    if _DATE_TIME.fullmatch(text):
        return text
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return text
    return found.isoformat() if found.tzinfo else f"{found.isoformat()}Z"
