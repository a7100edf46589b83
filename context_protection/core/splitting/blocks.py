"""Blocks of a text: what a chunk keeps whole, such as a log entry, a paragraph or a function."""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol


class Inside(IntEnum):
    """Where a block that is longer than a chunk's budget may be divided although it is under the cap."""

    NOWHERE = 0  # a log entry, a CSV record, a fenced block
    SENTENCES = 1
    LINES = 2  # a table, indented code
    DEFINITIONS = 3  # code: where one ends that is as shallow as any, else at a line


@dataclass(slots=True)
class Blocks:
    """The blocks of a text, in order: `ends[i]` is the offset after block i and the blank lines behind it.
    `bodies[i]` is where its body begins if it has a head: no chunk ends in or just after the head."""

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
        """The offset behind which the block may be divided."""
        return self.bodies.get(index) or (self.ends[index - 1] if index else 0)


class Reader(Protocol):
    """Reads a text, or one window of it after the other, into blocks. The first line of a window begins a block of
    the window even where it goes on with one of the window before."""

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> Blocks:
        """`is_last`: nothing follows these lines."""

    def go_past(self, text: str) -> None:
        """The next window begins behind `text`, with which the last one began."""


def starting_at(starts: Sequence[bool], line_ends: Sequence[int], inside: Inside) -> Blocks:
    """Blocks that begin at the lines whose flag is set; the first line begins one anyhow."""
    ends = array("q", (end for end, next_starts in zip(line_ends, starts[1:], strict=False) if next_starts))
    ends.append(line_ends[-1])
    return Blocks(ends, bytearray([inside]) * len(ends))


def last_start(starts: Sequence[bool], line_ends: Sequence[int]) -> int:
    """The offset of the last line whose flag is set; 0 if none is."""
    last = next((index for index in range(len(starts) - 1, 0, -1) if starts[index]), 0)
    return line_ends[last - 1] if last else 0
