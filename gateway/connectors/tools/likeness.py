"""How like a query the names of a tool are: its name, its title, and the path of its upstream.

Names say briefly what a tool is about, so every word counts: one that the query has speaks for the tool, and one that
it lacks against it. The tool with the shortest names that match therefore wins.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.catalog.operation import Operation
from gateway.connectors.tools.words import (
    MINE,
    STOP_WORDS,
    ParsedQuery,
    name_words,
    path_words,
    route_words,
    singular,
    words,
)

RELATED = 0.8  # how much a synonym counts, compared with the word itself
BEGINNING = 0.7  # the same for a word that begins alike
SHORTEST_BEGINNING = 4  # letters
ARGUMENT = 0.4  # the same for a word of an argument: the channel whose messages are listed
LONGEST = 16  # words at the start of a description
_OPENING = re.compile(r"[^.;:(]*")
ASIDE = 0.8  # factor for a tool whose path ends with something that is not wanted
FAINT = 0.3  # factor for a word of the query that says little about the tool
MISSING = 0.5  # exponent of the share of the names' words that the query has; of the query's words, it is 1


@dataclass(frozen=True, slots=True)
class Names:
    """The words of each of a tool's names, in the singular, and those of its arguments."""

    each: tuple[frozenset[str], ...]
    arguments: frozenset[str]
    last: frozenset[str]  # words of the last segment of its path: what it answers or does

    @classmethod
    def of(cls, operation: Operation) -> "Names":
        path = route_words(operation.route) if operation.route else path_words(operation)
        said = _OPENING.match(operation.description)
        each = (name_words(operation), words(operation.title), path, words(said[0])[:LONGEST] if said else ())
        arguments = _stems(word for name in operation.parameters for word in words(name))
        last = _stems(route_words(operation.route)[-1:] if operation.route else name_words(operation))
        return cls(tuple(stems for found in each if (stems := _stems(found))), arguments, last)


def _stems(found: Iterable[str]) -> frozenset[str]:
    return frozenset(singular(word) for word in found if word in MINE or word not in STOP_WORDS)


class Likeness:
    """Compares queries with the names of some tools. Words that many of the tools have count little."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._names = [Names.of(operation) for operation in operations]
        counts = Counter(word for names in self._names for word in frozenset().union(*names.each))
        self._weights = {word: math.log(1 + len(operations) / count) for word, count in counts.items()}
        self._unknown = math.log(1 + len(operations)) / 2  # weight of a word that no tool has

    def of(self, parsed: ParsedQuery, number: int) -> float:
        """The likeness of the tool's most similar name, from 0 to 1."""
        names = self._names[number]
        most = max((self._to(parsed, name, names.arguments) for name in names.each), default=0.0)
        return most if not parsed.wanted or parsed.wanted & names.last else ASIDE * most

    def _to(self, parsed: ParsedQuery, name: frozenset[str], arguments: frozenset[str]) -> float:
        asked = matched = 0.0
        used: dict[str, float] = {}
        for term, related in parsed.terms.items():
            weight = self._weights.get(term, self._unknown) * (FAINT if term in parsed.faint else 1.0)
            word, share = _best(term, related, name)
            asked += weight
            if word:
                matched += weight * share
                used[word] = max(used.get(word, 0.0), share)
            elif term in arguments or related & arguments:
                matched += weight * ARGUMENT
        for word in parsed.possible & name:
            used.setdefault(word, 1.0)
        said = sum(self._weights[word] for word in name)
        covered = sum(self._weights[word] * share for word, share in used.items())
        return (matched / asked) * (covered / said) ** MISSING if asked and said else 0.0


def _best(term: str, related: frozenset[str], name: frozenset[str]) -> tuple[str, float]:
    if term in name:
        return term, 1.0
    if found := sorted(related & name):
        return found[0], RELATED
    if len(term) >= SHORTEST_BEGINNING:
        long = (word for word in sorted(name) if len(word) >= SHORTEST_BEGINNING)
        if begun := next((word for word in long if word.startswith(term) or term.startswith(word)), ""):
            return begun, BEGINNING
    return "", 0.0
