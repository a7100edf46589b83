"""Finds the files that may hold a text. A file that holds it also has all of the text's trigrams (sequences of three
bytes). The signature of a file has a bit for each of its trigrams. Some trigrams share a bit, so a few files too many
may be found."""

import re
from collections.abc import Iterable
from itertools import groupby
from re import _parser  # type: ignore[attr-defined]  # the parser of the standard library has no public name

LENGTH = 3
MOST = 30  # trigrams of a query that are used; more would hardly exclude further files

# Bytes of a signature, and the prime number of its bits that are used. Larger files have larger signatures, so that
# about a sixth of the bits are set, except in files too large for the largest one.
PRIMES = {64: 509, 128: 1021, 256: 2039, 512: 4093, 1024: 8191, 2048: 16381, 4096: 32749, 8192: 65521}
_GRAMS_OF_A_BYTE = 2

_ASCII = re.compile(rf"[\0-\x7f]{{{LENGTH},}}")
# Letters that match an ASCII letter when case is ignored, though lower() does not turn them into it.
_LIKE_ASCII = str.maketrans({"İ": "i", "ı": "i", "ſ": "s"})


# Syntax that the standard library and the `regex` module read differently, in a pattern without its escapes: a bracket
# or a set operator within brackets, such as [[:alpha:]], and fuzzy matching, such as {e<=1}.
_READ_OTHERWISE = re.compile(r"\[\^?\]?[^\]]*(?:\[|--|&&|\|\||~~)|\{[^{}]*[eids][^{}]*\}")
_ESCAPE = re.compile(r"\\.", re.DOTALL)


def signature_of(text: str) -> bytes:
    grams = _grams(_folded(text))
    size = next((size for size in PRIMES if size * _GRAMS_OF_A_BYTE >= len(grams)), max(PRIMES))
    bits, prime = bytearray(b"0") * (size * 8), PRIMES[size]
    for gram in grams:
        bits[gram % prime] = 49  # the digit 1
    return int(bits[::-1], 2).to_bytes(size, "little")  # setting bit by bit would take as long as everything else


class GramsQuery:
    """Finds the files that may contain all of the texts, ignoring case. False if no text has three ASCII characters in
    a row."""

    def __init__(self, texts: Iterable[str]) -> None:
        # Only ASCII, because other letters fold their case in several ways.
        pieces = (piece for text in texts for piece in _ASCII.findall(_folded(text)))
        self._grams = sorted({gram for piece in pieces for gram in _grams(piece)})[:MOST]
        self._masks = {size: sum(1 << bit for bit in self.bits(size)) for size in PRIMES}

    def __bool__(self) -> bool:
        return bool(self._grams)

    def bits(self, size: int) -> set[int]:
        """The bits that are set in a signature of this size if the file holds the texts."""
        return {gram % PRIMES[size] for gram in self._grams}

    def may_be_in(self, signature: bytes) -> bool:
        mask = self._masks[len(signature)]
        return int.from_bytes(signature, "little") & mask == mask


def texts_in(expression: str) -> list[str]:
    """Texts that every match of the regular expression contains. Empty if the standard library, which parses it, cannot
    read it as the `regex` module does, which searches for it."""
    if _READ_OTHERWISE.search(_ESCAPE.sub("", expression)):
        return []
    try:
        parsed = _parser.parse(expression)
    except (re.error, RecursionError, OverflowError):
        return []
    runs = groupby(parsed, key=lambda each: each[0] is _parser.LITERAL)
    return ["".join(chr(code) for _, code in run) for is_literal, run in runs if is_literal]


def _folded(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_LIKE_ASCII).lower()


def _grams(text: str) -> set[int]:
    """The trigrams of the UTF-8 bytes. Reads four bytes at a time as one number, which is fast in Python."""
    data = memoryview(text.encode(errors="replace") + b"\0")
    found: set[int] = set()
    for start in range(LENGTH + 1):
        end = start + (len(data) - start) // 4 * 4
        found.update(data[start:end].cast("I"))
    return {four & 0xFFFFFF for four in found}
