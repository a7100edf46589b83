"""Texts of characters that cost many tokens, need escapes, or are easily taken for something else."""

from functools import cache
from random import Random

from tests.properties.payloads import SCRIPTS

MOST_DRAWN = 20_000  # pieces; a longer text repeats them


def _between(first: int, last: int) -> list[str]:
    return [chr(point) for point in range(first, last + 1)]


def _planes() -> list[str]:
    order = Random(0)
    return [chr(point) for point in order.sample(range(0x110000), 4000) if not 0xD800 <= point <= 0xDFFF]


ALPHABETS: dict[str, list[str]] = {
    "words": ["quay ", "dromedary ", "is ", "at ", "ten ", "and ", "a ", "calm ", "sea ", "hob ", "quiet. "],
    "scripts": SCRIPTS,
    "cjk": _between(0x4E00, 0x9FFF),
    "kana and hangul": [*_between(0x3041, 0x30FF), *_between(0xAC00, 0xD7A3)],
    "rare ideographs": _between(0x20000, 0x20FFF),
    "arabic and hebrew": [*_between(0x0621, 0x064A), *_between(0x05D0, 0x05EA), " "],
    "indic": [
        *_between(0x0905, 0x0939), *_between(0x093E, 0x094D), *_between(0x0B85, 0x0BCD),
        *_between(0x0C85, 0x0CCD),
    ],
    "south-east asian": [*_between(0x0E01, 0x0E3A), *_between(0x1000, 0x1049), *_between(0x1780, 0x17D2)],
    "emoji": [
        "👨‍👩‍👧‍👦", "🏳️‍🌈", "👍🏿", "🇯🇵", "❤️", "1️⃣", *_between(0x1F300, 0x1F64F), "\u200d", "\ufe0f",
        "\U000e0067",
    ],
    "combining": ["a", "e", "o", "Z", *_between(0x0300, 0x036F), *_between(0x1AB0, 0x1ABE)],
    "rare capitals": [
        *_between(0x0100, 0x024F), *_between(0x10400, 0x1044F), *_between(0x13A0, 0x13F5),
        *_between(0x1C90, 0x1CBA),
    ],
    "mathematical": [*_between(0x1D400, 0x1D7FF), *_between(0x2200, 0x22FF)],
    "controls": [*_between(0x00, 0x1F), *_between(0x7F, 0x9F)],
    "box drawing": [*_between(0x2500, 0x259F), "\n"],
    "spaces": [" ", "\t", "\n", "\r\n", "\u00a0", "\u2028", "\u3000", "\u200b", "\ufeff"],
    "direction marks": ["\u200e", "\u200f", *_between(0x202A, 0x202E), *_between(0x2066, 0x2069), "שלום", "abc", " "],
    "escapes": ['"', "\\", "/", "\b", "\f", "\n", "\r", "\t", "\x00", "<", ">", "&", "'", "\u2029"],
    "base64": list("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"),
    "hex": list("0123456789abcdef"),
    "digits": list("0123456789.,-+eE"),
    "signs": list("!#$%&()*+,-./:;<=>?@[]^_`{|}~"),
    "capitals": list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "code": [
        "function(", "){", "}", "return ", "var ", "a", "t", "e", "=", ";", "!0", "&&", "||", "=>", ".",
        "[0]", '"use strict"', "\n",
    ],
    "secrets": [
        "password: ", "door code ", "4111 1111 1111 1111", "Wi-Fi ", "token=", "a@b.example",
        "+49 30 1234567", " ",
    ],
    "json": [
        '{"', '":', '"', "[", "]", "{", "}", ",", "null", "1e5", "nextCursor", "meta",
        "…[+147 of 190 words: fields=note]",
    ],
    "all planes": _planes(),
    "private use": [*_between(0xE000, 0xE0FF), *_between(0xFFF0, 0xFFFD), "\U0010ffff"],
}  # fmt: skip
_NAMES = list(ALPHABETS)
LONE_SURROGATES = ["\ud800", "\udfff", "\udbff", "a"]


@cache
def _pieces(*names: str) -> list[str]:
    return [piece for name in names for piece in ALPHABETS[name]]


def text(order: Random, length: int) -> str:
    """Of one alphabet or two, whole, or of only a few of its pieces."""
    pieces = _pieces(*order.sample(_NAMES, order.choice((1, 1, 2))))
    if order.random() < 0.2:
        pieces = order.sample(pieces, min(len(pieces), order.randint(1, 3)))
    gap = order.choice(("", "", " ", "\n"))
    drawn = gap.join(order.choices(pieces, k=min(length, MOST_DRAWN)))
    return (drawn * (length // max(len(drawn), 1) + 1))[:length]


def with_lone_surrogates(order: Random) -> str:
    return "".join(order.choices(LONE_SURROGATES, k=order.randint(1, 20)))
