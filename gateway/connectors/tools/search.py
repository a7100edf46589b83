"""Full-text search over the tools' own texts. The index is built once per catalogue.

A tool matches if it has any word of the query (BM25, SQLite's FTS5, in memory). A query word that no tool has
matches its synonyms; if there are none, words that begin with it, and then words with a similar spelling, each at a
lower score. Matching tools are ranked by these scores, and by how like the query their names are.
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
from gateway.connectors.tools.likeness import FAINT, Likeness
from gateway.connectors.tools.words import (
    CANCELLING,
    DELETING,
    KNOWN_VERBS,
    READING,
    Nouns,
    ParsedQuery,
    faint_words,
    is_question,
    is_request,
    name_words,
    nouns,
    path_words,
    query_words,
    related,
    singular,
    verbs,
    words,
)

# The weight of a word, by the column that has it.
WEIGHTS: Mapping[str, float] = {
    "name": 4.0,
    "title": 2.0,
    "also": 3.0,  # synonyms of the noun in its name
    "described": 0.3,  # words from the API's description of that noun
    "verbs": 1.0,  # synonyms of its verb
    "description": 1.0,
    "parameters": 0.3,
    "tags": 0.2,
}
# Factors by kind of tool, for a query with a verb that changes something (CHANGING), with a number such as an id (ONE),
# with a plural (MANY), and any other (ANY).
CHANGING: Mapping[Kind, float] = {Kind.ACTION: 1.0, Kind.LIST: 0.7, Kind.RECORD: 0.7, Kind.TEXT: 0.7}
ONE: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 0.9, Kind.RECORD: 1.1, Kind.TEXT: 1.1}
MANY: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 1.0, Kind.RECORD: 0.7, Kind.TEXT: 0.7}
ANY: Mapping[Kind, float] = {Kind.ACTION: 0.6, Kind.LIST: 1.0, Kind.RECORD: 0.9, Kind.TEXT: 0.9}
TEXTS = 0.4  # share of all texts in a score; the rest is the likeness of names
UNASKED = 0.6  # factor for a tool that deletes, if the query does not say so
UNCOVERED = 0.4  # lowest factor for a tool that has few of the query's words
# Factors for a match by a synonym, by the beginning of a word, and by a similar spelling.
SYNONYM, PREFIX_MATCH, SIMILAR_SPELLING = 0.8, 0.8, 0.6
BESIDE = 0.35  # factor for a synonym of a word that other tools have
FLOOR = 0.15  # share of the best score; tools below it are dropped

MAX_WORDS = 24  # words of a query that are searched for
MAX_SIMILAR = 3  # known words that are tried for a misspelt one
LOWEST_RATIO = 0.72  # lowest difflib ratio of two words with a similar spelling
_NUMBER = re.compile(r"\b\d{3,}\b")


class Index:
    """A search index over some tools. Safe for threads."""

    def __init__(self, operations: Iterable[Operation]) -> None:
        self._operations = list(operations)
        self._named = {tuple(words(operation.name)): number for number, operation in enumerate(self._operations)}
        actions = {name_words(each)[0] for each in self._operations if each.kind is Kind.ACTION and name_words(each)}
        self._acting = (KNOWN_VERBS | actions) - READING
        self._nouns = {word for each in self._operations for word in nouns(each)}
        self._kinds = [_kind(each) for each in self._operations]
        self._likeness = Likeness(self._operations)
        self._deleting = frozenset(
            number for number, each in enumerate(self._operations) if DELETING.intersection(words(each.name))
        )
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._database.close)
        self._spelt = _by_trigram(self._fill())

    def _fill(self) -> list[str]:
        """Fills the table. Returns every word that the tools have, once each."""
        columns, known = ", ".join(WEIGHTS), dict[str, None]()
        self._database.execute(f"CREATE VIRTUAL TABLE tool USING fts5({columns}, tokenize='porter unicode61')")
        insert = f"INSERT INTO tool (rowid, {columns}) VALUES (?{', ?' * len(WEIGHTS)})"  # noqa: S608
        api_nouns = Nouns.of(self._operations)
        for number, operation in enumerate(self._operations):
            by_column = _words_by_column(operation, api_nouns)
            known |= dict.fromkeys(word for column in by_column.values() for word in column)
            self._database.execute(insert, (number, *(" ".join(by_column[column]) for column in WEIGHTS)))
        return list(known)

    def search(self, query: str) -> list[str]:
        """The names of the tools that match the query, the best match first."""
        terms = query_words(query)[:MAX_WORDS]
        scores = self._ranked(query, terms, _totals(self._found(query, terms)))
        floor = FLOOR * max(scores.values(), default=0)
        if (named := self._named.get(tuple(words(query)))) is not None:
            scores[named] = float("inf")
        relevant = (number for number in scores if scores[number] >= floor)
        ranked = sorted(relevant, key=lambda number: (-round(scores[number], 6), number))
        return [self._operations[number].name for number in ranked]

    def _ranked(self, query: str, terms: Sequence[str], totals: Mapping[int, float]) -> dict[int, float]:
        """Each matching tool's score, from 0 to about 1. `totals`: its score by all of its texts."""
        parsed, best = ParsedQuery.of(terms, query), max(totals.values(), default=1.0)
        kinds = self._kind_factors(query, terms)
        unasked = frozenset() if CANCELLING.intersection(terms) else self._deleting
        return {
            number: (TEXTS * total / best + (1 - TEXTS) * self._likeness.of(parsed, number))
            * kinds[self._kinds[number]]
            * (UNASKED if number in unasked else 1.0)
            for number, total in totals.items()
        }

    def _kind_factors(self, query: str, terms: Sequence[str]) -> Mapping[Kind, float]:
        if is_request(query) or (self._acts(terms) and not is_question(query)):
            return CHANGING
        if _NUMBER.search(query):
            return ONE
        return MANY if any(singular(word) != word for word in terms) else ANY

    def _acts(self, terms: Sequence[str]) -> bool:
        """Whether a word is a verb that changes something: `email` is one only where a query begins with it."""
        return any(
            word in self._acting and (place == 0 or singular(word) not in self._nouns)
            for place, word in enumerate(terms)
        )

    def _found(self, query: str, terms: Sequence[str]) -> list[Mapping[int, float]]:
        """The scores of the matching tools, for each word that any tool has."""
        faint = faint_words(terms, query)
        each = ((FAINT if word in faint else 1.0, self._scores(word)) for word in terms)
        return [{number: weight * score for number, score in scores.items()} for weight, scores in each if scores]

    def _scores(self, word: str) -> Mapping[int, float]:
        """Each matching tool's score for one word."""
        exact = self._matching(f'"{word}"')
        meant = self._best_of(sorted(related(word)), BESIDE if exact else SYNONYM)
        if exact or meant:
            return {number: max(exact.get(number, 0.0), meant.get(number, 0.0)) for number in exact.keys() | meant}
        if len(word) > 2 and (begun := self._matching(f'"{word}" *')):
            return {number: PREFIX_MATCH * score for number, score in begun.items()}
        return self._best_of(self._like(word), SIMILAR_SPELLING)

    def _best_of(self, others: Iterable[str], factor: float) -> dict[int, float]:
        """Each matching tool's highest score for one of the words, times the factor."""
        scores: dict[int, float] = {}
        for other in others:
            for number, score in self._matching(f'"{other}"').items():
                scores[number] = max(scores.get(number, 0.0), factor * score)
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
        return difflib.get_close_matches(word, likely, n=MAX_SIMILAR, cutoff=LOWEST_RATIO)


def _kind(operation: Operation) -> Kind:
    """The kind by which the tool is ranked: one that only reads by its name is no action, though its API wants a
    POST."""
    begins = name_words(operation)[:1]
    return Kind.LIST if operation.kind is Kind.ACTION and READING.intersection(begins) else operation.kind


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


def _words_by_column(operation: Operation, api_nouns: Nouns) -> dict[str, list[str]]:
    noun = api_nouns.behind(operation)
    return {
        "name": words(operation.name),
        "title": words(operation.title),
        "also": sorted(noun.also),
        "described": sorted(noun.described),
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
