"""Makes a sample record from a JSON Schema, so that a shape can be proposed before a real record is seen.

Reads OpenAPI 3.0 and 3.1 leniently: `allOf`, `oneOf` and `anyOf` are one object with the properties of all; a reference
that leads nowhere is an empty value; a circular reference ends.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count, islice
from typing import Any

from context_protection.core.cached_property import cached_property

# How many properties of an object are read, by the number of levels that may follow: 1,000 at the top of the record.
_MOST_PROPERTIES = (0, 5, 40, 1000)
MOST_SCHEMAS = 200  # schemas that are merged into one
ELEMENTS = 10  # elements of a sample list
TEXT_CHARS, LONGEST_TEXT = 20, 2000
FILLED = 4  # a sample text has a quarter of its maxLength
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
class Specimen:
    """A sample record for `schema`, which describes one record. Local references are resolved by their last step in the
    schema's own `definitions`, `$defs` or `components.schemas`."""

    schema: Mapping[str, Any]

    @cached_property
    def record(self) -> dict[str, Any]:
        """The sample record. Values differ where the schema allows it, so that none are equal by coincidence. Empty if
        the schema describes no object."""
        value = self._value(self.schema, len(_MOST_PROPERTIES) - 1, count(1))
        return value if isinstance(value, dict) else {}

    @cached_property
    def required(self) -> frozenset[str]:
        """The top-level names that every record has."""
        lists = (schema.get("required") for schema in self._merged(self.schema))
        return frozenset(name for names in lists if isinstance(names, list) for name in names if isinstance(name, str))

    @cached_property
    def enumerations(self) -> frozenset[str]:
        """The top-level names whose values the schema enumerates."""
        properties = self._properties(self.schema, _MOST_PROPERTIES[-1])
        return frozenset(name for name, schema in properties.items() if _enumerated(self._merged(schema)))

    def _value(self, schema: Any, depth: int, numbers: Iterator[int]) -> Any:
        merged = list(self._merged(schema))
        types = _types(merged)
        properties = self._properties(schema, _MOST_PROPERTIES[depth])
        if properties or "object" in types:
            return {name: self._value(each, depth - 1, numbers) for name, each in properties.items()}
        if "array" in types:
            items = next((each["items"] for each in merged if "items" in each), None)
            return [self._value(items, depth - 1, numbers) if depth else None] * ELEMENTS
        known = [value for values in _enumerated(merged) for value in values if value is not None]
        return known[0] if known else _scalar(merged, types, next(numbers))

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
        while waiting and len(seen) < MOST_SCHEMAS:
            each = waiting.pop(0)
            if not isinstance(each, Mapping) or id(each) in seen:
                continue
            seen.add(id(each))
            yield each
            if isinstance(reference := each.get("$ref"), str):
                waiting.append(self._definitions.get(reference.rpartition("/")[2]))
            for parts in map(each.get, _MERGED):
                waiting += parts[:MOST_SCHEMAS] if isinstance(parts, list) else []

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


def _scalar(schemas: list[Mapping[str, Any]], types: set[str], number: int) -> Any:
    """A sample value. `number`: the count of sample values so far, which makes it unique."""
    if "boolean" in types:
        return True
    if "integer" in types:
        return number
    if "number" in types:
        return number + 0.5
    if "string" not in types:
        return None
    form = next((each["format"] for each in schemas if isinstance(each.get("format"), str)), "")
    return _FORMATS[form](number) if form in _FORMATS else f"text {number}".ljust(_text_chars(schemas), "x")


def _text_chars(schemas: list[Mapping[str, Any]]) -> int:
    most = next((each["maxLength"] for each in schemas if isinstance(each.get("maxLength"), int)), None)
    return TEXT_CHARS if most is None else min(most // FILLED, LONGEST_TEXT)
