"""API keys as texts: how they are made, and what is kept of them."""

import hashlib
import re
import secrets

PREFIX = "slc_"
_FORM = re.compile(rf"{PREFIX}[\w-]{{43}}", re.ASCII)
SHOWN_CHARS = len(PREFIX) + 6


def new_key() -> str:
    return f"{PREFIX}{secrets.token_urlsafe(32)}"


def digest(key: str) -> str:
    """What is stored of a key. A key is 256 random bits, so that a plain hash suffices."""
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def hint(key: str) -> str:
    """What may be shown of a key that is not known: its first characters if it has the form of ours. Another
    secret, sent by mistake, is not shown at all."""
    return prefix(key) if _FORM.fullmatch(key) else ""


def prefix(key: str) -> str:
    """The first characters, to recognise a key by."""
    return key[:SHOWN_CHARS]
