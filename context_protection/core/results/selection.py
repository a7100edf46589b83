"""Selects a part of a stored result by path and by rows.

A path consists of names and indexes: `guest.notes`, `items[0].name`, `items.0.name`. `items.*.name` is the list of all
names, with null for an element without one. Names may contain dots: the longest matching name is used.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from context_protection.core import field_selection
from context_protection.core.errors import InvalidArgument, nearest, shown

MAX_PATH_CHARS = 500
MAX_STARS = 5
_EACH = "*."
_INDEX = re.compile(r"(?:\[(?P<in_brackets>\d{1,9}|\*)\]|(?P<plain>\d{1,9}|\*)(?=[.\[]|$))\.?", re.ASCII)
_ROWS = re.compile(r"\s*(\d{1,9})\s*(?:(-)\s*(\d{1,9})\s*)?", re.ASCII)


def pick(value: Any, *, path: str | None = None, rows: str | int | None = None) -> Any:
    """The requested part of `value`.

    In a list, `rows` is applied first (from 0: "10-20" returns a list, "5" the row itself), then `path` to each row. In
    an object, `path` leads to the list to which `rows` is applied. Raises InvalidArgument if the part does not exist.
    """
    span = None if rows is None else _Span.of(rows)
    if span is None:
        return _at(value, path)
    if not isinstance(value, list):
        return span.of_rows(_at(value, path))
    chosen = span.of_rows(value)
    return _at(chosen, path, each=not span.single)


# -- Rows -------------------------------------------------------------------------------------------


def last_row(rows: str | int | None) -> int | None:
    """The number of the last row of the range `rows`, from 0; None for all rows. Raises InvalidArgument."""
    return None if rows is None else _Span.of(rows).last


@dataclass(frozen=True, slots=True)
class _Span:
    first: int
    last: int
    single: bool
    raw: str

    @classmethod
    def of(cls, rows: str | int) -> "_Span":
        match = _ROWS.fullmatch(str(rows))
        span = cls(int(match[1]), int(match[3] or match[1]), match[2] is None, str(rows)) if match else None
        if span is None or span.last < span.first:
            turned = f"{span.last}-{span.first}" if span else "0-9"
            raise _wrong_rows(
                rows, "rows is not a range.", "a row such as 5, or rows such as 10-20; the first is 0", turned
            )
        return span

    def of_rows(self, value: Any) -> Any:
        """Selects these rows. Raises InvalidArgument unless `value` is a list that has them."""
        if not isinstance(value, list):
            raise _wrong_rows(self.raw, f"rows needs a list, not {_kind(value)}.", "a path that leads to a list")
        if self.last >= len(value):
            there = f"0 to {len(value) - 1}" if value else "none: the list is empty"
            last = str(len(value) - 1) if self.single or self.first >= len(value) else f"{self.first}-{len(value) - 1}"
            message = f"rows goes past the end of {len(value):,} rows."
            raise _wrong_rows(self.raw, message, there, last if value else "")
        return value[self.first] if self.single else value[self.first : self.last + 1]


def _wrong_rows(rows: Any, message: str, expected: str, instead: str = "") -> InvalidArgument:
    return InvalidArgument(
        message,
        reason="invalid_rows",
        parameter="rows",
        value=rows,
        expected=expected,
        suggestion=f"Set rows to {instead}. Rows count from 0." if instead else "Leave rows out.",
    )


# -- Path -------------------------------------------------------------------------------------------


class _Missing(Exception):
    """The path cannot be followed beyond `value`, which is at `path[:end]`."""

    def __init__(self, value: Any, end: int) -> None:
        super().__init__(end)
        self.value, self.end = value, end


def _at(value: Any, path: str | None, *, each: bool = False) -> Any:
    """The value at the path; with `each`, the list of the values in each element."""
    if path is None:
        return value
    if not 0 < len(path) <= MAX_PATH_CHARS or path.count("*") > MAX_STARS:
        expected = f"1 to {MAX_PATH_CHARS} characters, with at most {MAX_STARS} *"
        raise _wrong_path(path, "path is empty, or too long.", expected, "Leave path out for the whole.")
    start = len(_EACH) if each else 0
    try:
        return _follow(value, f"{_EACH}{path}" if each else path, 0)
    except _Missing as missing:
        raise _not_there(path, missing.value, max(missing.end - start, 0)) from None


def _follow(value: Any, path: str, start: int) -> Any:
    """The value at `path[start:]`. Raises _Missing."""
    while start < len(path):
        if isinstance(value, dict) and (name := _longest_name(value, path[start:])) is not None:
            value, start = value[name], _after(path, start + len(name))
        elif isinstance(value, list) and (step := _INDEX.match(path, start)):
            index = step["in_brackets"] or step["plain"]
            if index == "*":
                return _each(value, path, start, step.end())
            if int(index) >= len(value):
                raise _Missing(value, start)
            value, start = value[int(index)], step.end()
        else:
            raise _Missing(value, start)
    return value


def _each(elements: Sequence[Any], path: str, start: int, rest: int) -> list[Any]:
    """The value at `path[rest:]` in each element, or None where it is missing. Raises _Missing if all elements lack it,
    unless all of them lack it below a null."""
    found: list[Any] = []
    missing: list[_Missing] = []
    for element in elements:
        try:
            found.append(_follow(element, path, rest))
        except _Missing as error:
            found.append(None)
            missing.append(error)
    denied = next((error for error in missing if error.value is not None), None)
    if denied is not None and len(missing) == len(elements):
        raise denied
    return found


def _longest_name(value: Collection[str], rest: str) -> str | None:
    fitting = (name for name in value if rest.startswith(name) and rest[len(name) : len(name) + 1] in ("", ".", "["))
    return max(fitting, key=len, default=None)


def _after(path: str, end: int) -> int:
    return end + 1 if path[end : end + 1] == "." else end


def _not_there(path: str, value: Any, end: int) -> InvalidArgument:
    """The error for a path that cannot be followed beyond `value`, which is at `path[:end]`."""
    before, rest = path[:end].rstrip("."), path[end:]
    where = f"at {shown(before)!r}" if before else "at the top"
    match value:
        case dict() as names:
            name = re.split(r"[.\[]", rest, maxsplit=1)[0]
            close = nearest(name, names)
            whole = f"{before}.{close}" if before else close
            suggestion = f"Set path to {shown(whole)}." if close else f"Set path to {before}." if before else ""
            message = f"path contains {shown(name)!r}, which does not exist {where}."
            return _wrong_path(path, message, f"any of: {_listed(names)}", suggestion or "Leave path out.")
        case list() as elements if elements:
            last = f"{before}[{len(elements) - 1}]"
            expected = f"an index, {before}[0] to {last}, or * for each"
            advice = f"Set path to {before}{'.' if before else ''}*."
            return _wrong_path(path, f"path does not lead to an element of the list {where}.", expected, advice)
        case value:
            message = f"path continues {where}, but there is {_kind(value)}."
            return _wrong_path(path, message, "a path that ends there", f"Set path to {shown(before)}.")


def _wrong_path(path: str, message: str, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        message, reason="invalid_path", parameter="path", value=path, expected=expected, suggestion=suggestion
    )


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case int() | float():
            return "a number"
        case dict():
            return "an object"
        case _:
            return "a list" if value else "an empty list"


def _listed(names: Collection[str]) -> str:
    """The names, as many as fit into an error."""
    listed = ", ".join(str(shown(name)) for name in list(names)[: field_selection.LISTED_NAMES])
    cut = len(names) > field_selection.LISTED_NAMES or len(listed) > field_selection.LISTED_CHARS
    return listed[: field_selection.LISTED_CHARS] + (" …" if cut else "")
