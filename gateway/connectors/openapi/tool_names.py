"""Names of tools and of their arguments, derived from the document's names for operations and parameters."""

import re
import unicodedata
from collections.abc import Collection, Sequence

from context_protection.core.policy import Kind

LONGEST = 48
LONGEST_ARGUMENT = 64
# Names of Sluice's own arguments, which an API's arguments must not have.
RESERVED = frozenset({"limit", "cursor", "pages", "fields", "format", "where", "aggregate", "startLine", "endLine"})

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[A-Za-z0-9]+")
_NOT_IN_ARGUMENTS = re.compile(r"[^A-Za-z0-9_-]+")
_VERSION = re.compile(r"v\d+(?:\.\d+)*(?:(?:alpha|beta)\d*)?|\d+(?:\.\d+)+|\d{4}-\d\d(?:-\d\d)?", re.IGNORECASE)
_NO_NOUNS = frozenset({"api", "rest"})
_FRAMEWORK_WORDS = frozenset({"controller"})
_VERBS = {"post": "create", "put": "update", "patch": "update", "delete": "delete"}


def words(text: str) -> list[str]:
    """The words of a camelCase, snake_case, kebab-case or path name, in lower case, without accents."""
    plain = _ascii(text)
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", plain))]


def _ascii(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


class Names:
    """Gives the tools of one document unique names."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, operation_id: str, method: str, path: str, kind: Kind) -> str:
        own = _by_id(operation_id, method, path)
        by_path = _by_path(method, path, kind)
        parameters = [word for each in re.findall(r"\{([^{}]*)\}", path)[-1:] for word in words(each)]
        candidates = [own, by_path, [*by_path, "by", *parameters], [method, *words(path)]]
        for candidate in candidates:
            name = _joined(candidate)
            if name and name not in self._taken:
                return self._with(name)
        return self._with(self._numbered(_joined(own or by_path) or "operation"))

    def _numbered(self, name: str) -> str:
        if name not in self._taken:
            return name
        number = 2
        while (numbered := f"{name[: LONGEST - 5]}_{number}") in self._taken:
            number += 1
        return numbered

    def _with(self, name: str) -> str:
        self._taken.add(name)
        return name


def _by_id(operation_id: str, method: str, path: str) -> list[str]:
    """The words of the operation id, without those that frameworks add to make it unique; none if they only repeat
    method and path."""
    own = [word for word in words(operation_id) if word not in _FRAMEWORK_WORDS]
    of_path = words(path)
    for ending in ([*of_path, method], [method, *of_path]):  # read_item_items__item_id__get
        if len(ending) > 1 and own[-len(ending) :] == ending:
            own = own[: -len(ending)]
    repeated = [method, *(word for segment in _segments(path) for word in words(segment))]
    return [] if own in (repeated, [*repeated[1:], method]) else own


def _by_path(method: str, path: str, kind: Kind) -> list[str]:
    """list_customers, get_customer, create_customer, capture_charge."""
    segments = _segments(path)
    nouns = [segment for segment in segments if "{" not in segment]
    if not nouns:
        return [method, *words(path)]
    last, before = words(nouns[-1]), [words(noun) for noun in nouns[:-1]]
    ends_with_id = "{" in segments[-1]
    above = [singular(word) for noun in before for word in noun]
    is_under_id = len(segments) > 2 and "{" in segments[-2] and not ends_with_id
    if method == "post" and is_under_id and last and singular(last[-1]) == last[-1]:
        return [*last, *above]  # an action on one record: /charges/{id}/capture
    if kind is Kind.LIST:
        return ["list", *above, *last]
    verb = "get" if method == "get" else "update" if ends_with_id and method == "post" else _VERBS.get(method, method)
    return [verb, *above, *last[:-1], *(singular(word) for word in last[-1:])]


def _segments(path: str) -> list[str]:
    """The path's segments without versions, and without words such as api."""
    parts = [part for part in path.partition("?")[0].split("/") if part]
    return [part for part in parts if not _VERSION.fullmatch(part) and part.lower() not in _NO_NOUNS]


def singular(word: str) -> str:
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("ss", "ss")):
        if word.endswith(ending) and len(word) > len(ending):
            return word.removesuffix(ending) + instead
    return word[:-1] if word.endswith("s") and not word.endswith(("us", "is")) and len(word) > 3 else word


def _joined(candidate: Sequence[str]) -> str:
    """The name, cut to LONGEST. Words from the middle are left out first, since the verb and the last noun say most."""
    parts = list(candidate)
    while len("_".join(parts)) > LONGEST and len(parts) > 2:
        del parts[1]
    return "_".join(parts)[:LONGEST].strip("_")


def argument(name: str, location: str, taken: Collection[str]) -> str:
    """The name of an upstream's parameter as an argument: upstream's own, as far as that is valid and free."""
    own = _NOT_IN_ARGUMENTS.sub("_", _ascii(name)).strip("_")[:LONGEST_ARGUMENT] or location
    candidates = [own if own not in RESERVED else f"api_{own}", f"{location}_{own}"[:LONGEST_ARGUMENT]]
    number = 2
    while candidates[0] in taken or candidates[0] in RESERVED:
        candidates = candidates[1:] or [f"{own[: LONGEST_ARGUMENT - 5]}_{number}"]
        number += 1
    return candidates[0]
