"""Makes a sample record from a JSON Schema, so that a shape can be proposed before a real record is seen.

Reads OpenAPI 3.0 and 3.1 leniently: `allOf`, `oneOf` and `anyOf` are one object with the properties of all; a reference
that cannot be resolved is an empty value; a circular reference is cut off.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count, islice
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.name_words import word_set, words

# The most properties that are read from an object, indexed by how many levels may follow below it.
_MAX_PROPERTIES = (0, 5, 40, 1000)
MAX_SCHEMAS = 200  # schemas that are merged into one
ELEMENTS = 10  # elements of a sample list
TEXT_CHARS, LONGEST_TEXT = 20, 2000
LENGTH_DIVISOR = 4  # a sample text is a quarter of its maxLength long
STORAGE_CHARS = 1000  # a larger maxLength says nothing about the text's length, except for names in _TEXTS
_TEXTS = word_set("body content description text html markdown notes message comment")
_MOMENTS = word_set("at date datetime timestamp created updated modified")
_MONEY = word_set("amount price total subtotal value")
_FIRST_SECOND = 1_790_000_000
_MERGED = ("allOf", "oneOf", "anyOf")
_DEFINITIONS = ("definitions", "$defs")
_FIRST_DAY = date(2026, 1, 1)
_FORMATS: Mapping[str, Callable[[int], str]] = {
    "date": lambda number: f"{_FIRST_DAY + timedelta(number)}",
    "date-time": lambda number: f"{_FIRST_DAY + timedelta(number)}T12:00:00Z",
    "uuid": lambda number: f"{number:08d}-0000-4000-8000-000000000000",
    "email": lambda number: f"name{number}@example.com",
    "uri": lambda number: f"https://example.com/{number}",
}


@dataclass(frozen=True)
class SchemaSample:
    """A sample record for `schema`, which describes one record. Local references are resolved by their last step in the
    schema's own `definitions`, `$defs` or `components.schemas`."""

    schema: Mapping[str, Any]

    @cached_property
    def record(self) -> dict[str, Any]:
        """The sample record. Scalar values are numbered, so that two fields are not equal by coincidence, except for
        booleans and enumerations. The elements of a list are equal. Empty if the schema describes no object."""
        value = self._value(self.schema, len(_MAX_PROPERTIES) - 1, count(1))
        return value if isinstance(value, dict) else {}

    @cached_property
    def required(self) -> frozenset[str]:
        """The required names of the record and, as dotted paths, of the objects directly in it."""
        below = self._properties(self.schema, _MAX_PROPERTIES[-1]).items()
        nested = (f"{name}.{each}" for name, schema in below for each in self._required(schema))
        return frozenset((*self._required(self.schema), *nested))

    def _required(self, schema: Any) -> list[str]:
        lists = (each.get("required") for each in self._merged(schema))
        return [name for names in lists if isinstance(names, list) for name in names if isinstance(name, str)]

    @cached_property
    def enumerations(self) -> frozenset[str]:
        """The top-level names whose values the schema enumerates."""
        properties = self._properties(self.schema, _MAX_PROPERTIES[-1])
        return frozenset(name for name, schema in properties.items() if _enumerated(self._merged(schema)))

    def _value(self, schema: Any, depth: int, numbers: Iterator[int], name: str = "") -> Any:
        merged = list(self._merged(schema))
        types = _types(merged)
        properties = self._properties(schema, _MAX_PROPERTIES[depth])
        if properties or "object" in types:
            return {name: self._value(each, depth - 1, numbers, name) for name, each in properties.items()}
        if "array" in types:
            items = next((each["items"] for each in merged if "items" in each), None)
            return [self._value(items, depth - 1, numbers, name) if depth else None] * ELEMENTS
        known = [value for values in _enumerated(merged) for value in values if value is not None]
        return known[0] if known else _scalar(merged, types, next(numbers), name)

    def _properties(self, schema: Any, most: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for each in self._merged(schema):
            properties = each.get("properties")
            if isinstance(properties, Mapping):
                named = ((name, below) for name, below in properties.items() if isinstance(name, str))
                found = {**dict(islice(named, most)), **found}
        return dict(islice(found.items(), most))

    def _merged(self, schema: Any) -> Iterator[Mapping[str, Any]]:
        """The schema and all schemas that it refers to or combines, each once."""
        waiting, seen = [schema], set[int]()
        while waiting and len(seen) < MAX_SCHEMAS:
            each = waiting.pop(0)
            if not isinstance(each, Mapping) or id(each) in seen:
                continue
            seen.add(id(each))
            yield each
            if isinstance(reference := each.get("$ref"), str):
                waiting.append(self._definitions.get(reference.rpartition("/")[2]))
            for parts in map(each.get, _MERGED):
                waiting += parts[:MAX_SCHEMAS] if isinstance(parts, list) else []

    @cached_property
    def _definitions(self) -> dict[str, Any]:
        components = self.schema.get("components")
        places = [self.schema.get(key) for key in _DEFINITIONS]
        places += [components.get("schemas")] if isinstance(components, Mapping) else []
        return {name: each for place in places if isinstance(place, Mapping) for name, each in place.items()}


def _types(schemas: list[Mapping[str, Any]]) -> set[str]:
    """The types of the schemas; OpenAPI 3.1 allows lists such as ["string", "null"]."""
    kinds = (schema.get("type") for schema in schemas)
    return {str(each) for kind in kinds for each in (kind if isinstance(kind, list) else [kind])}


def _enumerated(schemas: Iterator[Mapping[str, Any]] | list[Mapping[str, Any]]) -> list[list[Any]]:
    return [values for schema in schemas if isinstance(values := schema.get("enum"), list)]


def _scalar(schemas: list[Mapping[str, Any]], types: set[str], number: int, name: str) -> Any:
    """A sample value of the field `name`. `number`: the count of sample values so far, which makes the value unique."""
    last = words(name)[-1:]
    if "boolean" in types:
        return True
    if "integer" in types:
        return number + _FIRST_SECOND * (not _MOMENTS.isdisjoint(last))
    if "number" in types:
        return number + 0.5
    if "string" not in types:
        return None
    form = next((each["format"] for each in schemas if isinstance(each.get("format"), str)), "")
    if form not in _FORMATS and not _MOMENTS.isdisjoint(last):
        form = "date-time"
    if not _MONEY.isdisjoint(last) and any(_is_of_digits(each.get("pattern")) for each in schemas):
        return f"{number}.50"
    is_text = not _TEXTS.isdisjoint(last)
    return _FORMATS[form](number) if form in _FORMATS else f"text {number}".ljust(_text_chars(schemas, is_text), "x")


def _is_of_digits(pattern: Any) -> bool:
    return isinstance(pattern, str) and ("0-9" in pattern or "\\d" in pattern)


def _text_chars(schemas: list[Mapping[str, Any]], is_text: bool) -> int:
    most = next((each["maxLength"] for each in schemas if isinstance(each.get("maxLength"), int)), None)
    tells = most is not None and (is_text or most <= STORAGE_CHARS)
    return min(most // LENGTH_DIVISOR, LONGEST_TEXT) if most is not None and tells else TEXT_CHARS
