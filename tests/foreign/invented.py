"""Invented values for the schemas of any OpenAPI document. Each string and number is unique, so that it can be traced
from the upstream's answer to what a client has read."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST = 7
LONG_TEXT_WORDS = 400
_TRACES = re.compile(rb"q[0-9a-f]{9}q|\b77\d{10}\b|[0-9a-f]{8}-7777-4777-8777-[0-9a-f]{12}")
# Schemas whose values cannot be unique.
_UNTRACED_FORMATS = frozenset({"date", "date-time", "time", "byte", "binary", "ipv4", "ipv6", "float", "double"})


def traces(body: bytes) -> set[bytes]:
    """The unique values in a body."""
    return set(_TRACES.findall(body))


class Inventor:
    """Makes values by the schemas of one document (a JSON object, whose references are local)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self._numbers: Iterator[int] = itertools.count(1)

    def schema(self, schema: Any) -> dict[str, Any]:
        """The schema with its reference followed, and the first of alternatives and all parts merged."""
        for _ in range(20):
            if not isinstance(schema, dict):
                return {}
            if "$ref" in schema:
                schema = self.resolved(schema["$ref"])
            elif schema.get("oneOf") or schema.get("anyOf"):
                chosen = (schema.get("oneOf") or schema["anyOf"])[0]
                rest = {name: each for name, each in schema.items() if name not in ("oneOf", "anyOf")}
                schema = {"allOf": [rest, chosen]} if rest.get("properties") else chosen
            else:
                break
        return self._merged(schema) if "allOf" in schema else schema

    def resolved(self, reference: str) -> Any:
        target: Any = self.document
        for step in reference.removeprefix("#/").split("/"):
            name = step.replace("~1", "/").replace("~0", "~").replace("%7B", "{").replace("%7D", "}")
            target = target.get(name, {}) if isinstance(target, dict) else {}
        return target

    def _merged(self, schema: dict[str, Any]) -> dict[str, Any]:
        merged: dict[str, Any] = {name: each for name, each in schema.items() if name != "allOf"}
        properties = dict(schema.get("properties") or {})
        for part in map(self.schema, schema["allOf"]):
            properties.update(part.get("properties") or {})
            merged = {**part, **merged}
        return {**merged, "properties": properties} if properties else merged

    def value(self, schema: Any, depth: int = 0, items: int = 3, is_large: bool = False) -> Any:
        """A value of the schema. `is_large`: its first long text is some thousand characters long."""
        schema = self.schema(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][next(self._numbers) % len(schema["enum"])]
        kind = schema.get("type")
        kind = next((each for each in kind if each != "null"), "string") if isinstance(kind, list) else kind
        if kind == "object" or schema.get("properties"):
            return self._object(schema, depth, items, is_large)
        if kind == "array":
            count = 0 if depth > DEEPEST else items
            return [self.value(schema.get("items"), depth + 1, 2) for _ in range(count)]
        return self._plain(kind, schema, is_large)

    def _object(self, schema: Mapping[str, Any], depth: int, items: int, is_large: bool) -> dict[str, Any]:
        if depth > DEEPEST:
            return {}
        properties = schema.get("properties") or {}
        made = {name: self.value(each, depth + 1, items, is_large) for name, each in properties.items()}
        if not properties and isinstance(schema.get("additionalProperties"), dict):
            made = {f"key{n}": self.value(schema["additionalProperties"], depth + 1) for n in range(3)}
        return made

    def _plain(self, kind: Any, schema: Mapping[str, Any], is_large: bool) -> Any:
        number = next(self._numbers)
        if kind == "boolean":
            return bool(number % 2)
        if kind == "integer" or (kind == "number" and schema.get("format") not in _UNTRACED_FORMATS):
            return 770_000_000_000 + number
        if kind == "number":
            return number / 4
        return self._text(str(schema.get("format") or ""), number, is_large)

    def _text(self, form: str, number: int, is_large: bool) -> str:
        word = f"q{number:09x}q"
        match form:
            case "date":
                return f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}"
            case "date-time":
                return f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T10:{number % 60:02}:00Z"
            case "uuid":
                return f"{number:08x}-7777-4777-8777-{number:012x}"
            case "uri" | "url":
                return f"https://example.com/{word}"
            case "email":
                return f"{word}@example.com"
            case "":
                words = LONG_TEXT_WORDS if is_large else 1 + number % 4
                return " ".join([word, *(f"q{next(self._numbers):09x}q" for _ in range(words - 1))])
            case _:
                return word
