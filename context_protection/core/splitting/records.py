"""Records of JSON Lines and of CSV."""

from array import array
from itertools import accumulate

from context_protection.core.splitting.blocks import Blocks, Inside, last_start, starting_at


class JsonlReader:
    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> Blocks:
        return Blocks(line_ends[:], bytearray(len(line_ends)))

    def go_past(self, text: str) -> None:
        """Every line is a record, so there is no state to carry over."""


class CsvReader:
    """Reads CSV records. A record begins at a line where no quote is open, since a quoted field may contain line ends.
    If a quote stays open to the end (5" pipe), or through a quarter of a window, it is stray and every line is a
    record."""

    def __init__(self) -> None:
        self.in_quotes = self.is_stray = False

    def blocks(self, lines: list[str], line_ends: "array[int]", *, is_last: bool) -> Blocks:
        quotes = list(accumulate((line.count('"') for line in lines), initial=int(self.in_quotes)))
        starts = [before % 2 == 0 for before in quotes[:-1]]
        self.is_stray = quotes[-1] % 2 == 1 and (is_last or last_start(starts, line_ends) < line_ends[-1] * 3 // 4)
        if self.is_stray:
            starts = [True] * len(lines)
        return starting_at(starts, line_ends, Inside.NOWHERE)

    def go_past(self, text: str) -> None:
        self.in_quotes = not self.is_stray and (text.count('"') + self.in_quotes) % 2 == 1
