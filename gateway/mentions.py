"""Finds the mentions of a text in stored data: in any case, and however often JSON has escaped it."""

import re
import unicodedata
from collections.abc import Callable

MOST_BYTES = 16  # of a character as stored: JSON takes six for one, and more if it is escaped again
ESCAPED_LETTER = re.compile(r"\\+u([0-9a-fA-F]{4})")
ESCAPED_SPACE = re.compile(r"(?<!\\)\\[bfnrt]")  # escaped twice, it looks like a text's own backslash and letter
SPACES = "\b\f\n\r\t"


def mention_of(text: str) -> Callable[[str], bool]:
    """Whether a stored text mentions `text`."""
    wanted = plain(text)
    return lambda stored: wanted in _without_escapes(stored)


def reach_of(text: str) -> int:
    """The most bytes of a mention of `text`."""
    return MOST_BYTES * len(text)


def plain(text: str) -> str:
    """The text in lower case, without backslashes, and with spaces for line breaks and tabs."""
    for space in SPACES:  # str.translate takes ten times as long
        text = text.replace(space, " ")
    return unicodedata.normalize("NFC", text.replace("\\", "").casefold())


def _without_escapes(stored: str) -> str:
    r"""The plain text of a stored one, with the letters that JSON wrote as \u…, and spaces for \n and \t."""
    if "\\" in stored:
        units = ESCAPED_LETTER.sub(lambda found: chr(int(found[1], 16)), ESCAPED_SPACE.sub(" ", stored))
        stored = units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return plain(stored)
