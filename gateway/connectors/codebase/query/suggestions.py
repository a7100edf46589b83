"""Suggested next queries, which can be sent unchanged: the text of a structured query, or a question in words."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import orjson

from gateway.connectors.codebase.index.symbols import symbols_of
from gateway.connectors.codebase.index.terms import ASKING, WORD
from gateway.connectors.codebase.query.file_names import written
from gateway.connectors.codebase.query.query_result import QueryResult
from gateway.connectors.codebase.query.request import QueryRequest
from gateway.connectors.codebase.query.sources import Sources

MOST = 3


def suggestions(request: QueryRequest, found: QueryResult, sources: Sources, *, is_partial: bool) -> list[str]:
    """The query that continues this one comes first."""
    return list(dict.fromkeys(islice(_proposed(request, found, sources, is_partial=is_partial), MOST)))


def continuing(request: QueryRequest, found: QueryResult, *, is_partial: bool) -> list[str]:
    """The query that continues this one; none if nothing is left out."""
    if found.next_query:
        return [_text(found.next_query)]
    return [request.question] if is_partial and request.question else []


def _proposed(request: QueryRequest, found: QueryResult, sources: Sources, *, is_partial: bool) -> Iterator[str]:
    yield from continuing(request, found, is_partial=is_partial)
    if not found.rows:
        yield from _without_rows(request)
        return
    path = written(str(found.rows[0].get("path", "")))
    if path and (request.structured or {}).get("operation") != "outline":
        yield _text({"operation": "outline", "path": path})
    name = _name(found.rows[0], sources)
    if name and (request.structured or {}).get("operation") != "findReferences":
        yield _text({"operation": "findReferences", "name": name})
    if path:
        yield _text({"operation": "history", "path": path})
    elif "commit" in found.rows[-1]:
        yield _text({"operation": "changedSince", "commit": found.rows[-1]["commit"]})


def _without_rows(request: QueryRequest) -> Iterator[str]:
    text = request.question or str((request.structured or {}).get("name", ""))
    words = [word for word in WORD.findall(text[:1_000]) if word.lower() not in ASKING and len(word) > 2]
    if words:
        yield _text({"operation": "grep", "pattern": max(words, key=len)[:100], "ignoreCase": True})
    yield _text({"operation": "listFiles"})


def _name(row: Mapping[str, Any], sources: Sources) -> str:
    """The name of the symbol that the row shows; empty if there is none."""
    if "name" in row:
        return str(row["name"])
    if "excerpt" not in row:
        return ""
    symbols = symbols_of(row["path"], sources.read(row["path"]) or b"")
    inside = (each.name for each in symbols if row["startLine"] <= each.start_line <= row["endLine"])
    return next(inside, "")


def _text(query: Mapping[str, Any]) -> str:
    return orjson.dumps(dict(query)).decode()
