"""Where values may stand in a text, found in one pass: names with none of them nearby need no closer look."""

import re
from bisect import bisect_left

from context_protection.core.cached_property import cached_property

_T = r"""[^\s<>|"'`()\[\]{}]"""  # a character of a token, as values are
# A count, a time, 2.5: behind its first digit.
_SMALL = rf"(?<!{_T}\d)\d?(?:[:.,]\d\d?)?(?:[ap]m|h|uhr)?[.,;:!?]*(?!{_T})(?! \d)"
# The class of characters stands first, so that `re` passes over all others at once.
_CANDIDATE = re.compile(
    rf"""[\d"'\[<(&](?:(?<=\d)(?:(?P<small>{_SMALL})|\d*)|(?<=")(?=[^"'\n]{{1,64}}["'])"""
    rf"""|(?<=')(?=[^"'\n]{{1,64}}(?:"|'(?![a-z0-9])))|(?<=\[)withheld|(?<=[<(&]))"""
)
_END_OF_SENTENCE = re.compile(r"[.!?\n;]")


class Candidates:
    """The places in a folded text where a value may begin, or what lets one stand further away. A place that is not
    among them is none; most that are hold no secret."""

    def __init__(self, low: str) -> None:
        self.low = low
        # Of walks over words, by where they begin: where each ends, and the value there.
        self.stops: dict[int, tuple[int, tuple[int, int] | None]] = {}

    @cached_property
    def starts(self) -> list[int]:
        return [found.start() for found in _CANDIDATE.finditer(self.low) if found.lastgroup is None]

    def are_between(self, start: int, end: int) -> bool:
        at = bisect_left(self.starts, start)
        return at < len(self.starts) and self.starts[at] < end

    def are_in_sentence(self, start: int, end: int) -> bool:
        """Whether one follows before the sentence ends, and before `end`."""
        at = bisect_left(self.starts, start)
        if at == len(self.starts) or self.starts[at] >= end:
            return False
        return _END_OF_SENTENCE.search(self.low, start, self.starts[at]) is None
