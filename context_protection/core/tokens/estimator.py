"""Estimates the tokens of a text from slices of it and from the weights of its bytes."""

import math
import unicodedata
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count, repeat
from operator import and_
from typing import Final

from context_protection.core.tokens.length_formula import formula

# Characters that are processed at once, to bound memory. Each boundary may add a token or two.
SEGMENT: Final = 1 << 16
# Characters per slice.
SLICE: Final = 128
FIRST_SLICES: Final = 24
MAX_SLICES: Final = 192
# Slices agree well enough at this relative standard error.
TOLERANCE: Final = 0.03
# Tokens by which a slice is counted too high, because it cuts a run at each end.
CUT_RUNS: Final = 0.5
# A text with fewer tokens per character is mostly white space and repeated signs. It is counted in full, because most
# of its tokens may be in a few places that no slice hits. Counting such a text is quick.
THIN: Final = 0.15


@dataclass(frozen=True, slots=True)
class TokenSample:
    """Tokens and weights of slices of a text. Tokens per weight vary far less between parts of a document than
    tokens per character.
    """

    tokens: tuple[float, ...]
    weights: tuple[int, ...]

    def __add__(self, other: "TokenSample") -> "TokenSample":
        return TokenSample(self.tokens + other.tokens, self.weights + other.weights)

    @property
    def slices(self) -> int:
        return len(self.tokens)

    @property
    def rate(self) -> float:
        """Tokens per weight."""
        return sum(self.tokens) / sum(self.weights)

    @property
    def error(self) -> float:
        """The relative standard error of the rate."""
        rate, slices = self.rate, self.slices
        spread = sum((t - rate * w) ** 2 for t, w in zip(self.tokens, self.weights, strict=True))
        return math.sqrt(spread * slices / (slices - 1)) / sum(self.tokens)

    @property
    def thin(self) -> bool:
        return sum(self.tokens) < THIN * SLICE * self.slices


# Tokens per UTF-8 byte, by kind of byte: typical, and at most. A lead byte represents its script.
# Both columns were fitted to ctok's counts of 1,431 texts in 20 classes (JSON, logs, CSV, ids, code, prose,
# translations into 60 languages) and 300 mixtures of them; the second also to 80 extremes (noise, rare scripts).
# Typical: least squares of the relative error; within 20 % on 94 % of the texts.
# At most: the lowest linear bound that none of the texts exceeds, rounded up. It does not hold for long repeats of
# the commonest letters ("aaaa", "onesto"), and was at worst 8 % too low on 3,536 further texts. The bound
# of "bfgkvwy" was raised because the sum was 12 % too low on a Welsh text.
_BYTES: Final = (
    (b"aeinorst", 0.05, 0.35),
    (b"cdhlmpu", 0.7, 0.6),
    (b"bfgkvwy", 1.3, 1.2),
    (b"jqxz", 2.0, 2.25),
    (b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0.95, 1.0),
    (b"0123456789", 0.6, 1.25),
    (b" ", 0.1, 0.1),
    (b"\n\t", 1.2, 1.0),
    (b"\"'*-=_#~<>|.", 0.45, 0.6),
    (b"!$%&()+,/:;?@[]^`{}\\", 1.1, 1.6),
    (range(0x80, 0xC0), 0.4, 0.5),  # continuation bytes
    (range(0xC2, 0xC4), 1.55, 1.25),  # é ß
    (range(0xC4, 0xCC), 1.15, 1.95),  # ł ş
    (range(0xCC, 0xD2), 0.1, 0.3),  # Greek, Cyrillic
    (range(0xD2, 0xE0), 0.4, 2.25),  # Hebrew, Arabic
    (range(0xE0, 0xE1), 0.3, 1.6),  # Indic, Thai
    (range(0xE1, 0xE2), 0.25, 2.5),  # Georgian, Khmer
    (range(0xE2, 0xE3), 0.95, 2.8),  # dashes, arrows, boxes
    (range(0xE3, 0xE4), 0.05, 0.95),  # kana
    (range(0xE4, 0xEA), 0.5, 1.4),  # Han
    (range(0xEA, 0xEE), 0.55, 2.3),  # Hangul
    (range(0xEE, 0xF0), 0.05, 2.6),  # full width
    (range(0xF0, 0x100), 1.75, 2.8),  # emoji
)
# Weights are multiples of this many tokens. Every byte weighs at least one unit.
_UNIT: Final = 0.05
# The lower half of adler32 is the sum of the bytes modulo 65,521, computed in C. Blocks of this size stay below that.
_BLOCK: Final = 1_024


def byte_table(weights: Iterable[tuple[bytes | range, int]]) -> bytes:
    """The weight of each byte; 1 for those of no kind."""
    table = bytearray(b"\1" * 256)
    for kind, weight in weights:
        for byte in kind:
            table[byte] = weight
    return bytes(table)


TYPICAL: Final = byte_table((kind, round(typical / _UNIT)) for kind, typical, _ in _BYTES)
AT_MOST: Final = byte_table((kind, round(at_most / _UNIT)) for kind, _, at_most in _BYTES)


def weigh(text: str, weights: bytes) -> int:
    """The sum of the `weights` of the text's UTF-8 bytes, in twentieths of a token. Takes 0.1 ms per 100 KB."""
    segments = (text[start : start + SEGMENT] for start in range(0, len(text), SEGMENT))
    return sum(weigh_bytes(segment.encode("utf-8", "surrogatepass"), weights) for segment in segments)


def weigh_bytes(data: bytes, weights: bytes) -> int:
    """The sum of the `weights` of the bytes."""
    weighed = data.translate(weights)
    blocks = map(weighed.__getitem__, map(slice, range(0, len(weighed), _BLOCK), count(_BLOCK, _BLOCK)))
    return sum(map(and_, map(zlib.adler32, blocks, repeat(0)), repeat(0xFFFF)))  # loops in C


def typical(data: bytes) -> float:
    """Claude tokens by weights alone: within 20 % on 94 % of texts."""
    return weigh_bytes(data, TYPICAL) * _UNIT


def guarded(text: str) -> int:
    """Claude tokens without ctok: the formula or the upper bound by kinds of bytes, whichever is larger. The result is
    1.4 times the true count at the median, up to 2 times on CJK and logs, and 4 times on rare scripts. It may be a
    quarter of the true count of a text that repeats a letter, a sign or a combining mark.
    """
    return max(formula(text), math.ceil(weigh(text, AT_MOST) * _UNIT))


def most_by_bytes(text: str) -> int:
    """The most Claude tokens that any text with as many bytes has: 5 to 8 times the true count of usual texts. It is
    reached by rare capital letters between signs, of which each has three marks in addition to its two bytes.
    """
    normal = text if text.isascii() else unicodedata.normalize("NFC", text)
    return 2 * len(normal.encode("utf-8", "surrogatepass"))
