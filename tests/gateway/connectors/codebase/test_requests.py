"""The arguments of the codebase tools."""

from typing import Any

import pytest

from context_protection.core.errors import InvalidArgument
from context_protection.core.policy import Kind
from gateway.catalog.arguments import validated
from gateway.catalog.definition import ToolDefinition
from gateway.connectors.codebase.schemas.requests import COMMIT_MESSAGE, GENERAL_QUERY


def definition(parameters: Any, *required: str) -> ToolDefinition:
    return ToolDefinition(
        name="tool",
        title="Tool",
        description="",
        kind=Kind.RECORD,
        parameters=parameters,
        required=required,
        form=(),
        is_strict=True,
    )


QUERY, COMMIT = definition(GENERAL_QUERY, "query"), definition(COMMIT_MESSAGE)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (QUERY, {"query": "Where are cursors sealed?"}),
        (QUERY, {"query": {"operation": "listFiles"}, "queryType": "StructuredJSON", "maxCost": 0.01}),
        (QUERY, {"query": "x", "scope": {"filePatterns": ["*.py"], "directories": [], "excludePatterns": ["tests/"]}}),
        (COMMIT, {}),
        (COMMIT, {"sinceCommit": "HEAD~2", "format": "Summary", "maxLength": 20, "maxCost": 10}),
    ],
)
def test_valid_requests_are_taken(tool: ToolDefinition, given: dict[str, Any]):
    assert validated(tool, given) == given


@pytest.mark.parametrize(
    ("tool", "given", "parameter"),
    [
        (QUERY, {}, "query"),
        (QUERY, {"query": 7}, "query"),
        (QUERY, {"query": ""}, "query"),
        (QUERY, {"query": "x", "extra": 1}, "extra"),
        (QUERY, {"query": "x", "scope": "src"}, "scope"),
        (QUERY, {"query": "x", "scope": {"files": ["*.py"]}}, "scope.files"),
        (QUERY, {"query": "x", "responseFormat": "json"}, "responseFormat"),
        (QUERY, {"query": "x", "timeout": 301}, "timeout"),
        *[(QUERY, {"query": "x", "maxCost": cost}, "maxCost") for cost in (0, -1, 11, float("nan"), "1")],
        (COMMIT, {"format": "conventional"}, "format"),
        (COMMIT, {"maxLength": 19}, "maxLength"),
    ],
)
def test_a_wrong_request_names_its_argument(tool: ToolDefinition, given: dict[str, Any], parameter: str):
    with pytest.raises(InvalidArgument) as refused:
        validated(tool, given)
    assert refused.value.parameter == parameter
