r"""Lines of a text.

Only "\n" ends a line: in "\r\n" the "\r" belongs to the line, and a lone "\r", a form feed or U+2028 does not end one.
Text after the last "\n" is a line if it is not empty; an empty text has one empty line.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class LineRange:
    """A range of lines, both ends included. If `last` is None, it extends to the end of the text."""

    first: int
    last: int | None = None


class RangeError(ValueError):
    """An invalid line range: the parameter, its value, and what was expected (FR-023)."""

    def __init__(self, parameter: str, value: int, expected: str) -> None:
        super().__init__(f"{parameter} is {value}; expected {expected}.")
        self.parameter, self.value, self.expected = parameter, value, expected


def check_range(first: int, last: int | None, total_lines: int) -> None:
    """Checks a line range; lines count from 1, both inclusive. Raises RangeError for a `startLine` below 1 or past the
    last line, and for an `endLine` before `startLine`."""
    if not 1 <= first <= total_lines:
        raise RangeError("startLine", first, f"a line from 1 to {total_lines}, the last one of this text")
    if last is not None and last < first:
        raise RangeError("endLine", last, f"startLine ({first}) or a later line")


def line_span(ends: Sequence[int], first: int, last: int | None) -> tuple[int, int]:
    """The start and end offset of these lines. A `last` past the end, or None, means the last line."""
    check_range(first, last, len(ends))
    start = ends[first - 2] if first > 1 else 0
    return start, ends[min(last or len(ends), len(ends)) - 1]


def find_line_ends(text: str) -> "array[int]":
    """The offset after each line."""
    ends = array("q", accumulate(len(line) + 1 for line in text.split("\n")))
    ends[-1] -= 1  # the last line has no "\n"
    if len(ends) > 1 and ends[-1] == ends[-2]:
        ends.pop()  # an empty remainder after the last "\n" is not a line
    return ends


def split_lines(text: str, ends: Sequence[int]) -> list[str]:
    return text.split("\n")[: len(ends)]


def utf8_length(text: str) -> int:
    """The size of the text in bytes of UTF-8. Accepts lone surrogates."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
