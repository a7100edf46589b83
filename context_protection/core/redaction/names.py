"""Decides by name whether a field, a column, a custom field or a path holds a secret."""

import re
from functools import lru_cache

from context_protection.core.redaction import terms, vocabulary
from context_protection.core.redaction.folding import LONGEST_NAME, compact, spaced

_NOT_SECRET = frozenset({"tokens"})  # usually a count of a model's tokens
# The kinds of names that mean a secret only as a whole, by the folded name.
WHOLE = {compact(name): kind for kind, names in vocabulary.WHOLE_NAMES.items() for name in names.split(",")}
_NUMBERED = re.compile(r" \d{1,2}$")
_ASKS = re.compile(r"(?:what|which|wie lautet|wie ist|welche[rs]?|quel|quelle|cual|qual)(?: (?:is|s|ist|est|es|e))? ")
_IDENTIFIER = re.compile(r"[A-Za-z0-9]*(?:_|[a-z0-9][A-Z])\w*")  # an identifier in code, not a label
_NUMBERED_CODE = re.compile(r"(?:access )?(?:code|codigo|codice|kode|pin)s? ?\d{1,2}")


@lru_cache(maxsize=16384)
def secret_kind(name: str) -> str | None:
    """The kind of secret that a field of this name holds, such as "door code" or "PIN"; None if it holds no secret."""
    words = spaced(name[:LONGEST_NAME])
    if words in _NOT_SECRET:
        return None
    return WHOLE.get(words.replace(" ", "")) or terms.kind_of_words(words, of_field=True)


@lru_cache(maxsize=16384)
def nested_kind(holder: str, name: str) -> str | None:
    """The kind of secret that a field holds, judged by its name together with that of its holder, the object around it:
    `{"entry": {"codes": ["4711"]}}`. None if it holds no secret."""
    words, own = spaced(holder[:LONGEST_NAME]), compact(name[:LONGEST_NAME])
    if own in vocabulary.VALUE_NAMES:
        return terms.place_of_words(words)
    if own not in terms.CODE_NAMES or words in vocabulary.HOLDERS_WITH_KEYS:
        return None
    return terms.kind_of_words(f"{words} {spaced(name)}", of_field=True)


@lru_cache(maxsize=16384)
def holder_below(holder: str, name: str) -> str:
    """The holder's name for the fields inside the object `name`. It is `name`, or the name of the object around it if
    `name` says nothing (`data`, `value`, `code`, a number)."""
    own = compact(name[:LONGEST_NAME])
    is_generic = own in vocabulary.BETWEEN or own in vocabulary.VALUE_NAMES or own in terms.CODE_NAMES
    return holder if holder and (is_generic or not own or own.isdecimal()) else name


@lru_cache(maxsize=8192)
def kinds_of_path(path: str) -> tuple[str | None, ...]:
    """The kind of secret at each step of a dotted path, or None. The step `*` is any element of a list."""
    kinds: list[str | None] = []
    holder = ""
    for step in path.split("."):
        kinds.append(secret_kind(step) or (nested_kind(holder, step) if holder else None))
        holder = holder_below(holder, step)
    return tuple(kinds)


def path_kind(path: str) -> str | None:
    """The kind of the first secret among the steps of a dotted path, else the kind that the path names as a whole; None
    if it names no secret."""
    return next(filter(None, kinds_of_path(path)), None) or secret_kind(path)


def is_secret(name: str) -> bool:
    return secret_kind(name) is not None


@lru_cache(maxsize=8192)
def label_kind(label: str) -> str | None:
    """Like secret_kind, but for the label of a custom field: "code_1" and "What is the gate code?" are labels of
    secrets too."""
    words = spaced(label[:LONGEST_NAME])
    kind = secret_kind(label) or (None if _IDENTIFIER.fullmatch(label) else terms.kind_of_words(words))
    if kind is not None:
        return kind
    if question := _ASKS.match(words):
        return terms.kind_of_words(words[question.end() :])
    return "access code" if _NUMBERED_CODE.fullmatch(words) else None


@lru_cache(maxsize=8192)
def place_kind(name: str) -> str | None:
    """The kind of code that is meant if a name is nothing but a place: "Garage", "Front door 2". None for other
    names."""
    return terms.place_of_words(_NUMBERED.sub("", spaced(name[:LONGEST_NAME])))
