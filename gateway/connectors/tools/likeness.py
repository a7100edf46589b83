"""How like a query the names of a tool are: its name, its title, and the path of its upstream.

Names say briefly what a tool is about, so every word counts: one that the query has speaks for the tool, and one that
it lacks against it. The tool with the shortest names that match therefore wins.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.catalog.operation import Operation
from gateway.connectors.tools.words import MINE, STOP_WORDS, Wish, path_words, route_words, singular, words

RELATED = 0.8  # how much a synonym counts, compared with the word itself
BEGINNING = 0.7  # the same for a word that begins alike
SHORTEST_BEGINNING = 4  # letters
MISSING = 0.5  # exponent of the share of the names' words that the query has; of the query's words, it is 1


@dataclass(frozen=True, slots=True)
class Names:
    """The words of each of a tool's names, in the singular."""

    each: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, operation: Operation) -> "Names":
        prefix = set(words(operation.tags[0])) if operation.route and operation.tags else set()
        name = [word for place, word in enumerate(words(operation.name)) if place or word not in prefix]
        path = route_words(operation.route) if operation.route else path_words(operation)
        each = (name, words(operation.title), path)
        return cls(tuple(stems for found in each if (stems := _stems(found))))


def _stems(found: Iterable[str]) -> frozenset[str]:
    return frozenset(singular(word) for word in found if word in MINE or word not in STOP_WORDS)


class Likeness:
    """Compares queries with the names of some tools. Words that many of the tools have count little."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._names = [Names.of(operation) for operation in operations]
        counts = Counter(word for names in self._names for word in frozenset().union(*names.each))
        self._weights = {word: math.log(1 + len(operations) / count) for word, count in counts.items()}
        self._unknown = math.log(1 + len(operations)) / 2  # of a word that no tool has

    def of(self, wish: Wish, number: int) -> float:
        """From 0 to 1, the likeness of the tool's most similar name."""
        return max((self._to(wish, name) for name in self._names[number].each), default=0.0)

    def _to(self, wish: Wish, name: frozenset[str]) -> float:
        asked = matched = 0.0
        used: dict[str, float] = {}
        for term, related in wish.terms.items():
            weight = self._weights.get(term, self._unknown)
            word, share = _best(term, related, name)
            asked += weight
            if word:
                matched += weight * share
                used[word] = max(used.get(word, 0.0), share)
        for word in wish.possible & name:
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
