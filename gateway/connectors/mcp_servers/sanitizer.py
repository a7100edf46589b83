"""Sanitizes texts from other servers: removes invisible characters, and masks secrets."""

import re
import unicodedata
from collections.abc import Iterable

from context_protection.core.redaction import redact_text

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})  # controls, direction marks, zero-width characters, tags
_BLANKS = re.compile(r"\s+")
MASK = "•••"
LOOKED_AT = 20  # only the first `most` times this many characters of a text are processed


def cleaned(words: str, most: int, secrets: Iterable[str] = ()) -> str:
    """The text in one line of at most `most` characters, without characters that a terminal or a model would read but a
    person would not see. Occurrences of `secrets` are masked."""
    words = masked(words, secrets)
    looked_at = words[: most * LOOKED_AT]
    seen = "".join(map(_visible, _ESCAPES.sub("", looked_at)))
    line = _BLANKS.sub(" ", seen).strip()
    return line if len(line) <= most and looked_at == words else f"{line[: most - 1]}…"


def masked(words: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        words = words.replace(secret, MASK)
    return words


def hides(text: str) -> bool:
    """Whether the text holds characters that a person would not see."""
    return any(unicodedata.category(character) in _INVISIBLE for character in text)


def quoted(words: str, most: int, secrets: Iterable[str]) -> str:
    """Like `cleaned`, but for messages at run time: also masks secrets in the server's data, such as door codes and
    passwords."""
    return cleaned(redact_text(words)[0], most, secrets)


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    hidden = unicodedata.category(character) in _INVISIBLE or "\U000e0100" <= character <= "\U000e01ef"
    hidden = hidden or character == "\ufffd"  # replaces data that could not be decoded or stored
    return "" if hidden else character
