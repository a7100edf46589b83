"""JSON that upstreams send, of no more levels than everything behind this border bears."""

from collections.abc import Callable
from typing import Any

import orjson

from context_protection import incoming, plain
from gateway.upstreams.errors import UpstreamGarbled

DEEPEST = 250  # an answer puts a few levels around it, and our JSON knows 254


def loads(data: bytes, parse: Callable[[bytes], Any] = orjson.loads, levels: int = DEEPEST) -> Any:
    """The document, read by `parse`. Raises ValueError for what is no JSON, UpstreamGarbled for what is too deep."""
    may_be_deep = data.count(b"[") + data.count(b"{") > levels
    try:
        value = parse(data)
    except (ValueError, RecursionError):
        if may_be_deep and incoming.is_deeper(data, levels):
            raise too_deep(levels) from None
        raise
    return checked(value, levels) if may_be_deep else value


def checked(value: Any, levels: int = DEEPEST) -> Any:
    """Raises UpstreamGarbled for more levels."""
    if not plain.is_within(value, levels):
        raise too_deep(levels)
    return value


def too_deep(levels: int = DEEPEST) -> UpstreamGarbled:
    return UpstreamGarbled(
        "Upstream answered with data that is nested too deeply.",
        reason="too_deep",
        expected=f"objects and lists nested at most {levels} levels deep",
        suggestion="Ask for less of it, if the operation lets you; else tell the operator.",
    )
