"""Resolves the references of a document, and merges a schema with everything that it refers to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

LONGEST_CHAIN = 30  # consecutive references
MAX_MERGED = 200  # schemas that are merged into one
_NOT_INHERITED = frozenset({"$ref", "allOf", "properties", "required"})


@dataclass(frozen=True, slots=True)
class Merged:
    """A schema merged with its references and its `allOf`. `pointers` are the references that were followed. Nested
    schemas (properties, items, branches) are unchanged."""

    schema: Mapping[str, Any]
    pointers: frozenset[str]


class References:
    """The references of one document. Only those within it are followed: nothing is fetched. `broken`: those without a
    target."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.broken: set[str] = set()
        self._found: dict[str, Any] = {}
        self._merged: dict[int, tuple[Any, Merged]] = {}  # by id(); holds the schema too, so that its id is not reused

    def take_broken(self) -> list[str]:
        """The broken references since the last call."""
        taken, self.broken = sorted(self.broken), set()
        return taken

    def resolved(self, node: Any) -> Mapping[str, Any]:
        """The target of `node`'s reference, merged with the reference's siblings; only these if there is no target."""
        beside: dict[str, Any] = {}
        for _ in range(LONGEST_CHAIN):
            if not isinstance(node, Mapping):
                return beside
            pointer = node.get("$ref")
            beside = {**{key: value for key, value in node.items() if key != "$ref"}, **beside}
            if not isinstance(pointer, str):
                return beside
            node = self.find(pointer)
        return beside

    def find(self, pointer: str) -> Any:
        """The target of a local reference (`#/components/schemas/Pet`); None if there is none."""
        if pointer not in self._found:
            self._found[pointer] = self._looked_up(pointer)
        found = self._found[pointer]
        if found is None:
            self.broken.add(pointer)
        return found

    def _looked_up(self, pointer: str) -> Any:
        if not pointer.startswith("#/"):
            return None
        node: Any = self.document
        for step in pointer[2:].split("/"):
            node = _below(node, step)
            if node is None:
                return None
        return node

    def merged(self, schema: Any) -> Merged:
        """The merged schema; an empty one for anything but an object, such as `true`."""
        if not isinstance(schema, dict):
            return _EMPTY
        known = self._merged.get(id(schema))
        if known is None:
            known = self._merged[id(schema)] = (schema, self._merge(schema))
        return known[1]

    def _merge(self, schema: Mapping[str, Any]) -> Merged:
        if "$ref" not in schema and "allOf" not in schema:
            return Merged(schema, frozenset())
        result: dict[str, Any] = {}
        properties: dict[str, Any] = {}
        required: dict[str, None] = {}
        pointers: set[str] = set()
        waiting: list[Any] = [schema]
        seen: set[int] = set()
        while waiting and len(seen) < MAX_MERGED:
            each = waiting.pop(0)
            if not isinstance(each, Mapping) or id(each) in seen:
                continue
            seen.add(id(each))
            # In order of precedence: the reference's siblings, then its target, then the target's `allOf`.
            for key, value in each.items():
                if key not in _NOT_INHERITED:
                    result.setdefault(key, value)
            if isinstance(own := each.get("properties"), Mapping):
                properties = {**own, **properties}
            if isinstance(names := each.get("required"), list):
                required.update(dict.fromkeys(name for name in names if isinstance(name, str)))
            parts = each.get("allOf")
            waiting[:0] = parts if isinstance(parts, list) else []
            if isinstance(pointer := each.get("$ref"), str):
                pointers.add(pointer)
                waiting.insert(0, self.find(pointer))
        if properties:
            result["properties"] = properties
        if required:
            result["required"] = list(required)
        return Merged(result, frozenset(pointers))


_EMPTY = Merged({}, frozenset())


def _below(node: Any, step: str) -> Any:
    if isinstance(node, list):
        return node[int(step)] if step.isdecimal() and int(step) < len(node) else None
    if not isinstance(node, Mapping):
        return None
    plain = step.replace("~1", "/").replace("~0", "~")
    return node[plain] if plain in node else node.get(unquote(plain))
