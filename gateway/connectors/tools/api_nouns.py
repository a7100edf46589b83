"""Synonyms from an API's own texts: its other words for the things that its tools are named after."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation
from gateway.catalog.plurals import singular
from gateway.connectors.tools.synonyms import CHANGING, DELETING, LOOKING, MAKING
from gateway.connectors.tools.words import STOP_WORDS, nouns, path_words, words

_ALSO = r"(?:also(?: called| known as)?|aka|a\.k\.a\.|formerly|i\.e\.)"
_OTHERS = [
    re.compile(rf"[^\W\d_]+ \((?:{_ALSO} |or )?(?:an? |the )?([^\W\d_]+)\)", re.IGNORECASE),  # bookings (reservations)
    re.compile(rf"\b{_ALSO} (?:an? |the )?([^\W\d_]+)", re.IGNORECASE),  # suppliers, also called vendors
    re.compile(r"^(?:an? |the )?[^\W\d_]+ or ([^\W\d_]+)", re.IGNORECASE),  # cars or vans
]
_OPENING = re.compile(r"[^:.;,()]*")  # the start of a description, which says what the rows are
OPENING_WORDS = 4
_TOO_COMMON = STOP_WORDS.union(
    {"returns", "gets", "gives", "lists", "shows", "one"}, *LOOKING, *MAKING[:1], *CHANGING[:1], *DELETING
)


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun's synonyms (`also`) and the words of its description (`described`), from the tool that lists it."""

    also: frozenset[str]
    described: frozenset[str]


NOTHING = Noun(frozenset(), frozenset())


@dataclass(frozen=True, slots=True)
class Nouns:
    """The nouns of an API, keyed by the nouns in the names of the tools that list them. Synonyms come from a list's
    description, whose beginning says what the rows are, and from its title, tags and endpoint."""

    by_nouns: Mapping[frozenset[str], Noun]

    @classmethod
    def of(cls, operations: Sequence[Operation]) -> "Nouns":
        taken = {noun for operation in operations for noun in nouns(operation)}
        found: dict[frozenset[str], Noun] = {}
        for operation in operations:
            if operation.kind is Kind.LIST and (named := frozenset(nouns(operation))):
                # A noun in another tool's name is not a synonym: things with tools of their own are distinct.
                also = _others(operation) - taken - _TOO_COMMON
                known = found.get(named, NOTHING)
                described = known.described.union(words(operation.description)) - _TOO_COMMON
                found[named] = Noun(known.also | also, described)
        return cls(found)

    def behind(self, operation: Operation) -> Noun:
        """The noun that the tool's name is about. The longest match wins: a purchase order is not also an order."""
        own = frozenset(nouns(operation))
        named = [each for each in self.by_nouns if each <= own]
        most = [self.by_nouns[each] for each in named if not any(each < other for other in named)]
        return Noun(
            frozenset().union(*(each.also for each in most)), frozenset().union(*(each.described for each in most))
        )


def _others(operation: Operation) -> set[str]:
    texts = (operation.description, operation.title, *operation.tags)
    called = [match[1] for text in texts for pattern in _OTHERS for match in pattern.finditer(text)]
    opening = _OPENING.match(operation.description)
    begun = _first_noun_phrase(words(opening[0] if opening else ""))
    tags = [tag for tag in operation.tags if tag.isalpha()]
    return {singular(word.lower()) for word in (*called, *begun, *tags, *path_words(operation)[-1:])}


def _first_noun_phrase(opening_words: Sequence[str]) -> list[str]:
    """ "Returns a list of cars and vans of the fleet": cars, vans."""
    phrase: list[str] = []
    for word in opening_words:
        if word not in _TOO_COMMON:
            phrase.append(word)
        elif phrase and word in STOP_WORDS - {"and", "or"}:
            break
    return phrase[:OPENING_WORDS]
