"""Search: a question in words becomes lines of files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gateway.connectors.codebase.index.passages import LINES
from gateway.connectors.codebase.index.ranking import RankedFile, Ranking
from gateway.connectors.codebase.index.store import IndexStore
from gateway.connectors.codebase.index.symbols import Symbol
from gateway.connectors.codebase.index.terms import question_terms, terms_of

NEIGHBOURS = 8  # lines before and after the best one
MOST_LINES = 40  # of a definition that is shown whole

Read = Callable[[str], bytes | None]  # a path's content now; None if it is no more


@dataclass(frozen=True, slots=True)
class Match:
    """Lines count from 1; `end_line` belongs to it. `score`: 1.0 for the best file of the answer."""

    path: str
    start_line: int
    end_line: int
    score: float
    excerpt: str


def ranked_files(store: IndexStore, question: str) -> tuple[Ranking, list[RankedFile]]:
    """The files that answer, best first."""
    counts = store.file_counts(question_terms(question))
    ranking = Ranking(question, counts, store.totals())
    rarest_first = sorted(counts, key=lambda term: (counts[term], term))
    return ranking, ranking.rank(store.files(store.proposed(rarest_first)))


def search(store: IndexStore, question: str, read: Read, *, most: int = 10) -> list[Match]:
    """The best lines of the best files, one match a file."""
    ranking, files = ranked_files(store, question)
    matches: list[Match] = []
    for file in files:
        if len(matches) == most:
            break
        content = read(file.path)
        if content:  # an empty or deleted file has no lines to show; the next update notices
            lines = content.decode(errors="replace").split("\n")
            start, end = _best_lines(lines, file.passages, store.symbols_of(file.path), ranking.rarity)
            score = round(file.score / files[0].score, 4)
            matches.append(Match(file.path, start, end, score, "\n".join(lines[start - 1 : end])))
    return matches


def _best_lines(
    lines: Sequence[str], passages: Sequence[float], symbols: Sequence[Symbol], rarity: Mapping[str, float]
) -> tuple[int, int]:
    """The definition around the best line of the best passage, or its neighbourhood where that is too long or none."""
    last = len(lines) - (lines[-1] == "")
    best = max(range(len(passages)), key=passages.__getitem__, default=0)
    first = min(best * LINES, (last - 1) // LINES * LINES)  # the file may have become shorter
    scores = [_line_score(line, rarity) for line in lines[first : min(first + LINES, last)]]
    line = first + 1 + max(range(len(scores)), key=lambda at: sum(scores[max(0, at - 2) : at + 3]) + scores[at])
    around = [
        symbol
        for symbol in symbols
        if symbol.start_line <= line <= symbol.end_line <= last
        and 1 < symbol.end_line - symbol.start_line + 1 <= MOST_LINES
    ]
    if around:
        smallest = min(around, key=lambda symbol: symbol.end_line - symbol.start_line)
        return smallest.start_line, smallest.end_line
    start = max(1, line - NEIGHBOURS)
    return start, min(last, start + 2 * NEIGHBOURS)


def _line_score(line: str, rarity: Mapping[str, float]) -> float:
    return sum(rarity.get(term, 0) for term in set(terms_of(line).split()))
