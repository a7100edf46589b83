"""Words of strangers, made harmless to whoever reads them: what cannot be seen is taken out."""

import re
import unicodedata
from collections.abc import Iterable

from context_protection.core.redaction import redact_text

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})  # controls, marks of direction, zero widths, tags
_BLANKS = re.compile(r"\s+")
MASK = "•••"
LOOKED_AT = 20  # times the characters that are kept: how long the words are, strangers decide


def cleaned(words: str, most: int, secrets: Iterable[str] = ()) -> str:
    """At most so many characters, in one line, without what a terminal or a model would read and a person not see.
    Whatever of `secrets` they repeat is masked."""
    for secret in secrets:
        words = words.replace(secret, MASK)
    looked_at = words[: most * LOOKED_AT]
    seen = "".join(map(_visible, _ESCAPES.sub("", looked_at)))
    line = _BLANKS.sub(" ", seen).strip()
    return line if len(line) <= most and looked_at == words else f"{line[: most - 1]}…"


def hides(text: str) -> bool:
    """Whether it holds what a person would not see."""
    return any(unicodedata.category(character) in _INVISIBLE for character in text)


def quoted(words: str, most: int, secrets: Iterable[str]) -> str:
    """The same of what a server says at run time, which may hold what its data holds: door codes, passwords."""
    return cleaned(redact_text(words)[0], most, secrets)


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    hidden = unicodedata.category(character) in _INVISIBLE or "\U000e0100" <= character <= "\U000e01ef"
    hidden = hidden or character == "\ufffd"  # in the place of what could not even be kept
    return "" if hidden else character
