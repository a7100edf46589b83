"""Structured queries: what is accepted, and how mistakes are named."""

from typing import Any

import pytest

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.index.symbols import symbols_of
from gateway.connectors.codebase.schemas.structured_queries import OPERATIONS, SYMBOL_KINDS, structured_query

VALID = {
    "findSymbol": {"name": "Dispatcher"},
    "findReferences": {"name": "dispatch"},
    "listFiles": {},
    "grep": {"pattern": "TODO"},
    "outline": {"path": "src/app.py"},
    "history": {},
    "changedSince": {"commit": "HEAD~3"},
}


def test_every_operation_is_tried_here():
    assert set(VALID) == set(OPERATIONS)


@pytest.mark.parametrize("name", VALID)
def test_a_valid_query_gets_its_defaults(name: str):
    query = structured_query({"operation": name, **VALID[name]})
    assert query["limit"] == 50
    assert query.items() >= {"operation": name, **VALID[name]}.items()


@pytest.mark.parametrize(
    ("query", "parameter", "suggestion"),
    [
        ({}, "query.operation", "Set query.operation to listFiles."),
        ({"operation": "findsymbols"}, "query.operation", "Set query.operation to findSymbol."),
        ({"operation": 7}, "query.operation", "Set query.operation to listFiles."),
        ({"operation": "grep"}, "query.pattern", "Call grep again with pattern as a text of 1 to 1000 characters."),
        ({"operation": "grep", "patern": "x"}, "query.patern", "Rename patern to pattern."),
        ({"operation": "grep", "pattern": "x", "isRegex": "yes"}, "query.isRegex", "Set isRegex to true."),
        ({"operation": "listFiles", "limit": 0}, "query.limit", "Set limit to 1."),
        ({"operation": "listFiles", "limit": "5"}, "query.limit", "Set limit to 5."),
    ],
)
def test_a_mistake_is_named_with_its_correction(query: dict[str, Any], parameter: str, suggestion: str):
    with pytest.raises(InvalidArgument) as refused:
        structured_query(query)
    assert (refused.value.parameter, refused.value.reason) == (parameter, "invalid_query")
    assert refused.value.suggestion == suggestion


def test_every_kind_of_symbol_can_be_found():
    """A kind that the index never gives would find nothing, without a word."""
    sources = {
        "a.py": "LIMIT = 1\n\n\nclass Shop:\n    def sell(self):\n        pass\n",
        "a.ts": "interface Item { id: number }\nnamespace inner { }\n",
    }
    found = {each.kind for path, text in sources.items() for each in symbols_of(path, text.encode())}
    assert found == set(SYMBOL_KINDS)
