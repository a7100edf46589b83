"""Hostile payloads for the laws: every kind of JSON value, text of every script, sizes around the cap."""

import random
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

SCRIPTS = [
    "The kitchen has an induction hob. Quiet hours begin at ten! Is there a lift? ",
    "静かな部屋です。海が見えます。朝食は七時からです。",
    "ห้องพักสะอาดมาก วิวสวย เจ้าของใจดี ",
    "Γειά σου Κόσμε. Привет, мир! ",
    "مرحبا بالعالم. غرفة جميلة جدا. ",
    "😀🏖️👨‍👩‍👧‍👦🇯🇵✨",
    "9f3a1c7e5b2d4860af17c3e59b0d8426",
    "QmFzZTY0IGlzIG5vdCBlbmNyeXB0aW9uLCBidXQgaXQgaXMgZGVuc2U",
    '{"nested":"json","n":[1,2.5,null]} ',
    "   \t\n\n   ",
    "line one\nline two\r\n\u2028 three\n",
]


def texts(most: int = 6000) -> st.SearchStrategy[str]:
    """Short ones of anything, and long ones of one script or a mixture."""
    return st.one_of(st.text(max_size=40), st.text(max_size=40), long_texts(most))


def long_texts(most: int) -> st.SearchStrategy[str]:
    return st.builds(
        _filled,
        st.lists(st.sampled_from(SCRIPTS), min_size=1, max_size=3),
        st.integers(0, most),
        st.integers(0, 2**16),
    )


def _filled(seeds: list[str], length: int, seed: int) -> str:
    order = random.Random(seed)
    pieces: list[str] = []
    size = 0
    while size < length:
        piece = order.choice(seeds)
        pieces.append(piece)
        size += len(piece)
    return "".join(pieces)[:length]


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
names = st.one_of(
    st.sampled_from(
        ["id", "name", "status", "meta", "_meta", "nextCursor", "items", "price.base", "", "note", "summary"]
    ),
    st.text(max_size=12),
    st.sampled_from(["guest", "guestName", "system", "secretCode", "other", "a.b"]),
    st.integers(0, 400).map(lambda n: f"a_name_that_is_long_{n}_" + "and_goes_on_" * 20),
)


def nested(most_leaves: int) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.one_of(scalars, texts()),
        lambda below: st.one_of(st.lists(below, max_size=8), st.dictionaries(names, below, max_size=8)),
        max_leaves=most_leaves,
    )


values = nested(25)
records = st.dictionaries(names, values, min_size=1, max_size=25)
# Smaller than records, as drawing them takes longer than the lists that are made of them.
rows = st.dictionaries(names, nested(8), min_size=1, max_size=8)


@st.composite
def large_records(draw: st.DrawFn) -> dict[str, Any]:
    """Records well over the hard cap: long lists, long texts, deep ones."""
    record = draw(records)
    row = draw(st.dictionaries(names, st.one_of(scalars, texts(400)), min_size=1, max_size=6))
    record["rows"] = [{**row, "n": n} for n in range(draw(st.integers(0, 400)))]
    record["story"] = draw(texts(60_000))
    record["deep"] = {"er": {"list": [draw(texts(20_000)), draw(texts(3_000))]}}
    return record


@st.composite
def lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows with ids; some of them alone over the cap."""
    count = draw(st.integers(0, 40) | st.integers(0, 40) | st.integers(41, 130))  # long ones take most of the time
    shapes = draw(st.lists(rows, min_size=1, max_size=3))
    drawn = [{**shapes[n % len(shapes)], "id": n} for n in range(count)]
    if drawn and draw(st.booleans()):
        drawn[draw(st.integers(0, count - 1))]["story"] = draw(texts(80_000))
    return drawn


def longest_path(value: Any, size: Callable[[str], int] = len) -> int:
    """The `size` of the names from the root to the deepest value: they stand twice in a part, and cannot be divided."""
    if isinstance(value, dict):
        return max((size(name) + longest_path(below, size) for name, below in value.items()), default=0)
    if isinstance(value, list):
        return max((longest_path(below, size) for below in value), default=0)
    return 0
