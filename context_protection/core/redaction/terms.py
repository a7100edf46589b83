"""The vocabulary as compiled patterns over folded text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from ahocorasick_rs import BytesAhoCorasick, Implementation

from context_protection.core.name_words import word_set
from context_protection.core.redaction import vocabulary
from context_protection.core.redaction.findings import MARK, mark
from context_protection.core.redaction.folding import fold_keeping_length, words_in
from context_protection.core.redaction.late_pattern import LatePattern
from context_protection.core.redaction.vocabulary import Terms

_SPACE = "\0"  # stands for the space between the words of a term
_SPLIT = re.compile(r"[\s'_-]+")
_UMLAUT = {"ä": "ae", "ö": "oe", "ü": "ue"}
_GAP = r"[ _'-]{0,2}"
# Words between a place and its code word that do not change the meaning: "Wi-Fi GUEST password", "door OPENER code".
_FILLERS = (
    "guest, opener, access, entry, panel, system, digital, security, main, admin, unlock, temporary, personal, remote"
)


def _spellings(term: str) -> set[str]:
    """The folded spellings of a term: sharp s as `ss`, an umlaut such as ü both as `u` and as `ue`."""
    term = term.lower().replace("ß", "ss")
    variants = {term, "".join(_UMLAUT.get(char, char) for char in term)}
    return {_SPACE.join(filter(None, _SPLIT.split(fold_keeping_length(each)))) for each in variants}


def _each(terms: Terms) -> Iterator[str]:
    for words in terms.values():
        for term in words.split(","):
            yield from _spellings(term.strip())


def _alternation(terms: Iterable[str]) -> str:
    """One pattern for all terms, as a tree of their letters: `re` reads each letter once and prefers longer terms."""
    tree: dict[str, dict] = {}  # type: ignore[type-arg]
    for term in terms:
        branch = tree
        for char in term:
            branch = branch.setdefault(char, {})
        branch[""] = {}
    return _pattern(tree)


def _pattern(branch: dict[str, dict]) -> str:  # type: ignore[type-arg]
    choices = [
        (_GAP if char == _SPACE else re.escape(char)) + _pattern(branch[char]) for char in sorted(branch) if char
    ]
    if not choices:
        return ""
    joined = choices[0] if len(choices) == 1 else f"(?:{'|'.join(choices)})"
    return f"(?:{joined})?" if "" in branch else joined


_IDENTIFIERS = frozenset(term.replace(_SPACE, "") for term in _each(vocabulary.IDENTIFIERS))
# The names of a code, a key or a password, whatever it opens.
CODE_NAMES = frozenset(
    term.replace(_SPACE, "") + plural
    for table in (vocabulary.CODE_WORDS, vocabulary.NETWORK_KEYS)
    for term in _each(table)
    for plural in ("", "s")
) | {"keypadnumber", "instruction", "instructions", "number"}
_OWN = {
    term.replace(_SPACE, ""): kind
    for table in (vocabulary.FIELDS_ONLY, vocabulary.OF_THEIR_OWN)
    for kind, terms in table.items()
    for term in _each(terms)
}
_PLACES = {
    term.replace(_SPACE, ""): kind for kind, terms in reversed(vocabulary.PLACES.items()) for term in _each(terms)
}

_place = _alternation({term for terms in vocabulary.PLACES.values() for term in _each(terms)})
_network = _alternation(_each(vocabulary.NETWORKS))
_code = _alternation(_each(vocabulary.CODE_WORDS))
_key = _alternation({*_each(vocabulary.CODE_WORDS), *_each(vocabulary.NETWORK_KEYS)})
_own = _alternation({term for terms in vocabulary.OF_THEIR_OWN.values() for term in _each(terms)})
_of_fields = {term for terms in vocabulary.FIELDS_ONLY.values() for term in _each(terms)}
_field = _alternation(_of_fields)
_link = _alternation(_each(vocabulary.LINKS))
_filler = _alternation(_each({"en": _FILLERS}))

_ENDING = "(?:'s|e?s|e?n)?"  # the endings of plurals, and of words in German compounds: Garage-n-code, Eingang-s-code
_LINKED = rf"(?:[ _'-]{{0,2}}(?:{_link})(?=[ _'-])){{0,4}}[ _'-]{{1,2}}(?:{_link}')?"


def _secrets(own: str) -> str:
    fill = rf"(?:{_GAP}(?:{_filler}))?{_GAP}"
    return rf"""(?:
        (?P<network1>{_network})(?:{_GAP}(?:{_network})){{0,2}}{fill}(?:{_key})s?
      | (?P<place1>{_place}){_ENDING}(?:{_GAP}(?:{_place}){_ENDING}){{0,2}}{fill}(?:{_code})s?
      | (?P<key>(?:{_key})s?){_LINKED}(?P<network2>{_network})
      | (?P<code>(?:{_code})s?){_LINKED}(?P<place2>{_place}){_ENDING}
      | (?P<own>{own})s?
    )"""


def _without_layout(verbose: str) -> str:
    """The pattern without the line breaks and indentation of its layout. Other spaces are part of the pattern."""
    return re.sub(r"\n\s*(\| )?", lambda found: "|" if found[1] else "", verbose)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the vocabulary in a text. `strength`: "secret" if it names a secret on its own; "place", "network" or
    "code" if it names one only together with another term."""

    start: int
    end: int
    kind: str
    strength: str
    starts_with_code: bool


_IN_TEXTS = [
    term
    for table in (
        *vocabulary.PLACES.values(),
        *vocabulary.OF_THEIR_OWN.values(),
        vocabulary.NETWORKS,
        vocabulary.CODE_WORDS,
        vocabulary.NETWORK_KEYS,
    )
    for term in _each(table)
]
# The first letters of all terms: a lookahead for them skips other words of camel case names quickly.
_BEGINNING = 5
_beginnings = _alternation(term.partition(_SPACE)[0][:_BEGINNING] for term in _IN_TEXTS)
_HALVES = rf"(?P<half_network>{_network})|(?P<half_place>{_place}){_ENDING}|(?P<half_code>{_code})s?"
_ANY = f"(?={_beginnings})(?:{_without_layout(_secrets(_own))}|{_HALVES})"
_MARKS = MARK.pattern
IN_WORDS = LatePattern(rf"{_MARKS}|(?<![a-z0-9]){_ANY}(?![a-z])")
IN_CAMEL_CASE = LatePattern(rf"{_MARKS}|{_ANY}")
_FIELD = LatePattern(rf"(?<![a-z0-9]){_without_layout(_secrets(f'(?:{_own}|{_field})'))}(?![a-z])")

_OPENING_OF_MARK = words_in(mark("")[:-1])
_LONGEST_OPENING = 3 + max(map(len, _IN_TEXTS))  # with the space before it, and two in place of one
WINDOW = 1 << 16  # characters that are examined at once, to bound memory


def in_words(low: str, start: int = 0, end: int | None = None) -> Iterator[re.Match[str]]:
    """The terms that are words of a folded text, and its redaction marks: what IN_WORDS.finditer finds, but in a
    fraction of the time if they are few."""
    end = len(low) if end is None else end
    behind = start
    for window in range(start, end, WINDOW):
        for at in _places(low[window : min(window + WINDOW + _LONGEST_OPENING, end)]):
            if window + at >= behind and (match := IN_WORDS.match(low, window + at, end)):
                behind = match.end()
                yield match


def _places(low: str) -> list[int]:
    """The places within the first WINDOW characters where a term or a mark may begin, in order."""
    found = _openings().find_matches_as_indexes(b" " + words_in(low), overlapping=True)
    places = {start if opening else start - 1 for opening, start, _ in found}
    return sorted(place for place in places if place < WINDOW)


@cache
def _openings() -> BytesAhoCorasick:
    """Finds how a term may begin, behind a space: with its first word, or its first two, with up to two spaces between
    them. Opening 0 is that of a mark, which begins at the bracket."""
    openings = dict.fromkeys(opening for term in _IN_TEXTS for opening in _openings_of(term))
    return BytesAhoCorasick([_OPENING_OF_MARK, *openings], implementation=Implementation.DFA)


def openings_in_names() -> set[bytes]:
    """How a term may begin in a name's folded words, behind a space. A name that ends with the first word of a term
    counts too: the name of a field below it may be the rest."""
    every = {*_IN_TEXTS, *_of_fields}
    ends = {f" {term.partition(_SPACE)[0]}\n".encode() for term in every}
    return ends.union(*map(_openings_of, every))


def _openings_of(term: str) -> Iterator[bytes]:
    first, *others = term.split(_SPACE)
    if others:
        yield from (f" {first}{between}{others[0]}".encode() for between in ("", " ", "  "))
    else:
        yield f" {first}".encode()


def term_of(match: re.Match[str]) -> Term | None:
    """The term of a match; None if the match is a redaction mark."""
    kind, strength = _kind_of(match)
    if kind is None:
        return None
    return Term(match.start(), match.end(), kind, strength, match.lastgroup in ("place2", "network2", "half_code"))


