"""Suggestions that correct a wrong argument. Validation tries them, to choose one that works if followed literally."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from context_protection.core import json_limits
from context_protection.core.errors import nearest
from context_protection.core.redaction import path_kind
from gateway.catalog.definition import ToolDefinition
from gateway.catalog.examples import UNKNOWN_TEXT, example
from gateway.catalog.expectations import expected
from gateway.catalog.normalization import as_schema
from gateway.catalog.schemas import Schema, choices, is_order, kinds

NAME_CHARS = 80
LONGEST_CONVERTED = 200  # characters; a longer value is not suggested in another type
Arguments = Mapping[str, Any]
Path = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Correction:
    """`text`: the suggestion. `arguments`: the arguments after following it; None if they are not known yet."""

    text: str
    arguments: Arguments | None = None


def of_value(
    definition: ToolDefinition, given: Arguments, path: Path, value: Any, schema: Schema
) -> Iterator[Correction]:
    """Corrections of the wrong value at `path`, the best one first."""
    name = ".".join(map(str, path))
    if path and path_kind(name) is None:
        if found := _source(definition, path):
            yield found
        for each in (*_as_schema(value, schema, name), *_near(value, schema)):
            yield Correction(f"Set {name} to {_written(each)}.", _with(given, path, each))
    if path and path[0] not in definition.required:
        yield Correction(f"Leave {name} out.", _without(given, path))
        yield Correction(f"Leave {path[0]} out.", _without(given, path[:1]))
    yield from of_missing(definition, given, path, schema)


def of_missing(definition: ToolDefinition, given: Arguments, path: Path, schema: Schema) -> Iterator[Correction]:
    """Corrections of the missing value at `path`."""
    name = ".".join(map(str, path))
    if found := _source(definition, path):
        yield found
    if path and path_kind(name) is None:
        value = example(schema)
        if value != UNKNOWN_TEXT:
            yield Correction(f"Set {name} to a value such as {_written(value)}.", _with(given, path, value))
    yield Correction(f"Call {definition.name} again with {name or 'arguments'} as {expected(schema)}.")


def of_unknown(definition: ToolDefinition, given: Arguments, path: Path, known: Sequence[str]) -> Iterator[Correction]:
    """Corrections of the unknown name at the end of `path`. `known`: the names that its object may have."""
    *parents, unknown = path
    holder = _at(given, parents)
    free = [each for each in known if each not in holder]
    close = _close(unknown, free)
    missing = [each for each in definition.required if each in free] if not parents else []
    needless = [each for each in holder if each not in {*known, unknown} and _close(each, free) is None]
    rest = given
    for each in needless:
        rest = _without(rest, [*parents, each])
    also = f" and leave {_joined([*parents, each] for each in needless)} out" if needless else ""
    for name in dict.fromkeys([*([close] if close else []), *(missing if len(missing) == 1 else [])]):
        renamed = _with(_without(rest, path), [*parents, name], holder[unknown])
        yield Correction(f"Rename {_shown(path)} to {name}{also}.", renamed)
    left_out = _joined([path, *([*parents, each] for each in needless)])
    if len(missing) == 1 and (found := _source(definition, missing)):
        yield Correction(f"{found.text} Leave {left_out} out.")
    yield Correction(f"Leave {left_out} out.", _without(rest, path))


def _close(name: str | int, free: Sequence[str]) -> str | None:
    return nearest(str(name), free, cutoff=0.6)


def _shown(path: Path) -> str:
    return ".".join(str(step)[:NAME_CHARS] for step in path)


def _joined(paths: Iterable[Path]) -> str:
    """The paths as words: a, b and c."""
    *others, last = map(_shown, paths)
    return f"{', '.join(others)} and {last}" if others else last


def _source(definition: ToolDefinition, path: Path) -> Correction | None:
    source = definition.sources.get(str(path[0])) if len(path) == 1 else None
    return Correction(source) if source else None


def _written(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


# -- Values -----------------------------------------------------------------------------------------


def _as_schema(value: Any, schema: Schema, name: str) -> Iterator[Any]:
    """The value in its schema's type, such as 5 for "5". Useful for strict operations, which convert nothing."""
    if isinstance(value, str) and len(value) <= LONGEST_CONVERTED and "string" not in kinds(schema):
        try:
            converted = json_limits.loads(value, name)
        except ValueError:
            converted = as_schema(value, schema, name)
        if converted != value:
            yield converted


def _near(value: Any, schema: Schema) -> Iterator[Any]:
    """Values to suggest instead of the given one: a close one that the schema allows, its default, and examples."""
    if is_order(schema):
        yield from _near_order(str(value), schema)
    elif allowed := choices(schema):
        by_text = {str(each): each for each in allowed}
        if close := nearest(str(value), by_text, cutoff=0.55):
            yield by_text[close]
    elif not {"integer", "number"}.isdisjoint(kinds(schema)) and (number := _finite(value)) is not None:
        nearest_number = _within(number, schema)
        if abs(nearest_number) < 2**53:
            yield nearest_number
    if "default" in schema:
        yield schema["default"]
    yield from schema.get("examples", ())[:1]
    if "format" in schema:
        yield example(schema)


def _near_order(text: str, schema: Schema) -> Iterator[str]:
    """The nearest order in the same direction."""
    sign = "-" if text.strip().startswith("-") or text.strip().lower().endswith("desc") else ""
    same = [each for each in choices(schema) if each.startswith("-") == bool(sign)]
    close = nearest(text.strip().lstrip("+-").split(" ")[0], [each.removeprefix("-") for each in same], cutoff=0.55)
    yield sign + (close or schema.get("default", same[0]).removeprefix("-"))


def _finite(value: Any) -> float | None:
    try:
        number = float(value) if not isinstance(value, bool) else None
    except (TypeError, ValueError, OverflowError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _within(number: float, schema: Schema) -> int | float:
    """The nearest number within the schema's bounds."""
    step = schema.get("multipleOf") or (1 if "integer" in kinds(schema) else None)
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if (above := schema.get("exclusiveMinimum")) is not None:
        low = max(low, above + (step or 1))
    if (below := schema.get("exclusiveMaximum")) is not None:
        high = min(high, below - (step or 1))
    if step:
        number = round(number / step) * step
    number = min(max(number, low), high)
    return int(number) if float(number).is_integer() else number


# -- Places -----------------------------------------------------------------------------------------


def _at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


def _with(holder: Any, path: Path, value: Any) -> Any:
    """A copy of the object or list, with the value at `path`."""
    step, *below = path
    copy = list(holder) if isinstance(holder, list) else dict(holder)
    copy[step] = _with(copy[step], below, value) if below else value  # type: ignore[index]
    return copy


def _without(holder: Any, path: Path) -> Any:
    """A copy of the object or list, without the value at `path`."""
    step, *below = path
    copy = list(holder) if isinstance(holder, list) else dict(holder)
    if below:
        copy[step] = _without(copy[step], below)  # type: ignore[index]
    else:
        del copy[step]  # type: ignore[arg-type]
    return copy
