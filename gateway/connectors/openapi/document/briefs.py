"""Shortened argument schemas for tool lists, used where the full schemas would be too long.

Only the display is shortened: calls are validated against the full schemas, which describe_tool shows.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

from context_protection.core.budget import dumps
from gateway.connectors.openapi.document.kinds import type_of
from gateway.connectors.openapi.document.wording import first_sentence

# The limit for the JSON of an operation's arguments: about 1,000 of Claude's tokens. With the description and Sluice's
# own arguments, a definition stays below 1,500 tokens, so that five of the largest fit into the default
# TOOL_LIST_BUDGET.
MAX_BYTES = 3200
SHORT_CHARS = 40  # characters of a shortened description
SHORT_CHOICES = 6

Schemas = Mapping[str, Mapping[str, Any]]
_Lean = Mapping[str, Any]
_Change = Callable[[_Lean, int, bool], _Lean]  # schema, level within its argument, whether it is needed
_BELOW = ("items", "additionalProperties")
_WORDS = frozenset({"description", "default"})
_LIMITS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "pattern", "multipleOf"})


def brief(arguments: Schemas, needed: Collection[str]) -> dict[str, _Lean] | None:
    """Shortens lean schemas to fit into MAX_BYTES; returns None if they already fit. Deep parts and arguments that are
    not `needed` are shortened first. As a last resort, whole arguments are left out, the last unneeded one first."""
    if _fits(arguments):
        return None
    shown = dict(arguments)
    for change in _CHANGES_OF_OTHERS:
        shown = {name: _changed(each, change, 0, name in needed) for name, each in shown.items()}
        if _fits(shown):
            return shown
    for change in _CHANGES_OF_NEEDED:
        if _fits({name: each for name, each in shown.items() if name in needed}, MAX_BYTES // 2):
            break
        shown = {name: _changed(each, change, 0, name in needed) for name, each in shown.items()}
    return _first_that_fit(shown, needed)


def _fits(arguments: Schemas, most: int = MAX_BYTES) -> bool:
    return _size(arguments) <= most


def _size(value: Any) -> int:
    return len(dumps(value))


def _first_that_fit(arguments: Schemas, needed: Collection[str]) -> dict[str, _Lean]:
    """The arguments that fit, in their original order. Needed ones take precedence."""
    room = MAX_BYTES
    fitting: set[str] = set()
    for name in sorted(arguments, key=lambda name: name not in needed):
        room -= _size({name: arguments[name]})
        if room < 0:
            break
        fitting.add(name)
    return {name: each for name, each in arguments.items() if name in fitting}


# -- Changes to one schema --------------------------------------------------------------------------


def _changed(schema: _Lean, change: _Change, level: int, needed: bool) -> _Lean:
    """The schema with the change applied to it and to every schema nested in it."""
    made = dict(change(schema, level, needed))
    if "properties" in made:
        required = made.get("required", ())
        made["properties"] = {
            name: _changed(each, change, level + 1, needed and name in required)
            for name, each in made["properties"].items()
        }
    for key in _BELOW:
        if isinstance(made.get(key), Mapping):
            made[key] = _changed(made[key], change, level + 1, needed)
    if "anyOf" in made:
        made["anyOf"] = [_changed(each, change, level, needed) for each in made["anyOf"]]
    return made


def _without(
    schema: _Lean, level: int, needed: bool, *, keys: Collection[str], start: int = 0, keeps_needed: bool = True
) -> _Lean:
    if level < start or (needed and keeps_needed):
        return schema
    return {key: value for key, value in schema.items() if key not in keys}


def _outlined(schema: _Lean, level: int, needed: bool, *, start: int, keeps_needed: bool = True) -> _Lean:
    """The schema without its nested schemas. Its types, its items' type and its required names remain."""
    if level < start or (needed and keeps_needed):
        return schema
    outline = {key: value for key, value in schema.items() if key not in ("properties", "anyOf", *_BELOW)}
    below = [type_of(_types(each)) for key in _BELOW if isinstance(each := schema.get(key), Mapping)]
    of_items = {"items": below[0]} if "items" in schema and below and below[0] else {}
    return {**type_of(kind for each in schema.get("anyOf", ()) for kind in _types(each)), **outline, **of_items}


def _types(schema: _Lean) -> list[str]:
    declared = schema.get("type", [])
    return [declared] if isinstance(declared, str) else list(declared)


def _shortened(schema: _Lean, level: int, needed: bool) -> _Lean:
    """The schema with a short description. A long enumeration becomes examples in the description."""
    if needed:
        return schema
    choices = schema.get("enum", ())
    words = first_sentence(schema.get("description"), SHORT_CHARS)
    if len(choices) > SHORT_CHOICES:
        words = f"Such as {', '.join(map(str, choices[:SHORT_CHOICES]))}."
    shorter = {key: value for key, value in schema.items() if key != "enum" or len(choices) <= SHORT_CHOICES}
    return {**shorter, "description": words} if words else shorter


# The smallest loss of information comes first. `start` is the first level affected: 0 is the argument, and each object
# or list adds one.
_CHANGES_OF_OTHERS: tuple[_Change, ...] = (
    partial(_without, keys=_WORDS, start=1),
    *(partial(_outlined, start=start) for start in (3, 2, 1, 0)),
    partial(_without, keys=_LIMITS),
    _shortened,
    partial(_without, keys=_WORDS),
)
_CHANGES_OF_NEEDED: tuple[_Change, ...] = (
    *(partial(_outlined, start=start, keeps_needed=False) for start in (2, 1, 0)),
    partial(_without, keys=_WORDS | _LIMITS, keeps_needed=False),
)
