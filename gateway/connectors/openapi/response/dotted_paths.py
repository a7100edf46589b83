"""Values within parsed data, by dotted path."""

from typing import Any


def at(value: Any, path: str) -> Any:
    """The value at a dotted path; None if nothing is there. A name such as "@odata.nextLink" may itself contain
    dots."""
    if not path:
        return value
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    name, _, rest = path.partition(".")
    return at(value.get(name), rest) if rest else None


def has(value: Any, path: str) -> bool:
    """Whether the path exists, even with the value null."""
    if not path or not isinstance(value, dict):
        return not path
    name, _, rest = path.partition(".")
    return path in value or (bool(rest) and has(value.get(name), rest))


def without(value: dict[str, Any], path: str) -> dict[str, Any]:
    """`value` without the entry at the path, and without objects that this leaves empty."""
    if path in value:
        return {name: each for name, each in value.items() if name != path}
    name, _, rest = path.partition(".")
    below = value.get(name)
    if not rest or not isinstance(below, dict):
        return value
    left = without(below, rest)
    return {key: left if key == name else each for key, each in value.items() if key != name or left}
