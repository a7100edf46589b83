"""The structured queries, by operation."""

from collections.abc import Callable, Mapping
from typing import Any

from gateway.connectors.codebase.query import file_list, lines, past, symbols
from gateway.connectors.codebase.query.query_result import HasLeft, QueryResult
from gateway.connectors.codebase.query.sources import Sources

Answer = Callable[[Mapping[str, Any], Sources, HasLeft], QueryResult]

ANSWERS: Mapping[str, Answer] = {
    "findSymbol": symbols.find_symbol,
    "findReferences": lines.find_references,
    "listFiles": file_list.list_files,
    "grep": lines.grep,
    "outline": symbols.outline,
    "history": past.history,
    "changedSince": past.changed_since,
}
