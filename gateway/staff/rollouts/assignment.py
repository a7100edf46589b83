"""Decides which callers a trial includes: always the same ones, and a larger share includes all callers of a smaller
one."""

import hashlib
import math
from collections.abc import Iterable

WHOLE = 2**64


def place(salt: str, caller: str) -> float:
    """The caller's fixed place in a trial: 0 to 1, evenly spread, and unrelated between two salts."""
    digest = hashlib.blake2b(caller.encode(), key=salt.encode()[:64], digest_size=8).digest()
    return int.from_bytes(digest, "big") / WHOLE


def cutoff(salt: str, share: float, callers: Iterable[str]) -> float:
    """The place up to which callers are included: `share` (0 to 1) of the known callers, but at least one of them,
    because 5 % of four callers would be none. Callers that are added later are included by their place."""
    if share >= 1:
        return 1.0
    places = sorted(place(salt, each) for each in set(callers))
    if not places or share <= 0:
        return max(0.0, share)
    return places[max(1, math.floor(share * len(places) + 0.5)) - 1]


def is_included(salt: str, caller: str, limit: float) -> bool:
    return place(salt, caller) <= limit
