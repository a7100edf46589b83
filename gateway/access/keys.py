"""Generates API keys, and derives the hash and prefix that are stored."""

import hashlib
import re
import secrets

PREFIX = "slc_"
_FORM = re.compile(rf"{PREFIX}[\w-]{{43}}", re.ASCII)
SHOWN_CHARS = len(PREFIX) + 6


def new_key() -> str:
    return f"{PREFIX}{secrets.token_urlsafe(32)}"


def digest(key: str) -> str:
    """The stored hash of a key. A key has 256 random bits, so a plain hash suffices."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def hint(key: str) -> str:
    """The part of an unknown key that may be shown: its first characters if it looks like one of our keys. Any other
    secret, sent by mistake, is not shown at all."""
    return prefix(key) if _FORM.fullmatch(key) else ""


def prefix(key: str) -> str:
    """The first characters, by which people recognise a key."""
    return key[:SHOWN_CHARS]
