"""Names and plain descriptions of tools, made from the names and descriptions in the document."""

import html
import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any

from context_protection.core.policy import Kind
from context_protection.core.splitting import sentences
from gateway.catalog.definition import RENAMED, RESERVED
from gateway.catalog.plurals import singular

# -- Names of tools and of their arguments ----------------------------------------------------------

LONGEST_NAME = 48
LONGEST_ARGUMENT = 64

# `floatingIPs` has two words: the plural of an abbreviation is not a new word.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
_WORD = re.compile(r"[A-Za-z0-9]+")
_APOSTROPHE = re.compile(r"['’](?=s\b)")  # "a project's issues" has no word "s"
_NOT_IN_ARGUMENTS = re.compile(r"[^A-Za-z0-9_-]+")
_VERSION = re.compile(r"v\d+(?:\.\d+)*(?:(?:alpha|beta)\d*)?|\d+(?:\.\d+)+|\d{4}-\d\d(?:-\d\d)?", re.IGNORECASE)
_FIRST_VERSION = re.compile(r"\d{1,2}")  # before all nouns: /3/movies
_NO_NOUNS = frozenset({"api", "rest"})
_FRAMEWORK_WORDS = frozenset({"controller"})
_VERBS = {"post": "create", "put": "update", "patch": "update", "delete": "delete"}


def words(text: str) -> list[str]:
    """The words of a camelCase, snake_case, kebab-case or path name, in lower case, without accents."""
    plain = _ascii(_APOSTROPHE.sub("", text))
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", plain))]


def folded(name: str) -> str:
    """A name or a dotted path in lower case, without underscores and hyphens."""
    return name.lower().replace("_", "").replace("-", "")


def _ascii(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


class ToolNames:
    """Gives the tools of one document unique names."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, operation_id: str, method: str, path: str, kind: Kind) -> str:
        own = _by_id(operation_id, method, path)
        by_path = _by_path(method, path, kind)
        parameters = [word for each in re.findall(r"\{([^{}]*)\}", path)[-1:] for word in words(each)]
        by_parameters = [*by_path, "by", *parameters] if parameters else []
        candidates = [own, by_path, by_parameters, [method, *words(path)]]
        for candidate in candidates:
            name = _joined(candidate)
            if name and name not in self._taken:
                return self._with(name)
        return self._with(self._numbered(_joined(own or by_path) or "operation"))

    def _numbered(self, name: str) -> str:
        if name not in self._taken:
            return name
        number = 2
        while (numbered := f"{name[: LONGEST_NAME - 5]}_{number}") in self._taken:
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
    """The words of a name such as list_customers, get_customer, create_customer or capture_charge."""
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
    named = [part for part in parts if not _VERSION.fullmatch(part) and part.lower() not in _NO_NOUNS]
    has_noun_below = any("{" not in part for part in named[1:])
    return named[1:] if has_noun_below and _FIRST_VERSION.fullmatch(named[0]) else named


def _joined(candidate: Sequence[str]) -> str:
    """The name, cut to LONGEST_NAME. Middle words are dropped first, since the verb and the last noun are the most
    informative."""
    parts = list(candidate)
    while len("_".join(parts)) > LONGEST_NAME and len(parts) > 2:
        del parts[1]
    return "_".join(parts)[:LONGEST_NAME].strip("_")


def argument_name(name: str, location: str, taken: Collection[str]) -> str:
    """The argument name for an upstream's parameter: the parameter's own name if that is valid and free."""
    own = _NOT_IN_ARGUMENTS.sub("_", _ascii(name)).strip("_")[:LONGEST_ARGUMENT] or location
    candidates = [own if own not in RESERVED else f"{RENAMED}{own}", f"{location}_{own}"[:LONGEST_ARGUMENT]]
    number = 2
    while candidates[0] in taken or candidates[0] in RESERVED:
        candidates = candidates[1:] or [f"{own[: LONGEST_ARGUMENT - 5]}_{number}"]
        number += 1
    return candidates[0]


# -- Descriptions: one or two plain sentences, without Markdown or HTML -----------------------------

LONGEST_READ = 4000  # characters of a description that are read
SENTENCE_READ = 800  # the same, for a single sentence
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BREAK = re.compile(r"</?(?:p|br|li|ul|ol|div|h[1-6]|tr|table)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+[^\n]*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d+\.)[ \t]+", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>+[ \t]*(?:\[![A-Z]+\])?", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*_])(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1(?![\w*_])", re.DOTALL)
_MARKS = "<>&[#*_`-+"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def plain_text(markup: Any) -> str:
    """The text on one line, without markup."""
    if not isinstance(markup, str):
        return ""
    text = markup[:LONGEST_READ]
    if any(mark in text for mark in _MARKS):
        text = _without_markup(text)
    text = " ".join(text.split())
    return text if text.isprintable() else _CONTROL.sub("", text).strip()


def _without_markup(markup: str) -> str:
    text = _TAG.sub("", _BREAK.sub("\n", _FENCE.sub(" ", markup)))
    text = _LINK.sub(r"\1", _IMAGE.sub("", html.unescape(text)))
    without_headings = _HEADING.sub("", text)
    text = without_headings if without_headings.strip() else text.replace("#", "")
    return _EMPHASIS.sub(r"\2", _BULLET.sub("", _QUOTE.sub("", text))).replace("`", "")


def opening(markup: Any, limit: int) -> str:
    """The leading whole sentences that fit into `limit` characters; the first words if none fits."""
    text = plain_text(markup)
    if len(text) <= limit:
        return text
    head = sentences.head(text, limit)
    return (
        head
        if head.endswith((".", "!", "?", "。"))
        else f"{text[: sentences.word_end(text, limit - 1)].rstrip(' ,;:')}…"
    )


def first_sentence(markup: Any, limit: int) -> str:
    """The first sentence alone, within `limit` characters."""
    text = plain_text(markup[:SENTENCE_READ] if isinstance(markup, str) else "")
    match = re.match(r".{8,}?[.!?](?= [A-Z(\"'])", text)
    return opening(match[0] if match and not match[0].endswith(("e.g.", "i.e.", "etc.")) else text, limit)
