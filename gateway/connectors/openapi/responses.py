"""The successful response of an operation: its schema, and where the rows are in it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.policy import Kind
from gateway.connectors.openapi import conventions
from gateway.connectors.openapi.kinds import as_mapping, kinds, variants
from gateway.connectors.openapi.references import References
from gateway.connectors.openapi.schemas import Lean, Leaning
from gateway.connectors.openapi.tool_names import singular, words

SHOWN_LEVELS, SHOWN_NODES = 3, 300
MOST_PROPERTIES = 300  # of an object that are examined
_JSON = re.compile(r"application/(?:[\w.-]+\+)?json|text/json|\*/\*")
_PLAIN_TEXT = frozenset({"text/plain", "text/markdown", "text/x-markdown"})


@dataclass(frozen=True)
class Answer:
    """The documented response: its media types, the schema of its JSON, and its headers in lower case."""

    references: References
    leaning: Leaning
    media_types: tuple[str, ...]
    schema: Any
    headers: frozenset[str]

    @classmethod
    def of(cls, references: References, leaning: Leaning, responses: Any) -> "Answer":
        node = _successful(references, responses)
        content = as_mapping(node.get("content"))
        json_type = next((each for each in content if _JSON.fullmatch(_plain(each))), None)
        schema = references.resolved(content[json_type]).get("schema") if json_type else None
        headers = frozenset(str(name).lower() for name in as_mapping(node.get("headers")))
        return cls(references, leaning, tuple(map(_plain, content)), schema, headers)

    @cached_property
    def whole(self) -> Mapping[str, Any]:
        return self.references.merged(self.schema).schema

    @property
    def is_plain_text(self) -> bool:
        return bool(self.media_types) and all(each in _PLAIN_TEXT for each in self.media_types)

    @property
    def is_untold(self) -> bool:
        """Whether the document leaves open if it is a list or a record."""
        may_be_json = not self.media_types or any(map(_JSON.fullmatch, self.media_types))
        tells = self.properties() or "additionalProperties" in self.whole or variants(self.whole)
        return may_be_json and not tells and set(kinds(self.whole)) <= {"object"}

    def properties(self, path: str = "") -> dict[str, Any]:
        """The properties of the object at `path`, including those of its variants."""
        schema = self.schema
        for step in filter(None, path.split(".")):
            schema = self.properties_of(schema).get(step)
        return self.properties_of(schema)

    def properties_of(self, schema: Any) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            return {}
        found, _ = self.leaning.properties(schema)
        return {str(name): each for name, each in list(found.items())[:MOST_PROPERTIES]}

    def rows(self, path: str) -> str | None:
        """The path of its rows; None if it is not a list. `path`: the operation's."""
        if "array" in kinds(self.whole) and "object" not in kinds(self.whole):
            return ""
        own = self.properties()
        if (found := self._rows_among(own, path)) is not None:
            return found
        for name, schema in own.items():
            below = self.properties_of(schema) if name in conventions.AROUND_ROWS else {}
            if (found := self._rows_among(below, path)) is not None:
                return f"{name}.{found}"
        return None

    def _rows_among(self, properties: Mapping[str, Any], path: str) -> str | None:
        arrays = [name for name, schema in properties.items() if "array" in kinds(self._whole(schema))]
        ends_with_id = path.rstrip("/").endswith("}")
        beside = [name for name in properties if name not in arrays and not set(words(name)) <= conventions.BESIDE_ROWS]
        is_envelope = "id" not in properties and not (ends_with_id and beside)
        if not is_envelope:
            return None
        named = [name for name in arrays if _singular(name) == _last_noun(path)]
        conventional = [name for name in conventions.ROWS if name in arrays]
        of_objects = [name for name in arrays if self._holds_objects(properties[name])]
        telling = [name for name in arrays if not set(words(name)) <= conventions.BESIDE_ROWS]
        for candidates in (named, conventional):
            if candidates and len(beside) <= 6:
                return candidates[0]
        for candidates in (of_objects, telling):
            if len(candidates) == 1 and not beside:
                return candidates[0]
        return None

    def _holds_objects(self, schema: Any) -> bool:
        return bool(self.properties_of(self._whole(schema).get("items")))

    def _whole(self, schema: Any) -> Mapping[str, Any]:
        return self.references.merged(schema).schema

    def row_schema(self, rows: str) -> Any:
        """The documented schema of one row."""
        schema = self.schema
        for step in filter(None, rows.split(".")):
            schema = self.properties_of(schema).get(step)
        return self._whole(schema).get("items")

    def kind(self, rows: str | None, *, is_safe: bool) -> Kind:
        if not is_safe:
            return Kind.ACTION
        if rows is not None:
            return Kind.LIST
        return Kind.TEXT if self.is_plain_text else Kind.RECORD


def shown(leaning: Leaning, schema: Any) -> Lean | None:
    """The response schema that rows and previews are proposed from: without references, and small."""
    if not isinstance(schema, Mapping) or not schema:
        return None
    depths = range(SHOWN_LEVELS, 1, -1)
    return leaning.lean(schema, next((depth for depth in depths if leaning.size(schema, depth) <= SHOWN_NODES), 1))


def _successful(references: References, responses: Any) -> Mapping[str, Any]:
    """The first 2xx response that has content, or else the first one; `default` if there is no 2xx response."""
    every = {str(code).upper(): node for code, node in as_mapping(responses).items()}
    good = [references.resolved(every[code]) for code in sorted(every) if code.startswith("2")]
    if not good and "DEFAULT" in every:
        good = [references.resolved(every["DEFAULT"])]
    return next((node for node in good if node.get("content")), next(iter(good), {}))


def _plain(media_type: Any) -> str:
    return str(media_type).partition(";")[0].strip().lower()


def _last_noun(path: str) -> list[str]:
    """The words, in the singular, of the path's last segment that is not a placeholder. In "conversations.list", the
    noun is before the dot."""
    segments: Iterator[str] = (each for each in reversed(path.partition("?")[0].split("/")) if each and "{" not in each)
    found = _singular(next(segments, ""))
    return found[:-1] if found[-1:] in (["list"], ["all"], ["json"], ["search"]) and len(found) > 1 else found


def _singular(name: str) -> list[str]:
    return [singular(word) for word in words(name)]
