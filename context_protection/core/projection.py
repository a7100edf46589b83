"""Selects parts of a record by path (FR-017): `status`, `price.basePrice`, `items.*.name`.

A projection preserves the structure: `items.*.name` of {"items":[{"name":"a","x":1}]} is {"items":[{"name":"a"}]}.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, repeat
from typing import Any

# The wanted part of a value: everything (True), or the wanted part of each name.
Wanted = bool | dict[str, "Wanted"]


def wanted(paths: Iterable[str]) -> dict[str, Wanted]:
    """Converts paths to a tree: ["a", "b.c", "b.d"] → {"a": True, "b": {"c": True, "d": True}}. A path includes all
    paths below it."""
    root: dict[str, Wanted] = {}
    for path in paths:
        node = root
        *parents, leaf = path.split(".")
        for step in parents:
            branch = node.setdefault(step, {})
            if isinstance(branch, bool):
                break
            node = branch
        else:
            node[leaf] = True
    return root


def project(value: Any, tree: Wanted) -> Any:
    """The wanted part of `value`, in the order of `value`. Missing names are omitted, and so are values that cannot
    have the wanted names below them: of {"a":5}, `a.b` is {}."""
    if tree is True:
        return value
    assert isinstance(tree, dict)
    if isinstance(value, list):
        below = tree.get("*")
        return [project(element, below) for element in value if _may_have(element, below)] if below else []
    if isinstance(value, dict):
        return {key: project(value[key], below) for key, below in _present(value, tree)}
    return None


def _present(value: dict[str, Any], tree: dict[str, Wanted]) -> Iterator[tuple[str, Wanted]]:
    return ((key, tree[key]) for key in value if key in tree and _may_have(value[key], tree[key]))


def _may_have(value: Any, tree: Wanted) -> bool:
    """Whether `value` is of a kind that can have the wanted part: a list only if a step is `*`, a null always."""
    if isinstance(tree, bool) or value is None or isinstance(value, dict):
        return True
    return isinstance(value, list) and "*" in tree


def resolves(value: Any, path: str) -> bool:
    """Whether `path` exists in `value`. Below a null, any path counts as existing; below an empty list, any that begins
    with `*`."""
    if isinstance(value, dict) and path in value and "." not in path:  # the common case
        return True
    for index, step in enumerate(steps := path.split(".")):
        if value is None:
            return True
        if isinstance(value, list):
            rest = ".".join(steps[index + 1 :])
            return step == "*" and (not value or not rest or any(resolves(element, rest) for element in value))
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def get(value: Any, path: str) -> Any:
    """The value at `path`, or None. A path with `*` returns a list with the value of each element."""
    if "." not in path and path != "*":  # the common case, on the hot path
        return value.get(path) if isinstance(value, dict) else None
    return _get(value, _steps(path))


def column(values: Sequence[Any], path: str) -> list[Any]:
    """Returns `get(value, path)` for each of `values`, but faster: each step is taken for all values at once."""
    return _column(values, _steps(path))


def _column(values: Sequence[Any], steps: tuple[str, ...]) -> list[Any]:
    """Values that are all objects are read in a loop in C."""
    for index, step in enumerate(steps):
        if (found := _of_objects(values, step)) is not None:
            values = found
        elif step == "*" and any(isinstance(each, list) for each in values):
            return _below_lists(values, steps[index:])
        else:
            values = [each.get(step) if isinstance(each, dict) else None for each in values]
    return list(values)


def _of_objects(values: Sequence[Any], step: str) -> list[Any] | None:
    """The member `step` of each value; None if one of them is not an object."""
    try:
        return list(map(dict.get, values, repeat(step)))
    except TypeError:
        return None


def _below_lists(values: Sequence[Any], steps: tuple[str, ...]) -> list[Any]:
    """Like `_column`, if some of the values are lists. The first of `steps` is `*`."""
    are_lists = set(map(type, values)) == {list}
    lists = values if are_lists else [each for each in values if isinstance(each, list)]
    found = iter(_column(list(chain.from_iterable(lists)), steps[1:]))
    if are_lists:
        return list(map(list, map(islice, repeat(found), map(len, lists))))
    return [[*islice(found, len(each))] if isinstance(each, list) else _get(each, steps) for each in values]


@lru_cache(maxsize=4096)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def _get(value: Any, steps: tuple[str, ...]) -> Any:
    for index, step in enumerate(steps, start=1):
        if step == "*" and isinstance(value, list):
            rest = steps[index:]
            return [_get(element, rest) for element in value] if rest else value
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value
