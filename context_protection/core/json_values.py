"""Values and bodies of any view, as JSON that keeps what it says."""

import json
import math
from typing import Any

import orjson

from context_protection.core.budget import dumps

# Whole numbers beyond 64 bits have as many digits; the fast parser would round them. A search by a pattern looks at
# each digit anew, which takes longer than parsing.
_EACH_DIGIT_AS_0 = bytes(ord("0") if chr(each).isdigit() and each < 128 else each for each in range(256))
_LONG_NUMBER = b"0" * 19


def plain(value: Any) -> Any:
    """`value` as JSON's own types. Raises TypeError or ValueError for what no JSON can say."""
    return orjson.loads(written(value))


def written(value: Any) -> bytes:
    """`value` as compact JSON, whatever its numbers and texts hold. Raises TypeError or ValueError as `plain` does."""
    try:
        return dumps(value)
    except TypeError:  # a number beyond 64 bits, half a surrogate pair
        return dumps(loads(json.dumps(value, default=str).encode()))


def loads(data: bytes) -> Any:
    """A JSON document. Numbers beyond 64 bits, NaN and Infinity become texts, halves of surrogate pairs `?`.

    Raises ValueError for what is not JSON, RecursionError for what is nested too deeply.
    """
    if _LONG_NUMBER not in data.translate(_EACH_DIGIT_AS_0):
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass  # the other parser knows NaN and lone surrogates, or says what is wrong
    value = json.loads(data, parse_int=_whole, parse_float=_fraction, parse_constant=str)
    return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def is_within(value: Any, levels: int) -> bool:
    """Whether its objects and lists are nested no deeper; 0 levels: it is neither. Without recursion."""
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        if not level:
            return True
        level = [
            below
            for each in level
            for below in (each.values() if isinstance(each, dict) else each)
            if isinstance(below, (dict, list))
        ]
    return not level


def storable(value: Any) -> Any:
    """JSON with U+FFFD in the place of NUL, which Postgres has none for: what strangers say may hold it anywhere."""
    match value:
        case str():
            return value.replace("\0", "\ufffd")
        case dict():
            return {storable(name): storable(each) for name, each in value.items()}
        case list():
            return [storable(each) for each in value]
    return value


def _whole(digits: str) -> int | str:
    if len(digits) > 20:
        return digits
    value = int(digits)
    return value if -(2**63) <= value < 2**64 else digits


def _fraction(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits
