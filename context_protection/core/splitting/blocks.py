"""Blocks of a text: units that a chunk keeps whole, such as a log entry, a paragraph or a function."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol


class Inside(IntEnum):
    """The places where a block that exceeds a chunk's budget, but not the cap, may be divided."""

    NOWHERE = 0  # a log entry, a CSV record, a fenced block
    SENTENCES = 1
    LINES = 2  # a table, indented code
    DEFINITIONS = 3  # code: before the least indented line that follows a blank line, else at a line


@dataclass(slots=True)
class Blocks:
    """The blocks of a text, in order. `ends[i]`: the offset after block i and the blank lines that follow it.
    `bodies[i]`: the offset of block i's body, if it has a head. No chunk ends inside or directly after a head."""

    ends: "array[int]" = field(default_factory=lambda: array("q"))
    inside: bytearray = field(default_factory=bytearray)
    bodies: dict[int, int] = field(default_factory=dict)

    def add(self, end: int, inside: Inside, body: int = 0) -> None:
        if 0 < body < end:
            self.bodies[len(self.ends)] = body
        self.ends.append(end)
        self.inside.append(inside)

    def clip(self, stop: int) -> None:
        """Ends the last block at `stop`."""
        count = bisect_right(self.ends, stop - 1)
        self.ends[count:] = array("q", [stop])
        if self.bodies.get(count, 0) >= stop:
            del self.bodies[count]

    def body(self, index: int) -> int:
        """The offset after which the block may be divided."""
        return self.bodies.get(index) or (self.ends[index - 1] if index else 0)


class Reader(Protocol):
    """Divides a text, or its windows one after the other, into blocks. The first line of a window always begins a
    block, even if it continues a block of the previous window."""

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> Blocks:
        """The blocks of a window. `is_last`: whether it is the last window."""

    def go_past(self, text: str) -> None:
        """Advances past `text`, the beginning of the last window; the next window begins after it."""


def starting_at(starts: Sequence[bool], line_ends: Sequence[int], inside: Inside) -> Blocks:
    """Blocks that begin at the lines whose flag is set, and at the first line."""
    ends = array("q", (end for end, next_starts in zip(line_ends, starts[1:], strict=False) if next_starts))
    ends.append(line_ends[-1])
    return Blocks(ends, bytearray([inside]) * len(ends))


def last_start(starts: Sequence[bool], line_ends: Sequence[int]) -> int:
    """The offset of the last line whose flag is set; 0 if none is."""
    last = next((index for index in range(len(starts) - 1, 0, -1) if starts[index]), 0)
    return line_ends[last - 1] if last else 0
