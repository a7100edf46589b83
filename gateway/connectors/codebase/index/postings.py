"""Postings: numbers by which Postgres indexes a file. With them, Postgres proposes nearly the same files that the
ranking would put first.

A posting combines a term and a level in one number. The level says how much the term counts in the file, by the
ranking's weights and for a file of usual length. So the index alone can score a file: it sums what the file's terms are
worth at their levels.
"""

import hashlib
import struct
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from gateway.connectors.codebase.index.document import IndexedDocument
from gateway.connectors.codebase.index.ranking import WEIGHTS

LEVELS = 4
_BOUNDS = (0.12, 0.27, 0.45)  # between the levels: how much a term counts, 0 to 1
_WORTH = (0.09, 0.2, 0.36, 0.6)  # roughly how much a term counts at each level
_PATH, _SYMBOLS, _BODY, _PAST = 8, 40, 600, 20  # terms of a file of usual length
_SYMBOL = "\0"  # prefix of the lower-case name of a definition
_KEPT = 50_000  # terms whose numbers are cached


def postings_of(document: IndexedDocument) -> bytes:
    """The postings as an array of bigint in Postgres' wire format."""
    terms = document.terms
    counts: Counter[str] = Counter()
    path, symbols, body = document.lengths
    for words, length, usual, weight in (
        (terms.path, path, _PATH, WEIGHTS.path),
        (terms.symbols, symbols, _SYMBOLS, WEIGHTS.symbols),
        (terms.body, body, _BODY, WEIGHTS.body),
    ):
        scale = weight / (1 - WEIGHTS.b + WEIGHTS.b * length / usual)
        for word, count in Counter(words.split()).items():
            counts[word] += scale * count  # type: ignore[assignment]
    found = {_number(term) | _level(total) for term, total in counts.items()}
    found |= {symbol_posting(symbol.name) for symbol in document.symbols}
    return _array(found)


def past_postings_of(terms: str, length: int) -> bytes:
    scale = WEIGHTS.past / (1 - WEIGHTS.b_past + WEIGHTS.b_past * length / _PAST)
    return _array({_number(term) | _level(scale * count) for term, count in Counter(terms.split()).items()})


def searched(rarity: Mapping[str, float]) -> tuple[list[int], list[float]]:
    """The postings of each term at all LEVELS, and what each of them is worth."""
    pairs = [
        (_number(term) | level, worth * _WORTH[level]) for term, worth in rarity.items() for level in range(LEVELS)
    ]
    return [posting for posting, _ in pairs], [worth for _, worth in pairs]


def symbol_posting(name: str) -> int:
    return _number(_SYMBOL + lower(name))


def lower(name: str) -> str:
    """The name in lower case if it is ASCII, otherwise the name itself."""
    return name.lower() if name.isascii() else name


@lru_cache(_KEPT)
def _number(term: str) -> int:
    """A hash of the term, with its last bits free for the level."""
    digest = hashlib.blake2b(term.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, signed=True) & -LEVELS


def _level(total: float) -> int:
    return bisect(_BOUNDS, total / (WEIGHTS.k1 + total))


def _array(numbers: Iterable[int]) -> bytes:
    values = sorted(numbers)
    head = struct.pack(">5i", 1, 0, _BIGINT, len(values), 1) if values else struct.pack(">3i", 0, 0, _BIGINT)
    pairs = [part for value in values for part in (8, value)]
    return head + struct.pack(f">{'iq' * len(values)}", *pairs)


_BIGINT = 20  # Postgres' number of the type
