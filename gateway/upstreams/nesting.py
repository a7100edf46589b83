"""JSON that upstreams send, of no more levels than everything behind this border bears."""

import re
from collections.abc import Callable
from typing import Any

import orjson

from context_protection.core import json_limits, json_values
from gateway.upstreams.errors import UpstreamGarbled

DEEPEST = 250  # an answer puts a few levels around it, and our JSON knows 254
TOO_DEEP = "too_deep"

# A text, to the end of the document where it has none of its own; or a bracket.
_TEXT_OR_BRACKET = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*\\?(?:"|\Z)|[\[\]{}]', re.DOTALL)


def loads(data: bytes, parse: Callable[[bytes], Any] = orjson.loads, levels: int = DEEPEST) -> Any:
    """The document, read by `parse`. Raises ValueError for what is no JSON, UpstreamGarbled for what is too deep."""
    may_be_deep = data.count(b"[") + data.count(b"{") > levels
    try:
        value = parse(data)
    except (ValueError, RecursionError):
        if may_be_deep and json_limits.is_deeper(data, levels):
            raise too_deep(levels) from None
        raise
    return checked(value, levels) if may_be_deep else value


def checked(value: Any, levels: int = DEEPEST) -> Any:
    """Raises UpstreamGarbled for more levels."""
    if not json_values.is_within(value, levels):
        raise too_deep(levels)
    return value


def cut(data: bytes, levels: int = DEEPEST) -> bytes:
    """The document with null in the place of what begins below `levels` and one more: any parser reads it, and the
    parts of it that were too deep still are."""
    kept: list[bytes] = []
    first_cut, depth, begins = levels + 2, 0, 0
    for found in _TEXT_OR_BRACKET.finditer(data):
        mark = data[found.start() : found.start() + 1]
        if mark in (b"[", b"{"):
            depth += 1
            if depth == first_cut:
                kept += data[begins : found.start()], b"null"
        elif mark in (b"]", b"}"):
            if depth == first_cut:
                begins = found.end()
            depth -= 1
    return b"".join((*kept, data[begins:]))


def too_deep(levels: int = DEEPEST) -> UpstreamGarbled:
    return UpstreamGarbled(
        "Upstream answered with data that is nested too deeply.",
        reason=TOO_DEEP,
        expected=f"objects and lists nested at most {levels} levels deep",
        suggestion="Ask for less of it, if the operation lets you; else tell the operator.",
    )
