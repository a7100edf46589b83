"""Questions in words: the best lines of the best files."""

from collections.abc import Sequence

from gateway.connectors.codebase.index.search import matches, ranked_files
from gateway.connectors.codebase.query.query_result import MATCHES, HasLeft, QueryResult, Row, match
from gateway.connectors.codebase.query.sources import Sources

MOST_FILES = 10
LONGEST_QUESTION = 10_000  # characters of the question that are read, and of its context
NOT_INDEXED = "Nothing was searched, because the project has no index yet."


def answer_in_words(question: str, context: Sequence[str], sources: Sources, has_left: HasLeft) -> QueryResult:
    store = sources.store
    if store is None:
        return QueryResult(MATCHES, [], 0, left_out=NOT_INDEXED)
    if not sources.scope.is_whole:
        store.choose(sources.scope.holds)
    asked = "\n".join([question[:LONGEST_QUESTION], " ".join(context)[:LONGEST_QUESTION]])
    ranking, files = ranked_files(store, asked)
    rows: list[Row] = []
    best_lines: list[int] = []
    best = matches(store, ranking, files, sources.read)
    while len(rows) < MOST_FILES:
        if not has_left():
            left_out = f"{min(MOST_FILES, len(files)) - len(rows)} of the best files were not read."
            return QueryResult(MATCHES, rows, len(files), left_out=left_out, best_lines=best_lines)
        found = next(best, None)
        if found is None:
            break
        rows.append(match(found.path, found.start_line, found.end_line, found.excerpt, score=found.score))
        best_lines.append(found.best_line)
    return QueryResult(MATCHES, rows, len(files), best_lines=best_lines)
