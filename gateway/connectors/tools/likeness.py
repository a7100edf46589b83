"""Compares tools with a query: their names, and their purpose.

A name is short, so each of its words counts: a word that is in the query raises the score, and any other word lowers
it. Among tools with matching names, the one with the shortest names therefore wins.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from gateway.catalog.operation import Operation
from gateway.catalog.plurals import singular
from gateway.connectors.tools.intent import Does, suits
from gateway.connectors.tools.names import Names
from gateway.connectors.tools.parsed_query import ParsedQuery

ARGUMENT = 0.4  # weight of a query's word that is only in the name of an argument, such as the channel of messages
PART = 0.15  # how much each part of a tool's path lowers the trait `short`

Meant = Sequence[Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Traits:
    """The traits that speak for a tool, each from 0 to 1."""

    texts: float  # its texts match
    like: float  # one of its names is similar
    wanted: float  # its path ends with what is wanted
    verb: float  # it has the verb of the query
    does: float  # it does what is asked
    shape: float  # its path is that of a list or of a single row, whichever the query wants
    implied: float  # it has a word that the query implies, such as "me" for "my videos"
    short: float  # its path is short


# The weight of each trait, chosen with 465 queries for the operations of 21 public APIs. Each could be a third higher
# or lower without much difference.
WEIGHTS = Traits(texts=0.8, like=2.6, wanted=0.35, verb=0.7, does=1.0, shape=0.35, implied=0.45, short=0.7)
_WEIGHTS: tuple[float, ...] = astuple(WEIGHTS)


class Likeness:
    """Compares queries with some tools. Words that many of the tools have in their names count little."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._names = [Names.of(operation) for operation in operations]
        counts = Counter(word for names in self._names for word in frozenset().union(*names.each))
        self._rarity = {word: math.log(1 + len(operations) / count) for word, count in counts.items()}
        self._unknown = math.log(1 + len(operations)) / 2  # the rarity of a word that no tool has

    def weights(self, parsed: ParsedQuery) -> list[float]:
        """The weight of each term of the query."""
        return [weight * self._rarity.get(singular(term), self._unknown) for term, weight in parsed.terms.items()]

    def score(self, parsed: ParsedQuery, meant: Meant, weights: Sequence[float], number: int, texts: float) -> float:
        """The score of a tool. `meant` and `weights`: the meanings and the weight of each term. `texts`: the tool's
        score by its texts, from 0 to 1."""
        traits = self.traits(parsed, meant, weights, number, texts)
        return sum(weight * trait for weight, trait in zip(_WEIGHTS, traits, strict=True))

    def traits(
        self, parsed: ParsedQuery, meant: Meant, weights: Sequence[float], number: int, texts: float
    ) -> tuple[float, ...]:
        """The values of `Traits`, in their order."""
        names = self._names[number]
        likes = (self._to(name, parsed, meant, weights, names.arguments) for name in names.each)
        wanted, verb = _last(parsed, meant, names)
        does, shape = suits(parsed.asked, names.does), _shape(parsed, names)
        implied = any(word in name for word in parsed.implied for name in names.each)
        return (
            texts,
            max(likes),
            wanted,
            verb,
            does,
            shape,
            float(implied),
            1 / (1 + PART * names.parts),
        )

    def _to(
        self,
        name: frozenset[str],
        parsed: ParsedQuery,
        meant: Meant,
        weights: Sequence[float],
        arguments: frozenset[str],
    ) -> float:
        """The likeness of one name, from 0 to 1."""
        matched = 0.0
        used: dict[str, float] = {}
        for means, weight in zip(meant, weights, strict=True):
            share, word = _best(name, means)
            if word:
                matched += weight * share
                used[word] = max(used.get(word, 0.0), share)
            elif not arguments.isdisjoint(means):
                matched += weight * ARGUMENT
        if not used:
            return 0.0
        for word in parsed.implied:
            if word in name:
                used.setdefault(word, 1.0)
        total = sum(self._rarity[word] for word in name)
        covered = sum(self._rarity[word] * share for word, share in used.items())
        return matched / sum(weights) * math.sqrt(covered / total)


def _best(name: frozenset[str], means: Mapping[str, float]) -> tuple[float, str]:
    """The highest share of a word in the name, and that word."""
    best, found = 0.0, ""
    for word in name:
        share = means.get(word, 0.0)
        if share > best or (share == best and share and word < found):
            best, found = share, word
    return best, found


def _last(parsed: ParsedQuery, meant: Meant, names: Names) -> tuple[float, float]:
    """The traits `wanted` and `verb`."""
    wanted = verb = 0.0
    for term, means in zip(parsed.terms, meant, strict=True):
        if term == parsed.verb:
            verb = _best(names.verbs, means)[0]
        if term in parsed.wanted or not (parsed.wanted or parsed.people):
            wanted = max(wanted, _best(names.last, means)[0])
    if parsed.people and not parsed.wanted:
        wanted = float(not names.last.isdisjoint(parsed.implied))
    return wanted, verb


def _shape(parsed: ParsedQuery, names: Names) -> float:
    if parsed.asked.isdisjoint({Does.READ, Does.UPDATE, Does.DELETE}):
        return 0.0
    return float(names.is_one if parsed.one else parsed.many and not names.is_one)
