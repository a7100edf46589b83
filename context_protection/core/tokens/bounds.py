"""Upper bounds of Claude's tokens, which count no tokens or only those of a few words and signs. Most answers are so
small that one of the bounds is within the hard cap."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from context_protection.core.digits import as_zeros
from context_protection.core.tokens.rulers import Ruler

# Tokens that a character may cost in addition to one for each of its bytes. A token has at least one byte, or is a
# mark. Each capital letter may have a mark, and so may each space between signs. A character outside ASCII may have two
# marks; if the vocabulary lacks it, it is spelled by its bytes.
_CAPITALS_AND_SPACES: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ "
_BEYOND_ASCII: Final = bytes(range(0x80, 0x100))
MORE_BEYOND_ASCII: Final = 2
_WITHOUT_MORE: Final = bytes(set(range(0x80)) - set(_CAPITALS_AND_SPACES)) + _BEYOND_ASCII
_ASCII: Final = bytes(range(0x80))


def most_tokens(data: bytes) -> int | None:
    """The most Claude tokens that JSON in UTF-8 can have; None if it has no bound. JSON holds no raw control
    characters, which normalization would join. Takes 5 µs per 10 KB."""
    most = len(data) + len(data.translate(None, _WITHOUT_MORE))
    if data.isascii():
        return most
    if not unicodedata.is_normalized("NFC", data.decode()):
        return None
    return most + MORE_BEYOND_ASCII * len(data.translate(None, _ASCII))


# Words between quotes, such as the name of a field, have the same tokens wherever they stand.
_WORDS: Final = re.compile(rb'"([A-Za-z][A-Za-z _-]{2,38}[A-Za-z])"')
# Signs that follow the names and texts of JSON. They have the same tokens beside any others. Only RunCounter.count cuts
# them, in rows of more than 16 signs, and is then above ctok's own count.
_SIGNS: Final = (b'":', b'",')
# Only the words in this many bytes at the end are counted, because the rows of a list share most words.
_LAST: Final = 2_000


# Three digits in a row are one token.
_THREE_DIGITS: Final = b"000"


def tighter_bound(data: bytes, most: int, enough: int, ruler: Ruler) -> int:
    """A tighter bound than `most`, the result of most_tokens. Counts digits by threes and the signs of JSON, then words
    from the end of the text, with all their repetitions, until the bound is at most `enough`. Takes 10 µs, and 2 µs
    for each word, in 13 KB."""
    if not ruler.counts:
        return most
    most -= (len(_THREE_DIGITS) - 1) * as_zeros(data).count(_THREE_DIGITS)
    for signs in _SIGNS:
        most -= data.count(signs) * _excess(signs, ruler.count)
    for words in sorted(set(_WORDS.findall(data[-_LAST:])), key=len, reverse=True):
        if most <= enough:
            break
        most -= data.count(b'"%b"' % words) * _excess(words, ruler.count)
    return most


@lru_cache(maxsize=2048)  # the answers of an operation repeat the names of its fields
def _excess(text: bytes, count: Callable[[str], int]) -> int:
    """The tokens by which the bound of a text exceeds its count."""
    return len(text) + len(text.translate(None, _WITHOUT_MORE)) - count(text.decode())
