"""Finds, in one pass, the places in a text where a value may begin. A name without such a place nearby is skipped."""

import re
from bisect import bisect_left

from context_protection.core.cached_property import cached_property

_T = r"""[^\s<>|"'`()\[\]{}]"""  # a character of an unquoted value
# A count, a time or a decimal such as 2.5, without its first digit.
_SMALL = rf"(?<!{_T}\d)\d?(?:[:.,]\d\d?)?(?:[ap]m|h|uhr)?[.,;:!?]*(?!{_T})(?! \d)"
# The character class comes first, so that `re` skips all other characters quickly.
_CANDIDATE = re.compile(
    rf"""[\d"'\[<(&](?:(?<=\d)(?:(?P<small>{_SMALL})|\d*)|(?<=")(?=[^"'\n]{{1,64}}["'])"""
    rf"""|(?<=')(?=[^"'\n]{{1,64}}(?:"|'(?![a-z0-9])))|(?<=\[)withheld|(?<=[<(&]))"""
)
_END_OF_SENTENCE = re.compile(r"[.!?\n;]")


class Candidates:
    """All places in a folded text where a value may begin, directly or after markup. Most of them hold no secret."""

    def __init__(self, low: str) -> None:
        self.low = low
        # Cache of word scans: start -> (end, span of the value found there).
        self.stops: dict[int, tuple[int, tuple[int, int] | None]] = {}

    @cached_property
    def starts(self) -> list[int]:
        return [found.start() for found in _CANDIDATE.finditer(self.low) if found.lastgroup is None]

    def are_between(self, start: int, end: int) -> bool:
        at = bisect_left(self.starts, start)
        return at < len(self.starts) and self.starts[at] < end

    def are_in_sentence(self, start: int, end: int) -> bool:
        """Whether a candidate follows `start` before the sentence ends and before `end`."""
        at = bisect_left(self.starts, start)
        if at == len(self.starts) or self.starts[at] >= end:
            return False
        return _END_OF_SENTENCE.search(self.low, start, self.starts[at]) is None
