"""Lean JSON Schemas for tool lists: without references, no deeper than is useful, and valid.

A model reads hundreds of these. Parts that do not help to write a value (examples, titles, number formats,
documentation links) are left out. Unsatisfiable and invalid parts are loosened.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson

from gateway.connectors.openapi.document import kinds
from gateway.connectors.openapi.document.kinds import as_list, as_mapping, choices, type_of, variants
from gateway.connectors.openapi.document.references import References
from gateway.connectors.openapi.document.wording import first_sentence

DEEPEST = 4  # levels of objects and lists within an argument
MAX_BRANCHES = 3
MAX_VARIED = 2  # nested variants; levels do not count them, so mutual references would multiply without end
MAX_CHOICES = 60
SHOWN_CHOICES = 20
DESCRIPTION_CHARS = 120
LONGEST_DEFAULT = 100  # characters of its JSON

Lean = dict[str, Any]
_NESTED = frozenset({"properties", "items", "additionalProperties", "anyOf"})
_Above = frozenset[str]  # the references that enclose a schema
_Key = tuple[int, int, int]  # a schema's id(), its depth, and the number of variants that enclose it


class Leaning:
    """Makes the schemas of one document lean. `sent`: for arguments, without read-only properties and with
    descriptions; otherwise for responses, without write-only properties."""

    def __init__(self, references: References, *, sent: bool) -> None:
        self._references, self._sent = references, sent
        self._sizes: dict[_Key, int] = {}
        self._known: dict[_Key, tuple[Any, Lean]] = {}  # holds the source too, so that its id is not reused

    def lean(self, schema: Any, depth: int) -> Lean:
        """The lean schema, with at most `depth` levels of objects and lists."""
        return self._lean(schema, depth, frozenset())

    def properties(self, schema: Any) -> tuple[dict[str, Any], list[str]]:
        """The documented properties of an object, including those of its variants, and the names of those that are
        always required."""
        return self._object(schema, set(), 0)

    def size(self, schema: Any, depth: int, varied: int = 0) -> int:
        """An upper bound for the number of schemas in the lean one. Recursive references count, although they will be
        cut."""
        merged = self._references.merged(schema).schema
        key = (id(merged), depth, varied)
        if key not in self._sizes:
            self._sizes[key] = 1 + sum(self.size(*part) for part in self._parts(merged, depth, varied))
        return self._sizes[key]

    def _parts(self, schema: Mapping[str, Any], depth: int, varied: int) -> list[tuple[Any, int, int]]:
        """The nested schemas, each with its maximum depth and the number of variants that enclose it."""
        found = kinds.kinds(schema)
        branches = [] if "object" in found else self._branches(schema)
        if branches:
            return [(each, depth, varied + 1) for each in branches] if _are_shown(branches, varied) else []
        below = [*self.properties(schema)[0].values()] if "object" in found else []
        below += [each for key in ("items", "additionalProperties") if isinstance(each := schema.get(key), Mapping)]
        return [(each, depth - 1, 0) for each in below] if depth > 0 else []

    def _lean(self, schema: Any, depth: int, above: _Above, varied: int = 0) -> Lean:
        merged = self._references.merged(schema)
        if above & merged.pointers:
            return type_of(self._kinds(merged.schema))
        key = (id(merged.schema), depth, varied)
        # A schema without nested ones does not depend on where it occurs, so it is cached. For responses all are
        # cached, since the depth limit alone ends a recursion.
        known = self._known.get(key)
        lean = known[1] if known else self._whole(merged.schema, depth, above | merged.pointers, varied)
        if not self._sent or not _NESTED.intersection(lean):
            self._known[key] = (merged.schema, lean)
        return lean

    def _whole(self, schema: Mapping[str, Any], depth: int, above: _Above, varied: int) -> Lean:
        found = kinds.kinds(schema)
        branches = [] if "object" in found else self._branches(schema)
        if branches:
            lean = self._of_branches(schema, branches, depth, above, varied)
        else:
            lean = self._typed(schema, found, depth, above)
        return _described(lean, schema) if self._sent else _brief(lean)

    def _typed(self, schema: Mapping[str, Any], found: list[str], depth: int, above: _Above) -> Lean:
        lean = type_of(found)
        if values := choices(schema):
            return _enumeration(lean, [*values, None] if "null" in found and None not in values else values)
        lean |= kinds.limits(schema, found)
        if "array" in found and isinstance(items := schema.get("items"), Mapping):
            lean["items"] = self._lean(items, depth - 1, above) if depth > 0 else type_of(self._kinds(items))
        return lean | self._object_part(schema, depth, above) if "object" in found else lean

    def _object_part(self, schema: Mapping[str, Any], depth: int, above: _Above) -> Lean:
        properties, required = self.properties(schema)
        if depth <= 0:
            return {}
        extra = schema.get("additionalProperties")
        if not properties:
            has_extra = isinstance(extra, Mapping) and bool(extra)
            return {"additionalProperties": self._lean(extra, depth - 1, above)} if has_extra else {}
        below = {name: self._lean(each, depth - 1, above) for name, each in properties.items()}
        return {"properties": below, **({"required": required} if required else {})}

    def _object(self, schema: Any, seen: set[int], level: int) -> tuple[dict[str, Any], list[str]]:
        whole = self._references.merged(schema).schema
        properties = {name: each for name, each in as_mapping(whole.get("properties")).items() if self._has(each)}
        required = [name for name in as_list(whole.get("required")) if name in properties]
        for key in kinds.VARIANTS if level < DEEPEST else ():
            new = [each for each in as_list(whole.get(key)) if id(each) not in seen]
            seen.update(map(id, new))
            below = [self._object(each, seen, level + 1) for each in new]
            for each, _ in below:
                properties = {**each, **properties}
            always = set.intersection(*(set(names) for _, names in below)) if below else set()
            required += sorted(always.difference(required))
        return properties, required

    def _has(self, schema: Any) -> bool:
        """Whether a property is sent or returned at all. A schema can be a boolean: `false` allows nothing."""
        never = "readOnly" if self._sent else "writeOnly"
        return schema is not False and not (isinstance(schema, dict) and schema.get(never) is True)

    # -- Variants -----------------------------------------------------------------------------------

    def _branches(self, schema: Mapping[str, Any]) -> list[Any]:
        """The variants that declare a type other than null. Others only say which properties go together."""
        return [each for each in variants(schema) if self._kinds(each) not in ([], ["null"])]

    def _kinds(self, schema: Any, level: int = 0) -> list[str]:
        """The schema's types, or else those of its variants."""
        whole = self._references.merged(schema).schema
        found = kinds.kinds(whole)
        if found or level >= DEEPEST:
            return found
        below = [kind for each in variants(whole)[: MAX_BRANCHES * 4] for kind in self._kinds(each, level + 1)]
        return list(dict.fromkeys(below))

    def _of_branches(
        self, schema: Mapping[str, Any], branches: list[Any], depth: int, above: _Above, varied: int
    ) -> Lean:
        wholes = [self._references.merged(each).schema for each in branches]
        null = ["null"] if any(map(kinds.is_nullable, (schema, *wholes))) else []
        counted = [choices(each) for each in wholes]
        if all(counted):
            values = list(dict.fromkeys(value for each in counted for value in each if value is not None))
            return _enumeration({}, [*values, *([None] if null else [])])
        if not _are_shown(branches, varied):
            return type_of([*(kind for each in branches for kind in self._kinds(each)), *null])
        lean: list[Lean] = []
        for each in branches:
            made = self._lean(each, depth, above, varied + 1)
            lean += [] if made in lean else [made]
        if len(lean) > 1:
            return {"anyOf": [*lean, {"type": "null"}] if null else lean}
        return _with_null(lean[0]) if null else lean[0]


