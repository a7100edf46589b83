"""Makes texts from other servers harmless to their readers: removes what cannot be seen."""

import re
import unicodedata
from collections.abc import Iterable

from context_protection.core.redaction import redact_text

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})  # controls, marks of direction, zero widths, tags
_BLANKS = re.compile(r"\s+")
MASK = "•••"
LOOKED_AT = 20  # times `most`: a text of any length may come, and only this much of it is processed


def cleaned(words: str, most: int, secrets: Iterable[str] = ()) -> str:
    """At most `most` characters in one line, without what a terminal or a model would read but a person would not see.
    Any of `secrets` in it is masked."""
    for secret in secrets:
        words = words.replace(secret, MASK)
    looked_at = words[: most * LOOKED_AT]
    seen = "".join(map(_visible, _ESCAPES.sub("", looked_at)))
    line = _BLANKS.sub(" ", seen).strip()
    return line if len(line) <= most and looked_at == words else f"{line[: most - 1]}…"


def hides(text: str) -> bool:
    """Whether the text holds characters that a person would not see."""
    return any(unicodedata.category(character) in _INVISIBLE for character in text)


def quoted(words: str, most: int, secrets: Iterable[str]) -> str:
    """As `cleaned`, for messages at run time. They may repeat secrets of the server's data, such as door codes and
    passwords, which are masked too."""
    return cleaned(redact_text(words)[0], most, secrets)


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    hidden = unicodedata.category(character) in _INVISIBLE or "\U000e0100" <= character <= "\U000e01ef"
    hidden = hidden or character == "\ufffd"  # stands for what could not be decoded or stored
    return "" if hidden else character
