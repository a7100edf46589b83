"""Searches for tools by what they should do. The index is built once per catalogue.

A tool matches if any of its texts has a word of the query, or one that means the same. The tools whose texts match best
are compared with the query more closely: by their names, and by what they do.
"""

from collections.abc import Iterable, Mapping, Sequence

from gateway.catalog.operation import Operation
from gateway.connectors.tools.likeness import Likeness, Meant
from gateway.connectors.tools.meanings import Vocabulary
from gateway.connectors.tools.parsed_query import ParsedQuery
from gateway.connectors.tools.texts import Texts
from gateway.connectors.tools.words import words

CLOSELY = 80  # tools that are compared closely
IMPLIED = 0.5  # weight of words that the query implies
UNCOVERED = 0.4  # lowest factor, for a tool that has few of the query's words
FLOOR = 0.15  # share of the best score by texts; tools below it are dropped


class Index:
    """A search index over some tools. Several threads can use it at once."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._operations = list(operations)
        self._named = {tuple(words(operation.name)): number for number, operation in enumerate(self._operations)}
        self._texts = Texts(self._operations)
        self._vocabulary = Vocabulary(self._texts.words)
        self._likeness = Likeness(self._operations)

    def search(self, query: str) -> list[str]:
        """The names of the tools that match the query, the best match first."""
        parsed = ParsedQuery.of(query)
        meant = self._vocabulary.meant_by(parsed)
        totals = self._totals(parsed, meant)
        found = sorted(totals, key=lambda number: (-totals[number], number))
        ranked = [
            *self._closely(parsed, meant, {number: totals[number] for number in found[:CLOSELY]}),
            *found[CLOSELY:],
        ]
        if (named := self._named.get(tuple(words(query)))) is not None:
            ranked = [named, *(number for number in ranked if number != named)]
        return [self._operations[number].name for number in ranked]

    def _totals(self, parsed: ParsedQuery, meant: Meant) -> dict[int, float]:
        """The score of each tool by its texts, from 0 to 1, if it is high enough."""
        found = [
            (weight, self._texts.scores(means)) for weight, means in zip(parsed.terms.values(), meant, strict=True)
        ]
        implied = self._texts.scores(self._vocabulary.implied_by(parsed))
        totals = _summed([each for each in (*found, (IMPLIED, implied)) if each[1]])
        best = max(totals.values(), default=1.0)
        return {number: total / best for number, total in totals.items() if total >= FLOOR * best}

    def _closely(self, parsed: ParsedQuery, meant: Meant, totals: Mapping[int, float]) -> list[int]:
        """The tools, the best match first."""
        weights = self._likeness.weights(parsed)
        scores = {
            number: round(self._likeness.score(parsed, meant, weights, number, total), 6)
            for number, total in totals.items()
        }
        return sorted(scores, key=lambda number: (-scores[number], number))


def _summed(found: Sequence[tuple[float, Mapping[int, float]]]) -> dict[int, float]:
    """Each tool's weighted sum of scores. The fewer of the words a tool has, the more its sum is reduced."""
    totals: dict[int, float] = {}
    covered: dict[int, float] = {}
    for weight, scores in found:
        for number, score in scores.items():
            totals[number] = totals.get(number, 0.0) + weight * score
            covered[number] = covered.get(number, 0.0) + weight
    every = sum(weight for weight, _ in found)
    return {number: total * (UNCOVERED + (1 - UNCOVERED) * covered[number] / every) for number, total in totals.items()}
