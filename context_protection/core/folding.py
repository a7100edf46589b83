"""The form of a text in which queries and searches compare it."""

import re
from unicodedata import normalize

_ACCENTS = re.compile("[\u0300-\u036f]")
ACCENTED, PLAIN = "ØŁĐ", "OLD"  # letters whose accent is no character of its own


def fold(text: str) -> str:
    """The form in which `contains` compares texts: without case in any script, and without accents. Postgres has no
    equivalent of casefold, which differs from this in a few letters such as the Turkish dotted I."""
    folded = text.lower().upper()
    if folded.isascii():
        return folded
    folded = normalize("NFC", _ACCENTS.sub("", normalize("NFD", folded)))
    for accented, plain in zip(ACCENTED, PLAIN, strict=True):  # str.translate takes 15 times as long
        folded = folded.replace(accented, plain)
    return folded
