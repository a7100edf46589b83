"""Full-text search over the tools' own texts. The index is built once per catalogue.

A tool matches if it has any word of the query (BM25, SQLite's FTS5, in memory). A query word that no tool has matches
words that begin with it, at a lower score. If there are none of these either, it matches words with a similar spelling,
at a still lower score.
"""

import difflib
import re
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation
from gateway.connectors.tools.words import KNOWN_VERBS, READING, Things, asked_words, path_words, singular, verbs, words

# The weight of a word, by the column that has it.
WEIGHTS: Mapping[str, float] = {
    "name": 4.0,
    "title": 2.0,
    "also": 3.0,  # synonyms of the noun in its name
    "told": 0.3,  # words with which the API describes that noun
    "verbs": 1.0,  # synonyms of its verb
    "description": 1.0,
    "parameters": 0.3,
    "tags": 0.2,
}
# Factors by kind of tool, for a query with a verb that changes something (ACTING), with a number such as an id (ONE),
# with a plural (MANY), and any other (ANY).
ACTING: Mapping[Kind, float] = {Kind.ACTION: 1.0, Kind.LIST: 0.9, Kind.RECORD: 0.9, Kind.TEXT: 0.9}
ONE: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 0.9, Kind.RECORD: 1.1, Kind.TEXT: 1.1}
MANY: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 1.0, Kind.RECORD: 0.7, Kind.TEXT: 0.7}
ANY: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 1.0, Kind.RECORD: 0.9, Kind.TEXT: 0.9}
UNCOVERED = 0.4  # share of its score that a tool keeps if it has hardly any of the words
BEGINS, SPELT_LIKE = 0.8, 0.6  # factors for a prefix match and for a similar spelling
FLOOR = 0.15  # of the best score: tools below it are dropped

MOST_WORDS = 24  # of a query
MOST_LIKE = 3  # known words that are tried for a misspelt one
CLOSE = 0.72  # lowest difflib ratio of two words with a similar spelling
_NUMBER = re.compile(r"\b\d{3,}\b")


class Index:
    """A search index over some tools. Safe for threads."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._operations = list(operations)
        self._named = {tuple(words(operation.name)): number for number, operation in enumerate(self._operations)}
        actions = {words(each.name)[0] for each in self._operations if each.kind is Kind.ACTION and words(each.name)}
        self._acting = (KNOWN_VERBS | actions) - READING
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._database.close)
        self._spelt = _by_trigram(self._fill())

    def _fill(self) -> list[str]:
        """Fills the table. Returns every word that the tools have, once each."""
        columns, known = ", ".join(WEIGHTS), dict[str, None]()
        self._database.execute(f"CREATE VIRTUAL TABLE tool USING fts5({columns}, tokenize='porter unicode61')")
        insert = f"INSERT INTO tool (rowid, {columns}) VALUES (?{', ?' * len(WEIGHTS)})"  # noqa: S608
        things = Things.of(self._operations)
        for number, operation in enumerate(self._operations):
            by_column = _words_by_column(operation, things)
            known |= dict.fromkeys(word for column in by_column.values() for word in column)
            self._database.execute(insert, (number, *(" ".join(by_column[column]) for column in WEIGHTS)))
        return list(known)

    def search(self, query: str) -> list[str]:
        """The names of the tools that match the query, the likeliest first."""
        terms = asked_words(query)[:MOST_WORDS]
        totals = _totals([scores for word in terms if (scores := self._scores(word))])
        favour = self._favour(query, terms)
        scores = {number: total * favour[self._operations[number].kind] for number, total in totals.items()}
        floor = FLOOR * max(scores.values(), default=0)
        if (named := self._named.get(tuple(words(query)))) is not None:
            scores[named] = float("inf")
        meant = (number for number in scores if scores[number] >= floor)
        ranked = sorted(meant, key=lambda number: (-round(scores[number], 6), number))
        return [self._operations[number].name for number in ranked]

    def _favour(self, query: str, terms: Sequence[str]) -> Mapping[Kind, float]:
        if self._acting.intersection(terms):
            return ACTING
        if _NUMBER.search(query):
            return ONE
        return MANY if any(singular(word) != word for word in terms) else ANY

    def _scores(self, word: str) -> Mapping[int, float]:
        """Each matching tool's score for one word."""
        if exact := self._matching(f'"{word}"'):
            return exact
        if len(word) > 2 and (begun := self._matching(f'"{word}" *')):
            return {number: BEGINS * score for number, score in begun.items()}
        scores: dict[int, float] = {}
        for like in self._like(word):
            for number, score in self._matching(f'"{like}"').items():
                scores[number] = max(scores.get(number, 0.0), SPELT_LIKE * score)
        return scores

    def _matching(self, match: str) -> dict[int, float]:
        weights = ", ".join(map(str, WEIGHTS.values()))
        query = f"SELECT rowid, -bm25(tool, {weights}) FROM tool WHERE tool MATCH ?"  # noqa: S608
        with self._lock:
            return dict(self._database.execute(query, (match,)).fetchall())

    def _like(self, word: str) -> list[str]:
        """Known words with a spelling similar to this one, the most similar first."""
        shared: dict[str, int] = {}
        for trigram in _trigrams(word):
            for known in self._spelt.get(trigram, ()):
                shared[known] = shared.get(known, 0) + 1
        likely = sorted(shared, key=lambda known: (-shared[known], known))[:20]
        return difflib.get_close_matches(word, likely, n=MOST_LIKE, cutoff=CLOSE)


def _totals(found: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Each tool's sum of scores. The fewer of the query's words a tool has, the more its sum is reduced."""
    totals: dict[int, float] = {}
    covered: dict[int, int] = {}
    for scores in found:
        for number, score in scores.items():
            totals[number] = totals.get(number, 0.0) + score
            covered[number] = covered.get(number, 0) + 1
    return {
        number: total * (UNCOVERED + (1 - UNCOVERED) * covered[number] / len(found)) for number, total in totals.items()
    }


def _words_by_column(operation: Operation, things: Things) -> dict[str, list[str]]:
    thing = things.behind(operation)
    return {
        "name": words(operation.name),
        "title": words(operation.title),
        "also": sorted(thing.also),
        "told": sorted(thing.told),
        "verbs": verbs(operation),
        "description": words(operation.description),
        "parameters": [
            word for name, schema in operation.parameters.items() for word in _parameter_words(name, schema)
        ],
        "tags": [*path_words(operation), *words(" ".join((*operation.tags, *operation.field_names)))],
    }


def _parameter_words(name: str, schema: Mapping[str, Any]) -> list[str]:
    choices = " ".join(str(value) for value in schema.get("enum", ()))
    return words(f"{name} {schema.get('description', '')} {choices}")


def _by_trigram(known: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word in known:
        for trigram in _trigrams(word):
            found.setdefault(trigram, []).append(word)
    return found


def _trigrams(word: str) -> set[str]:
    framed = f" {word} "
    return {framed[start : start + 3] for start in range(len(framed) - 2)}
