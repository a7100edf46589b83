"""Definitions that a question names. A file that has one is shown with it, instead of with its best-matching lines."""

import re
from dataclasses import replace

from gateway.connectors.codebase.index.symbols import Symbol
from gateway.connectors.codebase.query.query_result import QueryResult
from gateway.connectors.codebase.query.sources import Sources
from gateway.connectors.codebase.query.symbols import definition

MOST_NAMES = 20  # of one question
MOST_PLACES = 50  # of one name; a name that is defined more often is ignored

# Words that are names of code: in quotation marks, or with a capital, digit or _ inside.
_QUOTED = re.compile(r"[`'\"]([A-Za-z_]\w{2,})(?:\(\))?[`'\"]")
_INNER = re.compile(r"\b(?:[a-z]+\d*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|\w*[A-Za-z0-9]_\w+)\b")


def names_of(question: str) -> list[str]:
    return list(dict.fromkeys(_QUOTED.findall(question) + _INNER.findall(question)))[:MOST_NAMES]


def with_named_definitions(question: str, found: QueryResult, sources: Sources) -> QueryResult:
    """The same files in the same order, each with its first named definition if it has one."""
    store = sources.store
    if store is None:
        return found
    defined: dict[str, Symbol] = {}
    for name in names_of(question):
        places = store.find_symbols(name, most=MOST_PLACES + 1)
        if len(places) <= MOST_PLACES:
            for place in places:
                defined.setdefault(place.path, place.symbol)
    rows = []
    for row in found.rows:
        symbol = defined.get(row["path"])
        shown = definition(row["path"], symbol, sources, score=row["score"]) if symbol else None
        rows.append(shown or row)
    return replace(found, rows=rows)
