"""Which tools a question means: a full-text index over what tools say of themselves, built once per catalogue.

Any word of the question counts (BM25, SQLite's FTS5, in memory). A word that no tool has counts for those that begin
with it, or else, for less, for those that are spelt like it.
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

# What a word is worth, by where a tool says it.
WEIGHTS: Mapping[str, float] = {
    "name": 4.0,
    "title": 2.0,
    "also": 3.0,  # what else the thing in its name is called
    "told": 0.3,  # what the API tells of that thing
    "verbs": 1.0,  # what else people call what it does
    "description": 1.0,
    "parameters": 0.3,
    "tags": 0.2,
}
# The kinds of tools that a question favours: one with a verb that acts; one with a number, as of an id; one that speaks
# of many; any other.
ACTING: Mapping[Kind, float] = {Kind.ACTION: 1.0, Kind.LIST: 0.9, Kind.RECORD: 0.9, Kind.TEXT: 0.9}
ONE: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 0.9, Kind.RECORD: 1.1, Kind.TEXT: 1.1}
MANY: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 1.0, Kind.RECORD: 0.7, Kind.TEXT: 0.7}
ANY: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 1.0, Kind.RECORD: 0.9, Kind.TEXT: 0.9}
UNCOVERED = 0.4  # what a tool keeps of its score that has hardly any of the words
BEGINS, SPELT_LIKE = 0.8, 0.6  # what such a match is worth
FLOOR = 0.15  # of the best score: what has less is not meant

MOST_WORDS = 24  # of a question
MOST_LIKE = 3  # words that a misspelt one may mean
CLOSE = 0.72  # difflib's ratio from which two words are spelt alike
_NUMBER = re.compile(r"\b\d{3,}\b")


class Index:
    """Over some tools; safe for threads."""

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
        """Returns all words that tools say."""
        columns, known = ", ".join(WEIGHTS), dict[str, None]()
        self._database.execute(f"CREATE VIRTUAL TABLE tool USING fts5({columns}, tokenize='porter unicode61')")
        insert = f"INSERT INTO tool (rowid, {columns}) VALUES (?{', ?' * len(WEIGHTS)})"  # noqa: S608
        things = Things.of(self._operations)
        for number, operation in enumerate(self._operations):
            said = _said(operation, things)
            known |= dict.fromkeys(word for column in said.values() for word in column)
            self._database.execute(insert, (number, *(" ".join(said[column]) for column in WEIGHTS)))
        return list(known)

    def search(self, query: str) -> list[str]:
        """The names of the tools that the question may mean, the likeliest first."""
        asked = asked_words(query)[:MOST_WORDS]
        totals = _totals([scores for word in asked if (scores := self._scores(word))])
        favour = self._favour(query, asked)
        scores = {number: total * favour[self._operations[number].kind] for number, total in totals.items()}
        floor = FLOOR * max(scores.values(), default=0)
        if (named := self._named.get(tuple(words(query)))) is not None:
            scores[named] = float("inf")
        meant = (number for number in scores if scores[number] >= floor)
        ranked = sorted(meant, key=lambda number: (-round(scores[number], 6), number))
        return [self._operations[number].name for number in ranked]

    def _favour(self, query: str, asked: Sequence[str]) -> Mapping[Kind, float]:
        if self._acting.intersection(asked):
            return ACTING
        if _NUMBER.search(query):
            return ONE
        return MANY if any(singular(word) != word for word in asked) else ANY

    def _scores(self, word: str) -> Mapping[int, float]:
        """What each tool gets for one word."""
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
        """Known words that are spelt like this one, the likeliest first."""
        shared: dict[str, int] = {}
        for trigram in _trigrams(word):
            for known in self._spelt.get(trigram, ()):
                shared[known] = shared.get(known, 0) + 1
        likely = sorted(shared, key=lambda known: (-shared[known], known))[:20]
        return difflib.get_close_matches(word, likely, n=MOST_LIKE, cutoff=CLOSE)


def _totals(found: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """The sums of what tools get for each word; the more of the words a tool has, the more it keeps."""
    totals: dict[int, float] = {}
    covered: dict[int, int] = {}
    for scores in found:
        for number, score in scores.items():
            totals[number] = totals.get(number, 0.0) + score
            covered[number] = covered.get(number, 0) + 1
    return {
        number: total * (UNCOVERED + (1 - UNCOVERED) * covered[number] / len(found)) for number, total in totals.items()
    }


def _said(operation: Operation, things: Things) -> dict[str, list[str]]:
    """The words of a tool, by column."""
    thing = things.behind(operation)
    return {
        "name": words(operation.name),
        "title": words(operation.title),
        "also": sorted(thing.also),
        "told": sorted(thing.told),
        "verbs": verbs(operation),
        "description": words(operation.description),
        "parameters": [word for name, schema in operation.parameters.items() for word in _of_parameter(name, schema)],
        "tags": [*path_words(operation), *words(" ".join((*operation.tags, *operation.field_names)))],
    }


def _of_parameter(name: str, schema: Mapping[str, Any]) -> list[str]:
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
