"""Extracts of long texts for previews: the first sentences, a later one with a keyword, and how much is missing."""

import re
from collections.abc import Iterator
from itertools import islice

from context_protection.core.splitting import sentences
from context_protection.core.splitting.segments import segments

# Words about bookings that make a sentence worth showing.
_KEYWORD = re.compile(
    r"\b(?:guests?|bookings?|prices?|check-?ins?|check-?outs?|amenit(?:y|ies)|refund|cancel|payment)", re.IGNORECASE
)
LEADING = 0.6  # share of an extract that its first sentences may take if a later one follows
MAX_MATCHES = 3  # keywords that are examined
SEARCHED = 4000  # characters that are searched for keywords
LONGEST_WORD = 20  # characters; texts with longer words on average have no spaces, and are counted in characters
GAP = " … "
_OTHER_WHITE_SPACE = ("  ", *"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f")  # in ASCII


def extract(text: str, limit: int) -> str:
    """An extract of at most `limit` characters of a longer text. The same text always gives the same extract."""
    start = sentences.head(text, limit)
    leading = sentences.whole_sentences(text, int(limit * LEADING))
    room = limit - len(leading) - len(GAP)
    later = next((each for each in _with_keyword(text, len(start), room) if len(each) <= room), "") if leading else ""
    return f"{leading}{GAP}{later}" if later else start


def missing(text: str, shown: str) -> str:
    """How much of `text` its extract lacks, such as "47 of 190 words"."""
    words = _count_of_words(text)
    if len(text) > words * LONGEST_WORD:
        return f"{len(text) - len(shown.replace(GAP, '')):,} of {len(text):,} characters"
    return f"{words - _count_of_words(shown.replace(GAP, ' ')):,} of {words:,} words"


def _count_of_words(text: str) -> int:
    """len(text.split()), in a third of the time if all white space of the text is single spaces."""
    has = text.__contains__
    if text.isascii() and not (text.startswith(" ") or text.endswith(" ") or any(map(has, _OTHER_WHITE_SPACE))):
        return text.count(" ") + 1 if text else 0
    return len(text.split())


def _with_keyword(text: str, start: int, reach: int) -> Iterator[str]:
    """The sentences at and after `start` that contain a keyword, if they lie within `reach` characters around it."""
    for match in islice(_KEYWORD.finditer(text, start, start + SEARCHED), MAX_MATCHES):
        begin, end = max(start, match.start() - reach), match.end() + reach
        at = begin
        for sentence in segments("en", text[begin:end]):
            before, at = at, at + len(sentence)
            if before <= match.start() < at:
                is_whole = (before > begin or begin == start) and (at < end or at >= len(text))
                yield from [sentence.strip()] if is_whole else []
