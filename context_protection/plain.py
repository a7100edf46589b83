"""Values and bodies of any view, as JSON that keeps what it says."""

import json
import math
import re
from typing import Any

import orjson

from context_protection.budget import dumps

# Whole numbers beyond 64 bits have as many digits; the fast parser would round them.
_LONG_NUMBER = re.compile(rb"[0-9]{19}")


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
    if not _LONG_NUMBER.search(data):
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            pass  # the other parser knows NaN and lone surrogates, or says what is wrong
    value = json.loads(data, parse_int=_whole, parse_float=_fraction, parse_constant=str)
    return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _whole(digits: str) -> int | str:
    if len(digits) > 20:
        return digits
    value = int(digits)
    return value if -(2**63) <= value < 2**64 else digits


def _fraction(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits
