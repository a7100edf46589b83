"""JSON Schemas as a list of tools can bear them: without references, as deep as they are useful, and valid.

A model reads hundreds of these. What helps nobody to write a value (examples, titles, formats of numbers, documentation
links) is left out; what could never be satisfied, or is no JSON Schema, is loosened.
"""

from collections.abc import Mapping
from typing import Any

import jsonschema_rs
import orjson

from gateway.connectors.openapi import kinds
from gateway.connectors.openapi.kinds import as_list, as_mapping, choices, type_of, variants
from gateway.connectors.openapi.references import References
from gateway.connectors.openapi.texts import first_sentence

DEEPEST = 4  # levels of objects and lists within an argument
MOST_BRANCHES = 3
MOST_VARIED = 2  # variants within variants, which need no level: what refers to each other would multiply without end
MOST_CHOICES = 60
SHOWN_CHOICES = 20
DESCRIPTION_CHARS = 120
LONGEST_DEFAULT = 100  # of its JSON

Lean = dict[str, Any]
_NESTED = frozenset({"properties", "items", "additionalProperties", "anyOf"})
_Above = frozenset[str]  # the references within which a schema stands
_Key = tuple[int, int, int]  # a schema's identity, its levels, and the variants within which it is one


class Leaning:
    """Makes the schemas of one document lean. `sent`: of arguments, without what only answers have, and described;
    otherwise of answers, without what they never have."""

    def __init__(self, references: References, *, sent: bool) -> None:
        self._references, self._sent = references, sent
        self._sizes: dict[_Key, int] = {}
        self._known: dict[_Key, tuple[Any, Lean]] = {}  # with what it was made from: so that its id stays

    def lean(self, schema: Any, depth: int) -> Lean:
        """With so many levels of objects and lists."""
        return self._lean(schema, depth, frozenset())

    def properties(self, schema: Any) -> tuple[dict[str, Any], list[str]]:
        """Of an object: its properties as the document has them, those of its variants included, and the names of
        those that are always required."""
        return self._object(schema, set(), 0)

    def size(self, schema: Any, depth: int, varied: int = 0) -> int:
        """Of how many schemas it will be made, at most: what leads back to itself is counted, though it will be cut."""
        merged = self._references.merged(schema).schema
        key = (id(merged), depth, varied)
        if key not in self._sizes:
            self._sizes[key] = 1 + sum(self.size(*part) for part in self._parts(merged, depth, varied))
        return self._sizes[key]

    def _parts(self, schema: Mapping[str, Any], depth: int, varied: int) -> list[tuple[Any, int, int]]:
        """What it is made of, how deep each may go, and within how many variants it is one."""
        found = kinds.kinds(schema)
        branches = [] if "object" in found else self._branches(schema)
        if branches:
            return [(each, depth, varied + 1) for each in branches] if _are_told(branches, varied) else []
        below = [*self.properties(schema)[0].values()] if "object" in found else []
        below += [each for key in ("items", "additionalProperties") if isinstance(each := schema.get(key), Mapping)]
        return [(each, depth - 1, 0) for each in below] if depth > 0 else []

    def _lean(self, schema: Any, depth: int, above: _Above, varied: int = 0) -> Lean:
        merged = self._references.merged(schema)
        if above & merged.pointers:
            return type_of(self._kinds(merged.schema))
        key = (id(merged.schema), depth, varied)
        # What is the same wherever it stands: a value without parts; and of answers all, since only their depth ends
        # what leads back to itself.
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
            return _of_choices(lean, [*values, None] if "null" in found and None not in values else values)
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
        """A boolean is a schema too."""
        never = "readOnly" if self._sent else "writeOnly"
        return schema is not False and not (isinstance(schema, dict) and schema.get(never) is True)

    # -- Variants -----------------------------------------------------------------------------------

    def _branches(self, schema: Mapping[str, Any]) -> list[Any]:
        """Those that say what the value is; others only say which properties go together."""
        return [each for each in variants(schema) if self._kinds(each) not in ([], ["null"])]

    def _kinds(self, schema: Any, level: int = 0) -> list[str]:
        """Its types, or those of its variants."""
        whole = self._references.merged(schema).schema
        found = kinds.kinds(whole)
        if found or level >= DEEPEST:
            return found
        below = [kind for each in variants(whole)[: MOST_BRANCHES * 4] for kind in self._kinds(each, level + 1)]
        return list(dict.fromkeys(below))

    def _of_branches(
        self, schema: Mapping[str, Any], branches: list[Any], depth: int, above: _Above, varied: int
    ) -> Lean:
        wholes = [self._references.merged(each).schema for each in branches]
        null = ["null"] if any(map(kinds.is_nullable, (schema, *wholes))) else []
        counted = [choices(each) for each in wholes]
        if all(counted):
            values = list(dict.fromkeys(value for each in counted for value in each if value is not None))
            return _of_choices({}, [*values, *([None] if null else [])])
        if not _are_told(branches, varied):
            return type_of([*(kind for each in branches for kind in self._kinds(each)), *null])
        lean: list[Lean] = []
        for each in branches:
            made = self._lean(each, depth, above, varied + 1)
            lean += [] if made in lean else [made]
        if len(lean) > 1:
            return {"anyOf": [*lean, {"type": "null"}] if null else lean}
        return _with_null(lean[0]) if null else lean[0]


