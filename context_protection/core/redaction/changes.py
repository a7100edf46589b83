"""Applies changes to a copy of a JSON value."""

from collections.abc import Iterable
from typing import Any

from context_protection.core.redaction.findings import MARK

Keys = tuple[str | int, ...]  # the names and indexes on the way to a value


def with_changes(value: Any, changes: Iterable[tuple[Keys, str]]) -> Any:
    """A copy with the texts in place of the values at these keys; parts without changes are shared with the original.
    If two changes affect the same value, as in a table's row that looks like a pair, the one that redacts the whole
    value wins."""
    root = _Copy([value])
    for keys, new in changes:
        root.change((0, *keys), new)
    return root.value[0]


class _Copy:
    """A copy of an object or list. `below`: the copies of changed values in it, by name or index. `is_mark`: the value
    was replaced by a mark."""

    __slots__ = ("below", "is_mark", "value")

    def __init__(self, value: Any, *, is_mark: bool = False) -> None:
        self.value, self.is_mark = value, is_mark
        self.below: dict[str | int, _Copy] = {}

    def change(self, keys: Keys, new: str) -> None:
        copied = self
        for key in keys[:-1]:
            below = copied.below.get(key)
            if below is None:
                copied.value[key] = copied.value[key].copy()
                below = copied.below[key] = _Copy(copied.value[key])
            if below.is_mark:
                return
            copied = below
        at = keys[-1]
        if at not in copied.below or not copied.below[at].is_mark:
            copied.value[at] = new
            if MARK.fullmatch(new):
                copied.below[at] = _Copy(new, is_mark=True)
