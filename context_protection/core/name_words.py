"""Upstream's field names: the words in them, and which names a caller can request."""

import re
from functools import lru_cache

LONGEST = 80  # characters; longer names are never proposed
_WORD = re.compile(r"[^\W\d_]+|\d+")
# `floatingIPs` has two words: the plural s of an abbreviation starts no new word.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_ONE_WORD = re.compile(r"[\w-]+")
_FORBIDDEN = frozenset(".,*")  # special characters in `fields`


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case: `guestName`, `guest_name` and `guest-name` are ("guest", "name")."""
    return _words(name[:LONGEST])


@lru_cache(maxsize=8192)
def _words(name: str) -> tuple[str, ...]:
    return tuple(word.lower() for piece in _HUMP.split(name) for word in _WORD.findall(piece))


def queryable(name: str) -> bool:
    """Whether the name can be used in `fields` and in a preview."""
    return 0 < len(name) <= LONGEST and name == name.strip() and _FORBIDDEN.isdisjoint(name) and name != "all"


def can_be_a_section(name: str) -> bool:
    return queryable(name) and _ONE_WORD.fullmatch(name) is not None