def _are_shown(branches: list[Any], varied: int) -> bool:
    """Whether the variants are shown; otherwise only their types are."""
    return len(branches) <= MAX_BRANCHES and varied < MAX_VARIED


def _enumeration(lean: Lean, values: list[Any]) -> Lean:
    """An enumeration. A declared type that the values do not match is dropped."""
    counted = {**lean, "enum": values}
    if lean and is_valid({"items": lean}, values):
        return counted
    texts = all(isinstance(value, str) for value in values)
    return {"type": "string", "enum": values} if texts else {"enum": values}


def _with_null(lean: Lean) -> Lean:
    kind = lean.get("type")
    if kind is None or "null" in kind:
        return lean
    nullable = {**lean, **type_of([*([kind] if isinstance(kind, str) else kind), "null"])}
    return {**nullable, "enum": [*lean["enum"], None]} if "enum" in lean else nullable


def _described(lean: Lean, schema: Mapping[str, Any]) -> Lean:
    """The schema with its description, and with its default if that is valid."""
    own = first_sentence(schema.get("description"), DESCRIPTION_CHARS) or lean.get("description", "")
    sentences = ["Deprecated."] if schema.get("deprecated") is True else []
    sentences += [own] if own else []
    lean = dict(lean)
    values = lean.get("enum", [])
    if len(values) > MAX_CHOICES:
        del lean["enum"]
        sentences.append(f"{len(values)} values: {', '.join(map(written, values[:SHOWN_CHOICES]))}, …")
    if sentences:
        lean["description"] = " ".join(sentences)
    default = schema.get("default")
    if default is not None and len(written(default)) <= LONGEST_DEFAULT and is_valid(lean, default):
        lean["default"] = default
    return lean


def _brief(lean: Lean) -> Lean:
    """A shorter schema, for a response: a few values are enough to show that a field is an enumeration."""
    return {**lean, "enum": lean["enum"][:MAX_BRANCHES]} if len(lean.get("enum", ())) > MAX_BRANCHES else lean


def is_valid_schema(schema: Mapping[str, Any]) -> bool:
    """Whether arguments can be validated against the schema."""
    try:
        jsonschema_rs.validator_for(dict(schema), validate_formats=True)
    except (ValueError, RecursionError):
        return False
    return True


def is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether the value is valid. Also False for an invalid schema, and for a value that JSON cannot represent."""
    try:
        return jsonschema_rs.is_valid(dict(schema), value, validate_formats=True)
    except ValueError:
        return False


def written(value: Any) -> str:
    """A value as text for a description."""
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