def _kind_of(match: re.Match[str]) -> tuple[str | None, str]:
    group = match.lastgroup
    if group is None:
        return None, ""
    if group in ("network1", "network2"):
        return vocabulary.WIFI, "secret"
    if group == "half_network":
        return vocabulary.WIFI, "network"
    if group == "half_code":
        return "access code", "code"
    kinds = _OWN if group == "own" else _PLACES
    return _looked_up(kinds, match[group]), "place" if group == "half_place" else "secret"


def _looked_up(kinds: dict[str, str], words: str) -> str:
    return kinds[_SPLIT.sub("", words)]


# These words are too common to announce a code without a code word, in a sentence or before a colon.
_TOO_COMMON = word_set(
    """
    lock portal porta porte puerta teclado tastiera clavier serrure schloss barrier barriera barreira barriere grille
    red rete rede coffre tor portao hall cancela house network internet wireless router modem ssid wep hotspot box
    reseau netzwerk broadband portachiavi cassetta nuki yale schlage kwikset igloohome ttlock tedee danalock
    """
)
_OPEN_WITH_A_CODE = frozenset(vocabulary.PLACES) - {"entry code", "access code", "parking code", "building code"}
_HALF_NAME = re.compile(rf"(?P<half_network>{_network})|(?P<half_place>{_place}){_ENDING}")
_WORD = re.compile(r"[^\W_]+")


def may_open_with_a_code(term: Term) -> bool:
    """Whether the term is a place that people open with a code."""
    return term.kind in _OPEN_WITH_A_CODE


@lru_cache(maxsize=8192)
def may_have_a_code(group: str, words: str) -> bool:
    """Whether a place or network, named without a code word, may have a code: `house` has none, `red` (Spanish:
    network) is too common a word."""
    if group == "half_place":
        match = _HALF_NAME.fullmatch(words)
        return match is None or match.lastgroup != group or _kind_of(match)[0] in _OPEN_WITH_A_CODE
    return group != "half_network" or words not in _TOO_COMMON


def opens_with_a_code(term: Term, words: str) -> bool:
    """Whether a number directly after this place or network may be its code, without a word such as "code"."""
    return words not in _TOO_COMMON and (term.strength == "network" or may_open_with_a_code(term))


@lru_cache(maxsize=8192)
def place_of_words(words: str) -> str | None:
    """The kind of code for words that only name a place or network: "garage", "back garden gate"; else None."""
    if words not in _TOO_COMMON and (kind := _kind_of_place(words)) is not None:
        return kind
    parts = words.split()
    for count in (1, 2):  # leading words that say which door or gate
        kind = _kind_of_place(" ".join(parts[count:]))
        if kind in _DOORS and vocabulary.ABOUT_BEFORE.isdisjoint(parts[:count]):
            return kind
    return None


def _kind_of_place(words: str) -> str | None:
    match = _HALF_NAME.fullmatch(words)
    if match is None:
        return None
    kind, strength = _kind_of(match)
    return kind if strength == "network" or kind in _OPEN_WITH_A_CODE else None


_LOCKS = frozenset({"smart lock code", "lockbox code", "keypad code"})
_DOORS = _LOCKS | {"door code", "gate code", "garage code", "safe code"}
_HALF_NAMES = re.compile(rf"(?<![a-z0-9])(?:{_HALF_NAME.pattern})(?![a-z])")


@lru_cache(maxsize=8192)
def lock_of_words(words: str, *, or_door: bool) -> str | None:
    """The kind of code that goes with a name about a lock or a network, such as `smartlockId` or `ssid`. `or_door`:
    names about doors, gates, garages and safes count too."""
    for match in _HALF_NAMES.finditer(words):
        kind, strength = _kind_of(match)
        if strength == "network" or kind in (_DOORS if or_door else _LOCKS):
            return kind
    return None


def _is_identifier(words: str) -> bool:
    return words.replace(" ", "").removesuffix("s") in _IDENTIFIERS


@lru_cache(maxsize=8192)
def kind_of_words(words: str, *, of_field: bool = False) -> str | None:
    """The kind of secret that a name means; None if it is harmless. `words`: the name as folded words. `of_field`:
    it is a field's name, where "house code" means an identifier."""
    match = _FIELD.search(words)
    if match is None or (of_field and _is_identifier(match[0])):
        return None
    kind, _ = _kind_of(match)
    before, behind = _WORD.findall(words[: match.start()]), _WORD.findall(words[match.end() :])
    if not vocabulary.ABOUT_BEFORE.isdisjoint(before) or not vocabulary.ABOUT.isdisjoint(behind):
        return None
    if (match["code"] or match["key"]) and before and before[-1] in vocabulary.OTHER_CODES:
        return None
    return kind
