"""The texts of tools and how well they match words: BM25 over all texts of a tool, weighted by the kind of text."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway.catalog.operation import Operation
from gateway.catalog.plurals import singular
from gateway.connectors.tools.api_nouns import Nouns
from gateway.connectors.tools.words import path_words, route_words, verbs, words

# The weight of a word by the text that has it.
WEIGHTS: Mapping[str, float] = {
    "name": 4.0,
    "title": 2.0,
    "path": 3.0,
    "also": 3.0,  # synonyms of the noun in its name
    "described": 0.3,  # words from the API's description of that noun
    "verbs": 1.0,  # synonyms of its verb
    "description": 1.0,
    "parameters": 0.3,
    "tags": 0.2,
}
K, B = 1.2, 0.75  # BM25's parameters


class Texts:
    """The score of each tool for each word that any of them has."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        api_nouns = Nouns.of(operations)
        weighted = [_weighted(operation, api_nouns) for operation in operations]
        lengths = [sum(each.values()) for each in weighted]
        average = sum(lengths) / len(lengths) if lengths else 1.0
        having: dict[str, list[tuple[int, float]]] = {}
        for number, (each, length) in enumerate(zip(weighted, lengths, strict=True)):
            norm = K * (1 - B + B * length / average)
            for word, weight in each.items():
                having.setdefault(word, []).append((number, weight * (K + 1) / (weight + norm)))
        self._having = having
        self.rarity = {word: rarity(len(operations), len(found)) for word, found in having.items()}
        self.words = list(having)

    def scores(self, meant: Mapping[str, float]) -> dict[int, float]:
        """Each tool's highest score for one of the words, times how much the word counts."""
        scores: dict[int, float] = {}
        for word, share in meant.items():
            factor = share * self.rarity[word]
            for number, score in self._having[word]:
                if factor * score > scores.get(number, 0.0):
                    scores[number] = factor * score
        return scores


def rarity(tools: int, having: int) -> float:
    """The weight of a word that `having` of all `tools` have."""
    return math.log(1 + (tools - having + 0.5) / (having + 0.5))


def _weighted(operation: Operation, api_nouns: Nouns) -> dict[str, float]:
    weighted: dict[str, float] = {}
    for column, found in _words_by_column(operation, api_nouns):
        for word in found:
            one = singular(word)
            weighted[one] = weighted.get(one, 0.0) + WEIGHTS[column]
    return weighted


def _words_by_column(operation: Operation, api_nouns: Nouns) -> Iterator[tuple[str, Sequence[str]]]:
    noun = api_nouns.behind(operation)
    yield "name", words(operation.name)
    yield "title", words(operation.title)
    yield "path", route_words(operation.route)
    yield "also", sorted(noun.also)
    yield "described", sorted(noun.described)
    yield "verbs", verbs(operation)
    yield "description", words(operation.description)
    yield "parameters", [word for each in operation.parameters.items() for word in _parameter_words(*each)]
    yield "tags", [*path_words(operation), *words(" ".join((*operation.tags, *operation.field_names)))]


def _parameter_words(name: str, schema: Mapping[str, Any]) -> list[str]:
    choices = " ".join(str(value) for value in schema.get("enum", ()))
    return words(f"{name} {schema.get('description', '')} {choices}")
