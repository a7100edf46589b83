"""How each door says "call this to get more" (law 4: the only thing in which their answers differ)."""

from collections.abc import Callable, Container, Mapping
from typing import Any
from urllib.parse import quote

from context_protection.budget import dumps
from gateway.operations import Operation

Hints = Callable[[Operation, Mapping[str, Any]], dict[str, Any]]

CALL_TOOL = "call_tool"  # the tool that calls those that are not in a caller's list


def rest(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """{"endpoint": "/api/v1/bookings/7", "parameters": {"fields": "all"}}"""
    in_path = [name for name in arguments if f"{{{name}}}" in operation.endpoint]
    endpoint = operation.endpoint.format(**{name: quote(str(arguments[name]), safe="{}") for name in in_path})
    return {
        "endpoint": endpoint,
        "parameters": {name: _in_query(value) for name, value in arguments.items() if name not in in_path},
    }


def _in_query(value: Any) -> Any:
    """As a query string has it: an object as its JSON."""
    return dumps(value).decode() if isinstance(value, (dict, list)) else value


def mcp(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """{"tool": "get_booking", "arguments": {"id": 7, "fields": "all"}}"""
    return {"tool": operation.name, "arguments": dict(arguments)}


def by_call_tool(listed: Container[str]) -> Hints:
    """As `mcp`; but a tool that is not listed is called by one that is: {"tool": "call_tool", "arguments": {"name":
    "get_booking", "arguments": {"id": 7, "fields": "all"}}}"""

    def hint(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if operation.name in listed:
            return mcp(operation, arguments)
        return {"tool": CALL_TOOL, "arguments": {"name": operation.name, "arguments": dict(arguments)}}

    return hint
