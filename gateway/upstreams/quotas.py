"""Reads the remaining quota of an upstream from the usual rate limit headers."""

import re
from collections.abc import Mapping

NAMES = ("x-ratelimit-remaining", "ratelimit-remaining", "x-rate-limit-remaining")
IN_ONE = re.compile(r"(?:\br|\bremaining)\s*=\s*(\d{1,12})")  # `"default";r=50;t=30`, `limit=100, remaining=50`


def quota_left(headers: Mapping[str, str], before: int | None) -> int | None:
    """The remaining requests, or `before` if the headers do not say."""
    for name in NAMES:
        value = headers.get(name, "").strip()
        if value.isascii() and value.isdigit():
            return int(value[:12])
    found = IN_ONE.search(headers["ratelimit"]) if "ratelimit" in headers else None
    return int(found[1]) if found else before
