"""Finds where a text may be split, from coarse to fine: blocks, lines, sentences."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Protocol

from context_protection.core.splitting.blocks import Blocks, Inside
from context_protection.core.splitting.sentence_ends import Sentences


class Boundaries(Protocol):
    """The offsets at which a text may be cut, at one level of detail."""

    def last(self, after: int, room: int) -> int | None:
        """The last boundary past `after` and at most at `room`; None if there is none."""

    def first(self, after: int) -> int:
        """The first boundary past `after`."""


_DEEPEST = 100  # maximum indentation that is measured, in characters


class LineEnds:
    def __init__(self, ends: Sequence[int]) -> None:
        self.ends = ends

    def last(self, after: int, room: int) -> int | None:
        index = bisect_right(self.ends, room)
        return self.ends[index - 1] if index and self.ends[index - 1] > after else None

    def first(self, after: int) -> int:
        return self.ends[bisect_right(self.ends, after)]


class _DefinitionEnds(LineEnds):
    """The ends of lines in code. `last` prefers a blank line before a line with little indentation, where a method or a
    group of statements ends."""

    def __init__(self, text: str, ends: Sequence[int]) -> None:
        super().__init__(ends)
        self.text = text

    def last(self, after: int, room: int) -> int | None:
        end = super().last(after, room)
        low, high = bisect_right(self.ends, (after + room) // 2), bisect_right(self.ends, room)
        breaks = [self.ends[line] for line in range(max(low, 1), high) if self._is_blank(line)]
        return min(breaks, key=lambda at: (self._indentation(at), -at)) if breaks else end

    def _is_blank(self, line: int) -> bool:
        return self.text[self.ends[line - 1] : self.ends[line]].isspace()

    def _indentation(self, at: int) -> int:
        line = self.text[at : at + _DEEPEST]
        return len(line) - len(line.lstrip())


class LineSentences:
    """The ends of the sentences in a line. Used only for a line over the cap."""

    def __init__(self, text: str, line_ends: Sequence[int]) -> None:
        self.text, self.line_ends = text, line_ends
        self.line, self.sentences = -1, Sentences("", 0, 0)

    def last(self, after: int, room: int) -> int | None:
        return self._of_line(after).last(after, room)

    def first(self, after: int) -> int:
        return self._of_line(after).first(after)

    def _of_line(self, at: int) -> Sentences:
        line = bisect_right(self.line_ends, at)
        if line != self.line:
            start = self.line_ends[line - 1] if line else 0
            self.line, self.sentences = line, Sentences(self.text, start, self.line_ends[line])
        return self.sentences


class BlockEnds:
    """The ends of blocks, and of the parts (sentences, rows) into which a block under the cap may be divided."""

    def __init__(self, text: str, blocks: Blocks, line_ends: Sequence[int], by_lines: bool) -> None:
        self.text, self.blocks, self.by_lines = text, blocks, by_lines
        self.line_ends, self.definitions = LineEnds(line_ends), _DefinitionEnds(text, line_ends)
        self.divided, self.sentences = -1, Sentences("", 0, 0)

    def last(self, after: int, room: int) -> int | None:
        """Prefers the end of a block in the last third of the range to the end of a later sentence."""
        ends = self.blocks.ends
        block = bisect_right(ends, room)
        whole = ends[block - 1] if block and ends[block - 1] > after else None
        if block == len(ends) or (whole and (self.by_lines or (whole - after) * 3 >= (room - after) * 2)):
            return whole
        parts = self._parts(block)
        return (parts and parts.last(max(after, self.blocks.body(block)), room)) or whole

    def first(self, after: int) -> int:
        block = bisect_right(self.blocks.ends, after)
        end, parts = self.blocks.ends[block], self._parts(block)
        return min(parts.first(max(after, self.blocks.body(block))), end) if parts else end

    def _parts(self, block: int) -> Boundaries | None:
        match self.blocks.inside[block]:
            case Inside.LINES:
                return self.line_ends
            case Inside.DEFINITIONS:
                return self.definitions
            case Inside.SENTENCES:
                if block != self.divided:
                    start, end = self.blocks.body(block), self.blocks.ends[block]
                    self.divided, self.sentences = block, Sentences(self.text, start, end)
                return self.sentences
        return None
