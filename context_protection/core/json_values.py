"""Converts between JSON and the values of any view or upstream, including those that orjson does not support."""

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import orjson

from context_protection.core.budget import dumps
from context_protection.core.digits import as_zeros

# orjson would round integers beyond 64 bits: those with 20 digits, or with a sign and 19. To find them, all digits are
# translated to 0 and a run of zeros is searched for: a regular expression takes longer than parsing. If only every
# sixth byte is read, such a run still has three digits. Most documents have no three in a row then, and need not be
# read as a whole. A long run in a fraction, or alone in a text, has another character before it than a number.
_RUN = b"0" * 19
_BEFORE_NUMBERS = b",[ \n\r\t"  # and the colon, which they are translated to, so that all are counted at once
_SAME_BEFORE = bytes.maketrans(_BEFORE_NUMBERS, b":" * len(_BEFORE_NUMBERS))
_NUMBERS = (b"-" + _RUN, b":" + _RUN + b"0")
_STEP, _DIGITS_AT_STEPS = 6, b"000"
ORJSON_LEVELS = 254  # the deepest nesting that orjson can write


def plain(value: Any) -> Any:
    """Converts `value` to JSON types. Raises TypeError or ValueError if JSON cannot express it."""
    return orjson.loads(written(value))


def written(value: Any) -> bytes:
    """`value` as compact JSON. Accepts large numbers and lone surrogates, as `loads` does. Raises the errors of
    `plain`."""
    try:
        return dumps(value)
    except TypeError:  # an integer beyond 64 bits, or a lone surrogate
        return dumps(loads(json.dumps(value, default=str).encode()))


def loads(data: bytes) -> Any:
    """Parses JSON. Integers beyond 64 bits, NaN and Infinity become strings; lone surrogates become `?`.

    Raises ValueError if it is not JSON, RecursionError if it is nested too deeply.
    """
    # The parser below accepts NaN, lone surrogates and deep nesting, or reports the error.
    with suppress(orjson.JSONDecodeError, orjson.JSONEncodeError):
        found, value = _long_numbers(data), orjson.loads(data)
        if not found or (b"\\u" not in data and found == _long_numbers(orjson.dumps(value))):
            return value
    value = json.loads(data, parse_int=_whole, parse_float=_fraction, parse_constant=str)
    return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def _long_numbers(data: bytes) -> int:
    """How many runs of digits there are that may be long numbers, in a text or not. orjson writes fewer digits of a
    number that it has rounded, so if it writes as many such runs as it has read, it has rounded none. Only an escape
    could add one."""
    if _DIGITS_AT_STEPS not in as_zeros(data[::_STEP]):
        return 0
    digits = as_zeros(data)
    if _RUN not in digits:
        return 0
    return sum(map(digits.translate(_SAME_BEFORE).count, _NUMBERS)) + digits.startswith(_RUN)


def is_within(value: Any, levels: int) -> bool:
    """Whether objects and lists are nested at most `levels` deep (0: `value` is neither). Does not recurse."""
    return _orjson_can_write(value, levels) or _is_nested_within(value, levels)


def _orjson_can_write(value: Any, levels: int) -> bool:
    """A check that suffices for most values, and takes a fifth of the time of `_is_nested_within`: orjson fails above
    ORJSON_LEVELS. To make it fail above `levels`, the value is wrapped in lists that use up the difference."""
    for _ in range(ORJSON_LEVELS - levels):
        value = [value]
    try:
        orjson.dumps(value)
    except TypeError:  # too deep, or not JSON
        return False
    return levels <= ORJSON_LEVELS


def _is_nested_within(value: Any, levels: int) -> bool:
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
    """Replaces NUL with U+FFFD, because Postgres cannot store NUL. External data may contain it anywhere."""
    match value:
        case str():
            return value.replace("\0", "\ufffd")
        case dict():
            return {storable(name): storable(each) for name, each in value.items()}
        case list():
            return [storable(each) for each in value]
    return value


def texts(value: Any) -> Iterator[str]:
    """Every text in `value`, at any depth. Names of members are not included."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as below:
                waiting.extend(below.values())
            case list() as below:
                waiting.extend(below)


def _whole(digits: str) -> int | str:
    if len(digits) > 20:
        return digits
    value = int(digits)
    return value if -(2**63) <= value < 2**64 else digits


def _fraction(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits
