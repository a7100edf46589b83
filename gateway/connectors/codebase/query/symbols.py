"""findSymbol and outline: the definitions of the project, and of a file."""

from collections.abc import Mapping
from typing import Any

from context_protection.core.errors import InvalidArgument, nearest
from gateway.connectors.codebase.index.store import FoundSymbol
from gateway.connectors.codebase.index.symbols import Symbol, symbols_of
from gateway.connectors.codebase.query.file_names import existing, written
from gateway.connectors.codebase.query.query_result import MATCHES, SYMBOLS, HasLeft, QueryResult, match
from gateway.connectors.codebase.query.sources import Sources
from gateway.connectors.codebase.tree import files
from gateway.connectors.codebase.tree.paths import PathRefused

MOST_LINES = 40  # shown of a definition
MOST_FILTERED = 10_000  # definitions of one name, among which those of a kind or of a scope are found
NOT_INDEXED = "Symbols are found when the index is complete."


def find_symbol(query: Mapping[str, Any], sources: Sources, has_left: HasLeft) -> QueryResult:
    if sources.store is None:
        return QueryResult(MATCHES, [], 0, left_out=NOT_INDEXED, next_query=query)
    found, left_out = _found(query, sources)
    limit = query["limit"]
    rows: list[dict[str, Any]] = []
    for number, each in enumerate(found[:limit]):
        if not has_left():
            left_out = f"{len(found[:limit]) - number} definitions were not read."
            return QueryResult(MATCHES, rows, len(rows), left_out=left_out, next_query=_continued(query, number))
        row = definition(each.path, each.symbol, sources)
        rows += [row] if row else []
    more = len(found) > limit
    next_query = _continued(query, limit) if more else None
    return QueryResult(MATCHES, rows, len(rows), has_more=more, left_out=left_out, next_query=next_query)


def _found(query: Mapping[str, Any], sources: Sources) -> tuple[list[FoundSymbol], str]:
    """The definitions from `offset` on, more than `limit` if there are more, and a sentence about what was left out."""
    assert sources.store is not None
    name, kind, offset = query["name"], query.get("kind"), query["offset"]
    is_filtered = kind is not None or not sources.scope.is_whole
    most = MOST_FILTERED if is_filtered else offset + query["limit"] + 1
    named = sources.store.find_symbols(name, most=most)
    found = [each for each in named if sources.scope.holds(each.path) and kind in (None, each.symbol.kind)]
    is_cut = is_filtered and len(named) == most
    return found[offset:], f"Only the first {most:,} definitions of that name were looked at." if is_cut else ""


def _continued(query: Mapping[str, Any], shown: int) -> dict[str, Any]:
    return {**query, "offset": query["offset"] + shown}


def definition(path: str, symbol: Symbol, sources: Sources, *, score: float = 1.0) -> dict[str, Any] | None:
    """A row for the definition; None if the file lacks its lines, for example because it has changed since it was
    indexed."""
    lines = (sources.text(path) or "").split("\n")
    if symbol.end_line > len(lines):
        return None
    end = min(symbol.end_line, symbol.start_line + MOST_LINES - 1)
    excerpt = "\n".join(lines[symbol.start_line - 1 : end])
    return match(path, symbol.start_line, end, excerpt, score=score, name=symbol.name, kind=symbol.kind)


def outline(query: Mapping[str, Any], sources: Sources, has_left: HasLeft) -> QueryResult:
    path = existing(query["path"], sources)
    content = _content(path, query["path"], sources)
    symbols, limit = symbols_of(path, content)[query["offset"] :], query["limit"]
    more = len(symbols) > limit
    return QueryResult(
        SYMBOLS,
        [
            {"path": path, "startLine": each.start_line, "endLine": each.end_line, "name": each.name, "kind": each.kind}
            for each in symbols[:limit]
        ],
        1,
        has_more=more,
        next_query=_continued(query, limit) if more else None,
    )


def _content(path: str, name: str, sources: Sources) -> bytes:
    """The content of the file at `path`, which the query calls `name`. Raises InvalidArgument."""
    wrong_path = unread = ""
    try:
        if files.has_name(sources.repository, path):
            if (content := sources.read(path)) is not None:
                return content
            unread = files.why_unread(sources.root, sources.repository, path)
    except PathRefused as refused:
        wrong_path = str(refused)
    close = None if unread else nearest(path, sources.paths)
    raise InvalidArgument(
        wrong_path or unread or f"{name[:200]!r} is not a text file of the project.",
        reason="path_refused",
        parameter="query.path",
        value=name,
        expected="a file of the project, such as src/main.py",
        suggestion=f"Set query.path to {written(close)}." if close else 'Ask {"operation": "listFiles"} for the paths.',
    )
