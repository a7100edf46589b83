"""Whether the name of a field, of a column or of a custom field tells of a secret."""

import re
from functools import lru_cache

from context_protection.redaction import terms, vocabulary
from context_protection.redaction.folding import compact, spaced

_COUNTED = frozenset({"tokens"})  # a model's tokens
LONGEST = 200  # characters of a name that are looked at
_WHOLE = {compact(name): kind for kind, names in vocabulary.WHOLE_NAMES.items() for name in names.split(",")}
_NUMBERED = re.compile(r" \d{1,2}$")
_ASKED = re.compile(r"(?:what|which|wie lautet|wie ist|welche[rs]?|quel|quelle|cual|qual)(?: (?:is|s|ist|est|es|e))? ")
_NUMBERED_CODE = re.compile(r"(?:access )?(?:code|codigo|codice|kode|pin)s? ?\d{1,2}")


@lru_cache(maxsize=16384)
def secret_kind(name: str) -> str | None:
    """The kind of secret that a field of this name holds, such as "door code" or "PIN"; None if it holds no secret."""
    words = spaced(name[:LONGEST])
    if words in _COUNTED:
        return None
    return _WHOLE.get(words.replace(" ", "")) or terms.kind_of_words(words)


def is_secret(name: str) -> bool:
    return secret_kind(name) is not None


@lru_cache(maxsize=8192)
def label_kind(label: str) -> str | None:
    """As secret_kind, for what people called a custom field: "code_1" is a code there, and "What is the gate code?"
    asks for one."""
    kind = secret_kind(label)
    if kind is not None:
        return kind
    words = spaced(label[:LONGEST])
    if asked := _ASKED.match(words):
        return terms.kind_of_words(words[asked.end() :])
    return "access code" if _NUMBERED_CODE.fullmatch(words) else None


@lru_cache(maxsize=8192)
def place_kind(name: str) -> str | None:
    """The kind of code that belongs to a name which is only a place: "Garage", "Front door 2". None for other names."""
    return terms.place_of_words(_NUMBERED.sub("", spaced(name[:LONGEST])))
