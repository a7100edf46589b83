"""Values within an answer, by their paths."""

from typing import Any


def at(value: Any, path: str) -> Any:
    """What is at a dotted path; None where nothing is. A name may itself have dots: "@odata.nextLink"."""
    if not path:
        return value
    if not isinstance(value, dict):
        return None
    if path in value:
        return value[path]
    name, _, rest = path.partition(".")
    return at(value.get(name), rest) if rest else None


def has(value: Any, path: str) -> bool:
    """Whether something is there, were it null."""
    if not path or not isinstance(value, dict):
        return not path
    name, _, rest = path.partition(".")
    return path in value or (bool(rest) and has(value.get(name), rest))


def without(value: dict[str, Any], path: str) -> dict[str, Any]:
    """`value` without what is at the path, and without the objects that then are empty."""
    if path in value:
        return {name: each for name, each in value.items() if name != path}
    name, _, rest = path.partition(".")
    below = value.get(name)
    if not rest or not isinstance(below, dict):
        return value
    left = without(below, rest)
    return {key: left if key == name else each for key, each in value.items() if key != name or left}