def _are_told(branches: list[Any], varied: int) -> bool:
    """Or whether only their types are."""
    return len(branches) <= MOST_BRANCHES and varied < MOST_VARIED


def _of_choices(lean: Lean, values: list[Any]) -> Lean:
    """An enumeration; without its type, if that was a wrong one."""
    counted = {**lean, "enum": values}
    if lean and is_valid({"items": lean}, values):
        return counted
    texts = all(isinstance(value, str) for value in values)
    return {"type": "string", "enum": values} if texts else {"enum": values}


def _with_null(lean: Lean) -> Lean:
    kind = lean.get("type")
    if kind is None or "null" in kind:
        return lean
    told = {**lean, **type_of([*([kind] if isinstance(kind, str) else kind), "null"])}
    return {**told, "enum": [*lean["enum"], None]} if "enum" in lean else told


def _described(lean: Lean, schema: Mapping[str, Any]) -> Lean:
    """With its description, and its default if that is valid."""
    own = first_sentence(schema.get("description"), DESCRIPTION_CHARS) or lean.get("description", "")
    said = ["Deprecated."] if schema.get("deprecated") is True else []
    said += [own] if own else []
    lean = dict(lean)
    values = lean.get("enum", [])
    if len(values) > MOST_CHOICES:
        del lean["enum"]
        said.append(f"{len(values)} values: {', '.join(map(written, values[:SHOWN_CHOICES]))}, …")
    if said:
        lean["description"] = " ".join(said)
    default = schema.get("default")
    if default is not None and len(written(default)) <= LONGEST_DEFAULT and is_valid(lean, default):
        lean["default"] = default
    return lean


def _brief(lean: Lean) -> Lean:
    """Of an answer: a few values tell that they are counted."""
    return {**lean, "enum": lean["enum"][:MOST_BRANCHES]} if len(lean.get("enum", ())) > MOST_BRANCHES else lean


def is_valid_schema(schema: Mapping[str, Any]) -> bool:
    """Whether arguments can be checked by it."""
    try:
        jsonschema_rs.validator_for(dict(schema), validate_formats=True)
    except (ValueError, RecursionError):
        return False
    return True


def is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    """False also for a schema that is none, and a value that JSON cannot say."""
    try:
        return jsonschema_rs.is_valid(dict(schema), value, validate_formats=True)
    except ValueError:
        return False


def written(value: Any) -> str:
    """A value as a description says it."""
    return value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
