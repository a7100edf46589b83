"""The ranking: BM25F, that is BM25 whose term count is a weighted sum over the fields of a file.

The weights were tuned on public repositories, with titles of fixes as questions, and confirmed on other repositories.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gateway.connectors.codebase.index.asked_kinds import asked_kinds, asks_for_vendored
from gateway.connectors.codebase.index.store import IndexedFile, Totals
from gateway.connectors.codebase.tree.path_kinds import PathKind, is_vendored, kind_of


@dataclass(frozen=True, slots=True)
class Weights:
    """`k1`: how much a term's further occurrences count. `b`: how much long fields reduce the score. `passage`: weight
    of the best passage, added to the fields. `recency`: gain of a file that the last commit touched; it halves after
    `recent_commits`. `kinds`: factor of each kind of file. `asked`: replaces that factor for a kind that the question
    names. `vendored`: a further factor for copies of other projects, unless the question names these."""

    path: float = 8
    symbols: float = 2
    body: float = 0.5
    past: float = 2.5
    passage: float = 0.6
    k1: float = 6
    b: float = 0.5
    b_past: float = 0.15
    recency: float = 0.15
    recent_commits: int = 50
    asked: float = 0.5
    vendored: float = 0.3
    kinds: Mapping[PathKind, float] = field(
        default_factory=lambda: {
            PathKind.SOURCE: 1.0,
            PathKind.TEST: 0.3,
            PathKind.DOCS: 0.1,
            PathKind.CI: 0.2,
            PathKind.BUILD: 0.2,
            PathKind.DEPENDENCIES: 0.2,
            PathKind.DATA: 0.2,
        }
    )


WEIGHTS = Weights()


@dataclass(frozen=True, slots=True)
class RankedFile:
    """`passages`: the score of each, in the order of the file."""

    path: str
    score: float
    passages: tuple[float, ...]


class Ranking:
    """The ranking for one question. `file_counts`: term → how many files have it."""

    def __init__(
        self, question: str, file_counts: Mapping[str, int], totals: Totals, weights: Weights = WEIGHTS
    ) -> None:
        self.rarity = {
            term: math.log(1 + (totals.files - count + 0.5) / (count + 0.5)) for term, count in file_counts.items()
        }
        self._totals, self._weights, self._asked = totals, weights, asked_kinds(question)
        self._vendored = 1.0 if asks_for_vendored(question) else weights.vendored

    def rank(self, files: Iterable[IndexedFile]) -> list[RankedFile]:
        """The files that score above 0, best first. Files with equal scores are ordered by path, so that the same
        question has the same answer."""
        ranked = [self._ranked(file) for file in files]
        return sorted((file for file in ranked if file.score > 0), key=lambda file: (-file.score, file.path))

    def _ranked(self, file: IndexedFile) -> RankedFile:
        weights, totals = self._weights, self._totals
        passages = [passage.split() for passage in file.terms.passages]
        counted = [self._counted(passage) for passage in passages]
        average = totals.body_terms / max(1, totals.files)
        body: Counter[str] = sum(counted, Counter())
        total: dict[str, float] = {}
        for counts, length, mean, weight, b in (
            self._field(file.terms.path, totals.path_terms, totals.files, weights.path, weights.b),
            self._field(file.terms.symbols, totals.symbol_terms, totals.files, weights.symbols, weights.b),
            (body, sum(map(len, passages)), average, weights.body, weights.b),
            self._field(file.past, totals.past_terms, totals.past_files, weights.past, weights.b_past),
        ):
            scale = weight / (1 - b + b * length / mean) if mean else 0
            for term, count in counts.items():
                total[term] = total.get(term, 0) + scale * count
        scores = tuple(map(self._score, counted))
        score = self._score(total) + weights.passage * max(scores, default=0)
        return RankedFile(file.path, score * self._factor(file), scores)

    def _field(
        self, terms: str, all_terms: int, files: int, weight: float, b: float
    ) -> tuple[Counter[str], int, float, float, float]:
        words = terms.split()
        return self._counted(words), len(words), all_terms / max(1, files), weight, b

    def _counted(self, words: list[str]) -> Counter[str]:
        searched = self.rarity
        return Counter([word for word in words if word in searched])

    def _score(self, counts: Mapping[str, float]) -> float:
        k1 = self._weights.k1
        return sum(self.rarity[term] * count / (k1 + count) for term, count in counts.items())

    def _factor(self, file: IndexedFile) -> float:
        weights = self._weights
        kind = kind_of(file.path)
        factor = weights.asked if kind in self._asked else weights.kinds[kind]
        if is_vendored(file.path):
            factor *= self._vendored
        if file.age is not None:
            factor *= 1 + weights.recency / (1 + file.age / weights.recent_commits)
        return factor
