"""The request of a query: words or a structured query."""

from typing import Any

import pytest

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.query.request import QueryRequest

LIST = {"operation": "listFiles"}


def request_of(query: Any, kind: str | None = None, **more: Any) -> QueryRequest:
    return QueryRequest.of({"query": query, "responseFormat": "JSON", **({"queryType": kind} if kind else {}), **more})


@pytest.mark.parametrize(
    ("query", "kind", "operation"),
    [
        ("Where is it?", None, None),
        ("Where is it?", "NaturalLanguage", None),
        ("{not json", None, None),
        ('{"a": 1}', None, None),
        (LIST, None, "listFiles"),
        (LIST, "StructuredJSON", "listFiles"),
        ('{"operation": "listFiles"}', None, "listFiles"),
        ('{"operation": "listFiles"}', "StructuredJSON", "listFiles"),
        ('{"operation": "listFiles"}', "NaturalLanguage", "listFiles"),  # as suggestions have it
    ],
)
def test_the_kind_of_a_query(query: Any, kind: str | None, operation: str | None):
    request = request_of(query, kind)
    assert (request.structured or {}).get("operation") == operation
    assert request.question == ("" if operation else query)


@pytest.mark.parametrize(
    ("query", "kind", "expected"),
    [
        (LIST, "NaturalLanguage", "a text"),
        ("Where is it?", "StructuredJSON", "an object with operation"),
        ("ä" * 500_001, None, "at most 1,000,000 bytes"),
    ],
)
def test_a_query_that_is_not_of_its_kind_is_refused(query: Any, kind: str | None, expected: str):
    with pytest.raises(InvalidArgument) as refused:
        request_of(query, kind)
    assert (refused.value.parameter, refused.value.expected) == ("query", expected)


def test_a_structured_query_as_text_is_checked_like_an_object():
    with pytest.raises(InvalidArgument) as refused:
        request_of('{"operation": "grep"}')
    assert refused.value.parameter == "query.pattern"


def test_the_texts_of_the_context_are_known():
    context = {"error": "KeyError: 'x'", "files": ["src/a.py", {"deep": "b"}], "line": 7}
    assert request_of("why?", context=context).context == ("KeyError: 'x'", "src/a.py", "b")
