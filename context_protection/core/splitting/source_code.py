"""Blocks of source code."""

from array import array
from itertools import accumulate

from context_protection.core.splitting.blocks import Blocks, Inside, last_start, starting_at


class CodeReader:
    """Reads blocks of code. A block begins at the margin after a blank line, outside multi-line strings such as
    Python's. If a string stays open to the end, or through a quarter of a window, quotes are treated as ordinary
    text."""

    def __init__(self) -> None:
        self.in_string = self.is_stray = False

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> Blocks:
        quotes = list(accumulate((_long_quotes(line) for line in lines), initial=int(self.in_string)))
        outside = [before % 2 == 0 for before in quotes[:-1]]
        self.is_stray = quotes[-1] % 2 == 1 and (is_last or last_start(outside, line_ends) < line_ends[-1] * 3 // 4)
        at_margin = (bool(line) and not line[0].isspace() and line[0] not in "}])" for line in lines)
        starts = [starts and not above.strip() for starts, above in zip(at_margin, ("", *lines), strict=False)]
        if not self.is_stray:
            starts = [starts and is_outside for starts, is_outside in zip(starts, outside, strict=True)]
        return starting_at(starts, line_ends, Inside.DEFINITIONS)

    def go_past(self, text: str) -> None:
        self.in_string = not self.is_stray and (_long_quotes(text) + self.in_string) % 2 == 1


def _long_quotes(text: str) -> int:
    return text.count('"""') + text.count("'''")
