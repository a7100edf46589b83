"""Search: finds the lines of files that answer a question in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from gateway.connectors.codebase.index.passages import LINES
from gateway.connectors.codebase.index.ranking import RankedFile, Ranking
from gateway.connectors.codebase.index.store import IndexStore
from gateway.connectors.codebase.index.symbols import Symbol
from gateway.connectors.codebase.index.terms import question_terms, terms_of

MOST_TERMS = 1_000  # of a question that are searched for; each takes up to a millisecond
NEIGHBOURS = 8  # lines before and after the best one
MOST_LINES = 40  # of a definition that is shown whole

Read = Callable[[str], bytes | None]  # path → its current content; None if there is none to read


@dataclass(frozen=True, slots=True)
class Match:
    """Line numbers start at 1; `end_line` is inclusive. `best_line`: the line that matches best. `score`: 1.0 for the
    best file of the answer."""

    path: str
    start_line: int
    end_line: int
    best_line: int
    score: float
    excerpt: str


def ranked_files(store: IndexStore, question: str) -> tuple[Ranking, list[RankedFile]]:
    """The ranking for the question, and the files that match it, best first. Only the first MOST_TERMS different terms
    of the question are used."""
    counts = store.file_counts(question_terms(question)[:MOST_TERMS])
    ranking = Ranking(question, counts, store.totals())
    return ranking, ranking.rank(store.files(store.proposed(ranking.rarity)))


def matches(store: IndexStore, ranking: Ranking, files: Sequence[RankedFile], read: Read) -> Iterator[Match]:
    """The best lines of each file, in the order of the files. The files are read one by one, so the caller can stop
    early."""
    for file in files:
        content = read(file.path)
        if content:  # an empty or unreadable file has no lines to show
            lines = content.decode(errors="replace").split("\n")
            best = _best_line(lines, file.passages, ranking.rarity)
            start, end = _around(best, _length(lines), store.symbols_of(file.path))
            score = round(file.score / files[0].score, 4)
            yield Match(file.path, start, end, best, score, "\n".join(lines[start - 1 : end]))


def search(store: IndexStore, question: str, read: Read, *, most: int = 10) -> list[Match]:
    """The best lines of the best files, one match per file."""
    ranking, files = ranked_files(store, question)
    return list(islice(matches(store, ranking, files, read), most))


def _length(lines: Sequence[str]) -> int:
    return len(lines) - (lines[-1] == "")


def _best_line(lines: Sequence[str], passages: Sequence[float], rarity: Mapping[str, float]) -> int:
    """The line of the best passage that scores highest together with its neighbours."""
    last = _length(lines)
    best = max(range(len(passages)), key=passages.__getitem__, default=0)
    first = min(best * LINES, (last - 1) // LINES * LINES)  # the file may have become shorter
    scores = [_line_score(line, rarity) for line in lines[first : min(first + LINES, last)]]
    return first + 1 + max(range(len(scores)), key=lambda at: sum(scores[max(0, at - 2) : at + 3]) + scores[at])


def _around(line: int, last: int, symbols: Sequence[Symbol]) -> tuple[int, int]:
    """The smallest definition around a line, or the neighbouring lines if it is too long or there is none. `last`: the
    last line of the file."""
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
