"""Reads an upstream's rate limit from the headers of its response: when to call again, and how many calls are left."""

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 3600  # the largest retry_after, in seconds
UNKNOWN_WAIT = 10  # seconds; for a busy upstream that does not say when to call again

CAPACITY = ("remaining", "limit")
PREFIXES = ("x-ratelimit-", "ratelimit-", "x-rate-limit-")
# RateLimit: `"default";r=50;t=30`, or in older drafts `limit=100, remaining=50, reset=30`
FIELDS = {
    "limit": re.compile(r"\blimit\s*=\s*(\d{1,12})"),
    "remaining": re.compile(r"(?:\br|\bremaining)\s*=\s*(\d{1,12})"),
    "reset": re.compile(r"(?:\bt|\breset)\s*=\s*(\d{1,12})"),
}
LEADING_NUMBER = re.compile(r"(\d{1,15})(?:\.\d+)?(?:\s*[,;].*)?")  # `100, 100;w=60` has policies behind the limit
FIRST_UNIX_TIME = 10**9  # a reset of at least this is a Unix time; a smaller one counts seconds from now
FIRST_UNIX_MILLISECONDS = 10**12  # a reset of at least this is a Unix time in milliseconds


def seconds_to_wait(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After, or else until the limit is reset; None if the headers do not say."""
    seconds = retry_after(headers)
    return _seconds_to_reset(headers) if seconds is None else seconds


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of Retry-After, which is a number or a date; None if missing or invalid."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:10])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def whole_seconds(seconds: float) -> int:
    """The `retry_after` of an error: at least 1, at most LONGEST_WAIT."""
    return max(1, min(LONGEST_WAIT, math.ceil(seconds)))


def quota_left(headers: Mapping[str, str], before: int | None) -> int | None:
    """The remaining requests, or `before` if the headers do not say."""
    left = _number(headers, "remaining")
    return before if left is None else left


def capacity(headers: Mapping[str, str]) -> dict[str, int]:
    """`remaining` and `limit`, in requests, as far as the headers have them."""
    named = {name: _number(headers, name) for name in CAPACITY}
    return {name: number for name, number in named.items() if number is not None}


def _seconds_to_reset(headers: Mapping[str, str]) -> float | None:
    reset = _number(headers, "reset")
    if reset is None or reset < FIRST_UNIX_TIME:
        return reset
    moment = reset / 1000 if reset >= FIRST_UNIX_MILLISECONDS else reset
    return max(0.0, moment - time.time())


def _number(headers: Mapping[str, str], name: str) -> int | None:
    for prefix in PREFIXES:
        value = headers.get(prefix + name)
        if value and (found := LEADING_NUMBER.fullmatch(value.strip())):
            return int(found[1])
    found = FIELDS[name].search(headers.get("ratelimit", ""))
    return int(found[1]) if found else None
