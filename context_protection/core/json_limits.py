"""Limits of JSON that clients send, checked on the bytes before a parser creates objects.

A megabyte of `[[],[],…]` becomes forty megabytes of objects, and the parser blocks the event loop meanwhile.
"""

from typing import Any

import orjson

from context_protection.core.errors import InvalidArgument

MAX_VALUES = 10_000  # members of objects and elements of lists in total
DEEPEST = 100  # levels of objects and lists; a list of plain values has 1
MAX_QUOTES = 4 * MAX_VALUES + 2  # two for each name, and two for each string value

_ALL_BUT_BRACKETS = bytes(each for each in range(256) if each not in b"[]{}")
_WHITESPACE = b" \t\r\n"
_OPENING = b"[{"


def loads(data: bytes | str, parameter: str = "body") -> Any:
    """Parses a client's document. Raises InvalidArgument, naming `parameter`, if it is too large or too deep, and
    ValueError if it is not JSON."""
    check(data, parameter)
    return orjson.loads(data)


def check(data: bytes | str, parameter: str = "body") -> None:
    """Raises InvalidArgument for more than MAX_VALUES values or DEEPEST levels. It does not check that the data is
    JSON: a parser creates no more objects from invalid data than this function counts."""
    text = data.encode("utf-8", "replace") if isinstance(data, str) else data
    lists, objects = text.count(b"["), text.count(b"{")
    # Each value except the first of its list or object has a comma. Commas within strings count too, so this is an
    # upper bound.
    if lists + objects <= DEEPEST and lists + objects + text.count(b",") <= MAX_VALUES:
        return
    bare = _without_texts(text, parameter)
    if _values(bare) > MAX_VALUES:
        raise _too_many(parameter)
    if _is_deeper(bare, DEEPEST):
        raise _too_deep(parameter)


def is_deeper(text: bytes, levels: int) -> bool:
    """Whether a document has more than `levels` levels. An invalid one is examined up to its first stray bracket."""
    return _is_deeper(_between_quotes(_without_escapes(text)), levels)


def _without_texts(text: bytes, parameter: str) -> bytes:
    """The document with a quote in place of each string. Each step is a single loop in C over the bytes."""
    text = _without_escapes(text)
    if text.count(b'"') > MAX_QUOTES:  # check before `split` creates a piece for each
        raise _too_many(parameter)
    return _between_quotes(text)


def _without_escapes(text: bytes) -> bytes:
    return text.replace(rb"\\", b"").replace(rb"\"", b"")


def _between_quotes(text: bytes) -> bytes:
    return b'"'.join(text.split(b'"')[::2]).translate(None, _WHITESPACE)


def _values(bare: bytes) -> int:
    opened = bare.count(b"[") + bare.count(b"{")
    empty = bare.count(b"[]") + bare.count(b"{}")
    return bare.count(b",") + opened - empty


def _is_deeper(bare: bytes, levels: int) -> bool:
    """Stops at a closing bracket without an opening one: the rest is not JSON."""
    depth = 0
    for bracket in bare.translate(None, _ALL_BUT_BRACKETS):
        depth += 1 if bracket in _OPENING else -1
        if depth > levels:
            return True
        if depth < 0:
            break
    return False


def _too_many(parameter: str) -> InvalidArgument:
    return InvalidArgument(
        f"{parameter} has more than {MAX_VALUES:,} values.",
        reason="too_many_values",
        parameter=parameter,
        expected=f"at most {MAX_VALUES:,} members of objects and elements of lists in total",
        suggestion="Send less in one request.",
    )


def _too_deep(parameter: str) -> InvalidArgument:
    return InvalidArgument(
        f"{parameter} is nested more than {DEEPEST} levels deep.",
        reason="too_deep",
        parameter=parameter,
        expected=f"objects and lists nested at most {DEEPEST} levels deep",
        suggestion="Send a flatter document.",
    )
