"""Removes case and accents from names and texts, so that one spelling of a term matches all spellings."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase, digits

LONGEST_NAME = 200  # characters of a name that are classified; spellings of longer names are not cached
_CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NON_WORD = re.compile(r"[\W_]+")
_FRENCH_QUOTES = re.compile("«[ \u00a0\u202f]([^«»\n]{1,80})[ \u00a0\u202f]»")
_COMBINING = re.compile("[\u0300-\u036f]")


def _plain_letters() -> dict[int, str]:
    """A table from accented letters to plain ones. One letter replaces one letter, so that offsets in the folded text
    are offsets in the original."""
    table = {}
    for point in (*range(0xC0, 0x250), *range(0x1E00, 0x1F00)):
        plain = "".join(each for each in unicodedata.normalize("NFKD", chr(point)) if not unicodedata.combining(each))
        if len(plain) == 1 and plain.isascii():
            table[point] = plain.lower()
    return table


_SAME_MEANING = {
    '"': "„“”‟«»〝〞＂",
    "'": "‘’‚‛‹›´`′＇",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u3000",
    "-": "‐‑‒–—―−",
    ":": "：",
    "=": "＝",
    "0123456789": "０１２３４５６７８９",
}
_TABLE = _plain_letters()
for _sign, _others in _SAME_MEANING.items():
    _TABLE.update({ord(other): _sign[at % len(_sign)] for at, other in enumerate(_others)})
_IN_TABLE = re.compile(f"[{''.join(map(chr, _TABLE))}]")
# A text with more different characters of the table is translated in one pass; else each character is replaced.
_MOST_REPLACED = 100
_ASCII = bytes(range(0x80))


_IN_WORDS, _CAPITALS = (ascii_lowercase + digits).encode(), ascii_uppercase.encode()
# These tables replace all other bytes by spaces.
_WORDS = bytes(each if each in _IN_WORDS else ord(" ") for each in range(256))
_LINES_OF_WORDS = bytes(each if each in _IN_WORDS + b"\n" else ord(" ") for each in range(256))
_CASES = bytes(ord("a" if each in _IN_WORDS else "A" if each in _CAPITALS else " ") for each in range(256))
_FIRST_BYTES_OF_COMBINING = (b"\xcc", b"\xcd")  # in UTF-8


def composed(text: str) -> str:
    """The text with each accent and its letter as one character; the same object if nothing changes."""
    return unicodedata.normalize("NFC", text) if _has_combining(text) else text


def _has_combining(text: str) -> bool:
    if text.isascii():
        return False
    data = text.encode("utf-8", "surrogatepass")  # the pattern takes five times as long to find none
    return any(map(data.__contains__, _FIRST_BYTES_OF_COMBINING)) and _COMBINING.search(text) is not None


def fold_keeping_length(text: str) -> str:
    """The text in lower case, without accents, with plain quotes, dashes and spaces. The length stays the same."""
    if text.isascii():
        return text.replace("`", "'").lower()
    if "«" in text:
        text = _FRENCH_QUOTES.sub(r" «\1» ", text)  # the spaces inside the quotes move outside
    return _plain(text).lower()  # the table has the one letter whose lower case is longer


def _plain(text: str) -> str:
    """Equal to `text.translate(_TABLE)`. Takes a tenth to a half of the time, unless the text has very many different
    such characters."""
    beyond_ascii = text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")
    found = {"`", *_IN_TABLE.findall(beyond_ascii)}  # the only one of the table in ASCII
    if len(found) > _MOST_REPLACED:
        return text.translate(_TABLE)
    for character in found:
        text = text.replace(character, _TABLE[ord(character)])
    return text


def spaced(name: str) -> str:
    """A field name as folded words: `frontDoor_Code-2` becomes `front door code 2`."""
    return _cached(name) if len(name) <= LONGEST_NAME else _spaced(name)


def _spaced(name: str) -> str:
    return _NON_WORD.sub(" ", fold_keeping_length(composed(_CASE_CHANGE.sub(" ", name)))).strip()


def lines_of_words(names: Sequence[str]) -> bytes:
    """A line for each name: its folded words, each behind a space. Letters beyond ASCII become spaces. For many names,
    this takes a tenth of the time of `spaced`."""
    text = "\n ".join(names)
    if text.count("\n") >= len(names):
        text = "\n ".join(name.replace("\n", " ") for name in names)
    if _may_change_case(text):
        text = _CASE_CHANGE.sub(" ", text)
    if _has_combining(text):  # each name alone, because composing may change others too
        text = "\n".join(map(composed, text.split("\n")))
    words = _bytes(fold_keeping_length(f" {text}\n"), _LINES_OF_WORDS)
    while b"  " in words:
        words = words.replace(b"  ", b" ")
    return words.replace(b" \n", b"\n")


def _may_change_case(text: str) -> bool:
    """False if _CASE_CHANGE finds nothing. Takes a fiftieth of the time in a long text."""
    cases = cases_in(text)
    return b"aA" in cases or b"AAa" in cases


def words_in(low: str) -> bytes:
    """A byte for each character of a folded text: letters and digits, and a space for every other."""
    return _bytes(low, _WORDS)


def cases_in(text: str) -> bytes:
    """A byte for each character: `A` for a capital letter, `a` for a small one or a digit, a space for every other.
    Letters beyond ASCII become spaces."""
    return _bytes(text, _CASES)


def _bytes(text: str, table: bytes) -> bytes:
    return text.encode("latin-1", "replace").translate(table)


def compact(name: str) -> str:
    """The form in which names are compared: `Door code`, `door_code` and `doorCode` all become `doorcode`."""
    return spaced(name).replace(" ", "")


_cached = lru_cache(maxsize=2048)(_spaced)  # a name is classified by several rules, which need its words
